# bench/gpu_torch.py – the workloads of bench/gpu.cpp in PyTorch: forward and each gradient
# Prints the same JSON rows (workload, us), so that results can be put side by side. TF32 is off.
import json

import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True


def measure(run):
    """Median over samples of about 20 ms, by events, in microseconds."""
    for _ in range(3):
        run()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def sample(count):
        begin.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return 1e3 * begin.elapsed_time(end) / count

    count = max(1, min(2000, int(20e3 / max(sample(3), 0.1))))
    return sorted(sample(count) for _ in range(7))[3]


def row(workload, run):
    print(json.dumps({"workload": workload, "torch_us": measure(run)}), flush=True)


def normal(*shape):
    return torch.randn(*shape, device="cuda")


def linear(name, n, k, o):
    w, x, b, dy = normal(o, k), normal(n, k), normal(o), normal(n, o)
    row(f"{name} forward", lambda: torch.nn.functional.linear(x, w, b))
    row(f"{name} dW", lambda: dy.t() @ x)
    row(f"{name} dX", lambda: dy @ w)
    row(f"{name} db", lambda: dy.sum(0))


def main():
    print(json.dumps({"workload": "machine", "gpu": torch.cuda.get_device_name(),
                      "torch": torch.__version__}))
    linear("linear 4096^3", 4096, 4096, 4096)
    linear("linear 1024x784x1024", 1024, 784, 1024)

    w, x = normal(512, 2048), normal(512, 2048)
    row("distance 2048x2048x512 forward",
        lambda: torch.cdist(w.t(), x.t(), compute_mode="donot_use_mm_for_euclid_dist").square())

    x, b, dy = normal(32768, 1024), normal(1024), normal(32768, 1024)
    row("bias 32768x1024 forward", lambda: x + b)
    row("bias 32768x1024 db", lambda: dy.sum(0))

    s = torch.softmax(x, 1)
    row("softmax 32768x1024 forward", lambda: torch.softmax(x, 1))
    row("softmax 32768x1024 dX",
        lambda: torch.ops.aten._softmax_backward_data(dy, s, 1, torch.float32))

    v = normal(1 << 27)
    row("sum 2^27 forward", lambda: v.sum())

    a, f = normal(64, 64, 58, 58), normal(64, 64, 3, 3)
    y = torch.nn.functional.conv2d(a, f)
    dy = torch.randn_like(y)

    def backward(mask):
        return lambda: torch.ops.aten.convolution_backward(
            dy, a, f, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, mask)

    name = "convolution 64->64 3x3, 64 of 56x56"
    row(f"{name} forward", lambda: torch.nn.functional.conv2d(a, f))
    row(f"{name} dA", backward([True, False, False]))
    row(f"{name} dF", backward([False, True, False]))


if __name__ == "__main__":
    main()

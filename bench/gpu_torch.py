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
    linear("linear 64x784x256", 64, 784, 256)
    a, b = normal(256, 128, 128), normal(256, 128, 128)
    row("batched 256 of 128^3 forward", lambda: a @ b)
    a, x = normal(8192, 8192), normal(8192)
    row("vector 8192^2 forward", lambda: a @ x)
    row("vector 8192^2 dx", lambda: x @ a)

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

    attention()
    convolutions()
    passes()


def attention():
    """As written, and by torch's fused kernels where they take f32."""
    q, k, v, do = (normal(1, 64, 1024, 64) for _ in range(4))
    name = "attention 64x1024x64"
    row(f"{name} forward", lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v))


def convolutions():
    def time(name, input, filter, stride=1, padding=0, groups=1):
        a, f = normal(*input), normal(*filter)
        y = torch.nn.functional.conv2d(a, f, None, stride, padding, 1, groups)
        dy = torch.randn_like(y)

        def backward(mask):
            return lambda: torch.ops.aten.convolution_backward(
                dy, a, f, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups, mask)

        row(f"{name} forward",
            lambda: torch.nn.functional.conv2d(a, f, None, stride, padding, 1, groups))
        row(f"{name} dA", backward([True, False, False]))
        row(f"{name} dF", backward([False, True, False]))

    time("convolution 64->64 3x3, 64 of 56x56", (64, 64, 58, 58), (64, 64, 3, 3))
    time("convolution 128->128 3x3, 64 of 28x28", (64, 128, 30, 30), (128, 128, 3, 3))
    time("convolution 512->512 3x3, 64 of 7x7", (64, 512, 9, 9), (512, 512, 3, 3))
    time("convolution 128->256 3x3 stride 2, 64 of 28x28", (64, 128, 28, 28), (256, 128, 3, 3), 2,
         1)
    time("convolution 3->64 7x7 stride 2, 64 of 224x224", (64, 3, 224, 224), (64, 3, 7, 7), 2, 3)
    time("convolution 64->256 1x1, 64 of 56x56", (64, 64, 56, 56), (256, 64, 1, 1))
    time("convolution depthwise 256 3x3, 64 of 28x28", (64, 256, 30, 30), (256, 1, 3, 3), 1, 0, 256)


def passes():
    x, b = normal(64, 256, 56, 56), normal(1, 256, 1, 1)
    name = "bias of channels 64x256x56x56"
    row(f"{name} forward", lambda: x + b)
    row(f"{name} db", lambda: x.sum((0, 2, 3)))
    row("NCHW to NHWC 64x256x56x56 forward", lambda: x.permute(0, 2, 3, 1).contiguous())
    for rows, columns in ((524288, 64), (2048, 16384)):
        x, dy = normal(rows, columns), normal(rows, columns)
        s = torch.softmax(x, 1)
        row(f"softmax {rows}x{columns} forward", lambda: torch.softmax(x, 1))
        row(f"softmax {rows}x{columns} dX",
            lambda: torch.ops.aten._softmax_backward_data(dy, s, 1, torch.float32))
    for rows, columns in ((32768, 1024), (524288, 64), (2048, 16384)):
        x, dy, g, b = normal(rows, columns), normal(rows, columns), normal(columns), normal(columns)
        _, mean, rstd = torch.ops.aten.native_layer_norm(x, [columns], g, b, 1e-5)
        row(f"layer norm {rows}x{columns} forward",
            lambda: torch.nn.functional.layer_norm(x, [columns], g, b))
        for argument, mask in (("X", [True, False, False]), ("g", [False, True, False])):
            row(f"layer norm {rows}x{columns} d{argument}",
                lambda: torch.ops.aten.native_layer_norm_backward(
                    dy, x, [columns], mean, rstd, g, b, mask))

    v = normal(1 << 27)
    row("sum 2^27 forward", lambda: v.sum())
    row("tanh 2^27 forward", lambda: torch.tanh(0.5 * v + 0.25))
    x = normal(8192, 8192)
    row("transpose 8192^2 forward", lambda: x.t().contiguous())
    e, dy = normal(50000, 64), normal(1 << 20, 64)
    j = torch.randint(0, 50000, (1 << 20,), device="cuda")
    row("rows gathered 2^20 of 50000x64 forward", lambda: e[j])
    row("rows gathered 2^20 of 50000x64 dE", lambda: torch.zeros_like(e).index_add_(0, j, dy))
    h, j = normal(1000), torch.randint(0, 1000, (1 << 24,), device="cuda")
    ones = torch.ones(1 << 24, device="cuda")
    row("histogram 2^24 of 1000 forward", lambda: h.index_add_(0, j, ones))


if __name__ == "__main__":
    main()

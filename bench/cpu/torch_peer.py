# bench/cpu/torch_peer.py – PyTorch's side of bench/cpu/torch_peer.cpp: one JSON request a line, one answer
#   {"expression": E, "arguments": {NAME: FILE.npy}, "wrt": [NAME], "cotangent": NAME, "result": FILE.npy}
#   {"count": N}   the seconds of one of N runs
import json
import sys
import time

import numpy
import torch

torch.set_num_threads(int(sys.argv[1]))
run = None


def prepare(request):
    arrays = {
        name: torch.from_numpy(numpy.load(path)).clone()
        for name, path in request["arguments"].items()
    }
    wrt = [arrays[name].requires_grad_(True) for name in request["wrt"]]
    forward = eval("lambda: " + request["expression"], {"torch": torch, **arrays})
    if not wrt:
        def result():
            with torch.no_grad():
                return forward()
        return result
    cotangent = arrays[request["cotangent"]]
    return lambda: torch.autograd.grad(forward(), wrt, cotangent)[0]


for line in sys.stdin:
    request = json.loads(line)
    try:
        if "expression" in request:
            run = prepare(request)
            numpy.save(request["result"], run().contiguous().numpy())
            answer = {}
        else:
            start = time.perf_counter()
            for _ in range(request["count"]):
                run()
            answer = {"seconds": (time.perf_counter() - start) / request["count"]}
    except Exception as error:  # what is wrong belongs to the benchmark's table
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)

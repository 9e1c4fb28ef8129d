"""PyTorch's best at the work of `gpu bench`: many private trainings at once by batched products, noise by its own generator.

Batches are drawn by the device as Poisson ones, padded to the largest. Everything is compiled into one graph of a step, which is
replayed; single precision with TF32 products allowed, as a user who wants speed would have it.
usage: gpu_peer.py   prints trainings a second for each shape
"""

import time

import torch

torch.backends.cuda.matmul.allow_tf32 = True


def layers(inputs, hidden, outputs):
    return [(inputs, outputs)] if not hidden else [(inputs, hidden), (hidden, outputs)]


def trainings_per_second(records, inputs, hidden, outputs, batch, models, steps=100):
    device = "cuda"
    x = torch.rand(records, inputs, device=device)
    y = torch.randint(outputs, (records,), device=device)
    room = int(batch + 6 * batch**0.5) // 8 * 8 + 8
    weights = [torch.randn(models, o, i, device=device) * (2 / i) ** 0.5 for i, o in layers(inputs, hidden, outputs)]
    biases = [torch.zeros(models, o, device=device) for _, o in layers(inputs, hidden, outputs)]
    ones = torch.ones(models, records, device=device)

    def step():
        chosen = torch.multinomial(ones, room)
        is_in = torch.rand(models, room, device=device) < batch / room
        a = [x[chosen]]
        for w, b in zip(weights[:-1], biases[:-1]):
            a.append(torch.relu(torch.baddbmm(b[:, None, :], a[-1], w.transpose(1, 2))))
        z = torch.baddbmm(biases[-1][:, None, :], a[-1], weights[-1].transpose(1, 2))
        g = torch.softmax(z, -1)
        g = [g - torch.nn.functional.one_hot(y[chosen], outputs)]
        for w, h in zip(weights[:0:-1], a[:0:-1]):
            g.append(torch.bmm(g[-1], w) * (h > 0))
        g.reverse()
        squares = sum((gi * gi).sum(-1) * ((ai * ai).sum(-1) + 1) for gi, ai in zip(g, a))
        factor = torch.clamp(squares.rsqrt(), max=1.0) * is_in
        for w, b, gi, ai in zip(weights, biases, g, a):
            gi = gi * factor[..., None]
            w -= 0.1 / batch * (torch.bmm(gi.transpose(1, 2), ai) + torch.randn_like(w))
            b -= 0.1 / batch * (gi.sum(1) + torch.randn_like(b))

    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    graph.replay()
    torch.cuda.synchronize()
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        for _ in range(steps):
            graph.replay()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return models / sorted(times)[1]


for name, shape, models in [
    ("64-10", (1797, 64, 0, 10, 64), 10_000),
    ("784-10", (2000, 784, 0, 10, 128), 2_000),
    ("784-32-10", (2000, 784, 32, 10, 128), 2_000),
]:
    print(f"{name}: {trainings_per_second(*shape, models):.0f} trainings/s by PyTorch {torch.__version__}")

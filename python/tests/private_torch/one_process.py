"""One process of a training: rank, processes and a folder are its arguments. Every process of a group runs this."""

import json
import os
import signal
import sys

import torch
from small_runs import make, model, weights
from torch import distributed

import veracity as v

rank, count, folder, kill_at = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
# Sums are of integers, but a record's own gradient is of floats, whose order may depend on the number of threads.
torch.set_num_threads(1)
if count > 1:
    distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous-{sys.argv[5]}", rank=rank, world_size=count)
path = os.path.join(folder, "run.pt")
resume = {"resume": path} if os.path.exists(path) else {}
ledger = os.path.join(folder, "year.ledger")
paid = {"seed": None, "ledger": ledger} if os.path.exists(ledger) else {}
# Each process begins with other weights; those of the first count.
net = model()
net[0].weight.data += rank
run = make(net=net, canaries=20, noise_multiplier=4.0, steps=5, **paid, **resume)
for batch in run.batches():
    if kill_at == run.steps_done and rank == count - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    run.save_checkpoint(path)
    run.step(batch)
scores = [float(score) for score in run._canaries.scores]
claim = json.loads(run.save(os.path.join(folder, "out")).to_json())
with open(os.path.join(folder, f"rank-{rank}.json"), "w") as file:
    json.dump({"weights": [float(x) for x in weights(run)], "scores": scores, "mechanism": claim["mechanism"], "epsilon": claim["epsilon"]}, file)
if count > 1:
    distributed.destroy_process_group()

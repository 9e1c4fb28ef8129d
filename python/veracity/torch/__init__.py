"""Private training of PyTorch models: exact sums, exact noise, and an audit of the very run.

    run = v.torch.make_private(model, optimizer, dataset, loss=per_record_loss, epsilon=3, delta=1e-5,
                               epochs=3, batch_size=1024, clip_norm=1.0)
    for batch in run.batches():
        run.step(batch)
    run.save("out")          # model.safetensors, claim.json and report.html

PyTorch is imported when `veracity.torch` is first used.
"""

from ._adapter import make_private_with_epsilon
from ._clip import Layout, RecordNumbers, RecordSums
from ._make import make_private
from ._model_file import load_weights
from ._run import PrivateRun

__all__ = [
    "Layout",
    "PrivateRun",
    "RecordNumbers",
    "RecordSums",
    "load_weights",
    "make_private",
    "make_private_with_epsilon",
]

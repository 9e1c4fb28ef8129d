"""How many trials a second: a numpy trainer in process, in warm workers, and as a command of the command line.

    python audits.py VERACITY     # the path of the program
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

#: The same training for the command line; it imports numpy anew for every trial.
PROGRAM = """\
import sys
import numpy as np
sys.path.insert(0, {here!r})
from audits import attack, train
data = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
open(sys.argv[3], "w").write(str(attack(train(data, int(sys.argv[2])))))
"""


def train(data: np.ndarray, seed: int) -> np.ndarray:
    """Ten steps of private linear regression: clipped gradients, Gaussian noise."""
    rng = np.random.default_rng(seed)
    features, targets = data[:, :-1], data[:, -1]
    weights = np.zeros(features.shape[1])
    for _ in range(10):
        gradients = (features @ weights - targets)[:, None] * features
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = (gradients / np.maximum(norms, 1.0)).sum(axis=0)
        weights -= 0.01 * (total + 3.0 * rng.normal(size=weights.shape))
    return weights


def attack(weights: np.ndarray) -> float:
    """The canary pulls the first weight."""
    return float(weights[0])


def main() -> None:
    import veracity as v

    rng = np.random.default_rng(15)
    data, canary = rng.normal(size=(200, 6)), np.array([10.0, 0, 0, 0, 0, 10.0])
    claim = v.gaussian(noise_multiplier=3.0) * 10
    settings = dict(train=train, attack=attack, data=data, canary=canary, claim=claim, delta=1e-5, method="clopper-pearson")
    rates = {}
    for name, trials, more in [("in process", 4000, {}), ("2 workers", 4000, {"workers": 2})]:
        began = time.perf_counter()
        v.audit(**settings, trials=trials, **more)
        rates[name] = trials / (time.perf_counter() - began)
    with tempfile.TemporaryDirectory() as room:
        program = Path(room, "trainer.py")
        program.write_text(PROGRAM.format(here=str(Path(__file__).parent)))
        names = ",".join(f"x{at}" for at in range(6))
        np.savetxt(Path(room, "data.csv"), data, delimiter=",", header=names, comments="")
        np.savetxt(Path(room, "canary.csv"), canary[None], delimiter=",", header=names, comments="")
        line = f"{sys.executable} {program} {{data}} {{seed}} {{out}}"
        trials = 60
        began = time.perf_counter()
        subprocess.run(
            [sys.argv[1], "audit", "--command", line, "--data", f"{room}/data.csv", "--canary", f"{room}/canary.csv"]
            + ["--claim-noise-multiplier", "3", "--claim-steps", "10", "--bound", "clopper-pearson"]
            + ["--trials", str(trials), "--out", f"{room}/out"],
            stdout=subprocess.DEVNULL,
            check=False,
        )
        rates["--command"] = trials / (time.perf_counter() - began)
    for name, rate in rates.items():
        print(f"{name:12} {rate:9.1f} trials a second, {rate / rates['--command']:7.1f} times --command")


if __name__ == "__main__":
    main()

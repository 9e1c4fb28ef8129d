"""`veracity.audit`: audit a claim by running a Python function, in this process, in worker processes or on a cluster.

Everything is fixed before the first trial. A fair coin decides for each trial whether the canary is included, and the seed that the
function gets does not reveal the coin. The certificate is bit-identical for every executor and every order of the trials.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import _clusters, _veracity
from ._errors import CannotAudit, InvalidInput, TrialsFailed
from ._neighbours import Neighbours, Training
from ._table import path_of
from ._trials import ENDS_AUDIT, Row, Score, attempt, called, function_of, packed, source_sha256
from ._veracity import AuditResult

#: The file in the folder of an audit that has the traceback of the first trial that failed.
FIRST_FAILURE = "first-failure.txt"
#: How many trials are asked for at once.
HANDFUL = 256
#: What an audit writes down of its subject itself: nobody else says it.
RESERVED = (
    "function",
    "source_sha256",
    "train",
    "train_sha256",
    "attack",
    "attack_sha256",
    "canary_records",
    "records",
    "data_sha256",
)


def audit(
    score: Any = None,
    *,
    claim: Any,
    trials: int = 1000,
    delta: float | None = None,
    adjacency: str | None = None,
    train: Any = None,
    attack: Any = None,
    data: Any = None,
    canary: Any = None,
    group_size: int = 1,
    method: str | None = None,
    threshold: str | None = None,
    significance: float = 0.01,
    require: float | None = None,
    max_failures: int | None = None,
    seed: int = 1,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    workers: int | None = None,
    executor: Any = None,
    shards: int | None = None,
    description: str | None = None,
    settings: dict[str, Any] | None = None,
    progress: bool | None = None,
) -> AuditResult:
    """Audit a privacy claim by running a function with and without a canary, and return a lower bound on ε.

    Pass either `score`, which runs a whole trial, or `train`, `attack`, `data` and `canary`.

    Args:
        score: `score(world, seed)` runs one trial and returns a number. Include the canary if `world` is True, and take all randomness
            from `seed`. A higher number is stronger evidence that the canary was included. You can pass "module:function" too.
        claim: a `Claim`, a `Mechanism` (then give `delta`), or a pair (epsilon, delta). With a mechanism, the audit tests the whole
            trade-off curve, which takes fewer trials.
        trials: the maximum number of trials.
        delta: δ of the claim, if `claim` is a mechanism.
        adjacency: the adjacency of the claim. None takes the one of the claim.
        train: `train(data, seed)` trains and returns a model.
        attack: `attack(model)` returns the score of a model.
        data: the training data: arrays, lists, DataFrames, tensors, torch datasets, or a tuple of these.
        canary: one record or several, of the same type as the records of `data`.
        group_size: the number of records that differ between the worlds of `score`.
        method: the statistical method. The default "sequential" tests after every trial and stops as soon as the claim is refuted.
            "clopper-pearson" evaluates all trials at once.
        threshold: the score above which the attacker guesses "included", for methods that need one.
        significance: the largest probability of refuting a true claim.
        require: the noise that the audit must detect, as a multiple of the declared level, for example 0.8.
        max_failures: the maximum number of failed trials. None allows a tenth of `trials`.
        seed: the seed of the coin flips and of the trials.
        out: a folder for the trials, the certificate and the report.
        resume: continue an audit in `out`. The claim, the trials, the seed and the function must be the same.
        workers: the number of worker processes. The function is then pickled.
        executor: an executor of `concurrent.futures`, Dask, submitit or `veracity.executors.Ray`, or a function that makes one.
        shards: the number of shards for `executor`.
        description: the name of the subject in the report.
        settings: further settings that a score depends on, for the certificate.
        progress: show a tqdm progress bar. None shows one if you are watching.

    Returns:
        An `AuditResult` with the verdict, the lower bound on ε and the evidence.

    Raises:
        TrialsFailed: if more than `max_failures` trials raise an exception. Up to that limit, a failed trial counts as evidence.
        CannotAudit: if the training does not match the claim.
        InvalidInput: if an argument is out of range, or if `trials` is too small for `require`.

    Example:
        >>> import numpy as np
        >>> import veracity as v
        >>> def score(world, seed):
        ...     return world + np.random.default_rng(seed).normal()
        >>> v.audit(score, claim=v.gaussian(noise_multiplier=1), delta=1e-5, trials=400).verdict
        'not-refuted'
    """
    if isinstance(claim, (str, os.PathLike)):
        raise InvalidInput("claim is a string or a path, expected a Claim, a Mechanism with delta, or (epsilon, delta); read_claim reads a file")
    function, told, group = _subject(score, train, attack, data, canary, group_size, claim, delta, adjacency)
    described = description if description is not None else told.pop("description")
    told.pop("description", None)
    if workers is not None and executor is not None:
        raise InvalidInput("executor is given together with workers, expected one or the other")
    workers = None if workers is None else _whole("workers", workers, 4096)
    shards = _clusters.SHARDS if shards is None else _whole("shards", shards, 1 << 20)
    folder = None if out is None else path_of("out", out)
    run = _veracity._begin_audit(
        claim=claim,
        delta=delta,
        adjacency=adjacency,
        trials=trials,
        seed=seed,
        significance=significance,
        method=method,
        threshold=threshold,
        require=require,
        max_failures=max_failures,
        group=group,
        description=described,
        settings={**told, **further(settings, RESERVED)},
        out=folder,
        resume=bool(resume),
    )
    keeping = _Keeping(run, None if folder is None else Path(folder), _bar(progress, run))
    try:
        _attack(run, function, workers, executor, shards, keeping)
        return run.finish(keeping.first_failure)
    except TrialsFailed as failure:
        raise keeping.explained(failure) from keeping.cause()
    finally:
        keeping.close()
        run.close()


def _attack(run: Any, function: Score, workers: int | None, executor: Any, shards: int, keep: _Keeping) -> None:
    """Run the missing trials."""
    if run.progress[1] == 0:
        return
    if executor is not None:
        with _clusters.Cluster(executor) as cluster:
            _clusters.work(cluster, function if cluster.is_here else packed(function), shards, run, keep)
    elif workers is not None:
        # Not before it is needed: it takes as long to import as all the rest.
        from ._workers import Workers

        with Workers(workers, packed(function)) as pool:
            pool.work(run, keep)
    else:
        while handful := run.hand_out(HANDFUL):
            for trial in handful:
                if keep([attempt(function, trial)]):
                    return


def _subject(
    score: Any,
    train: Any,
    attack: Any,
    data: Any,
    canary: Any,
    group_size: int,
    claim: Any,
    delta: Any,
    adjacency: str | None,
) -> tuple[Score, dict[str, Any], int]:
    """Return the function of a world and a seed, the settings for the certificate, and the number of records in which the worlds differ."""
    parts = {"train": train, "attack": attack, "data": data, "canary": canary}
    if score is not None:
        if given := [name for name, part in parts.items() if part is not None]:
            raise InvalidInput(f"{given[0]} is given together with score, expected one or the other")
        function = function_of(score)
        told = {"function": called(function), "source_sha256": source_sha256(function)}
        return function, {**told, "description": f"the Python function {called(function)}"}, _whole("group_size", group_size, 1 << 20)
    if missing := [name for name, part in parts.items() if part is None]:
        raise InvalidInput(f"{missing[0]} is missing, expected score, or train, attack, data and canary")
    if group_size != 1:
        raise InvalidInput("group_size is given, expected none: the canary's records are counted")
    train, attack = function_of(train, "train"), function_of(attack, "attack")
    neighbours = Neighbours(data, canary, _veracity._audit_adjacency(claim, delta, adjacency))
    told = {
        "train": called(train),
        "train_sha256": source_sha256(train),
        "attack": called(attack),
        "attack_sha256": source_sha256(attack),
        **neighbours.fingerprint(),
        "description": f"the Python training {called(train)}, scored by {called(attack)}",
    }
    return Training(train, attack, neighbours), told, neighbours.records


def further(settings: Any, reserved: Sequence[str]) -> dict[str, Any]:
    """Return the settings of the caller, which must not use the names that an audit records itself."""
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise TypeError(f"settings is a {type(settings).__name__}, expected a dict")
    if taken := [name for name in reserved if name in settings]:
        raise InvalidInput(f"settings has {taken[0]}, expected other names: an audit writes that down itself")
    return settings


def _whole(name: str, given: Any, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        shown = given if isinstance(given, int) and abs(given) < 10**18 else f"a {type(given).__name__}"
        raise InvalidInput(f"{name} is {shown}, expected an integer, 1 ≤ {name} ≤ {most}")
    return given


class _Keeping:
    """Stores rows, shows the progress, and remembers the first failure."""

    def __init__(self, run: Any, folder: Path | None, bar: Any) -> None:
        self._run, self._folder, self._bar = run, folder, bar
        self.first_failure: str | None = None

    def __call__(self, rows: list[Row]) -> bool:
        for row in rows:
            if self.first_failure is None and row[3] is not None:
                self.first_failure = row[3]
                if self._folder is not None:
                    (self._folder / FIRST_FAILURE).write_text(row[3])
            if row[2].startswith(ENDS_AUDIT):
                raise CannotAudit(row[2].removeprefix(ENDS_AUDIT))
        fallen: bool = self._run.keep([row[:3] for row in rows])
        if self._bar is not None:
            self._bar.update(len(rows))
        return fallen

    def explained(self, failure: TrialsFailed) -> TrialsFailed:
        """Return the failure with the path of the first traceback."""
        line = str(failure)
        if self._folder is not None and self.first_failure is not None:
            line += f"; the first traceback is in {self._folder / FIRST_FAILURE}"
        explained = TrialsFailed(line)
        explained.first_failure = self.first_failure
        return explained

    def cause(self) -> BaseException | None:
        """Return the first failure, which Python prints above ours."""
        return None if self.first_failure is None else FirstFailure(self.first_failure)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class FirstFailure(Exception):
    """The traceback of the first trial that failed."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def _bar(progress: bool | None, run: Any) -> Any:
    """Return a tqdm bar if the caller wants one, or if a person is watching and tqdm is installed."""
    is_watched = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if not (is_watched if progress is None else progress):
        return None
    try:
        tqdm: Callable[..., Any] = importlib.import_module("tqdm.auto").tqdm
    except ImportError as error:
        if progress:
            raise InvalidInput("tqdm is not installed, expected it for progress=True: pip install tqdm") from error
        return None
    return tqdm(total=run.progress[1], unit="trial", leave=False)

"""A budget for the year in one durable file, charged before anything is released.

>>> import pathlib, tempfile, veracity as v
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> ledger = v.Ledger.create(folder / "year.ledger", epsilon=3, delta=1e-6)
>>> with ledger.charge(v.gaussian(noise_multiplier=8), "mean of hours", request_id="monday") as charge:
...     charge.keep({"hours": 40.2})
>>> v.Ledger(folder / "year.ledger").charge(v.gaussian(noise_multiplier=8), "mean of hours", request_id="monday").answer
{'hours': 40.2}
>>> len(ledger.history()), ledger.verify()["verdict"]
(1, 'confirmed')
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ._errors import InvalidInput
from ._veracity import Mechanism, _Charge, _Ledger


class Share:
    """A part of a budget. As a float it is its ε.

    Attributes:
        epsilon: the ε, at the δ, of a single question of this cost. Spent is rounded up, remaining down.
        delta: the δ of the session or ledger.
        part: how much of the budget it is, from 0 to 1, in what adds up.
        counted_in: what adds up: "epsilon" without a δ, "mu²" with one.
    """

    def __init__(self, epsilon: float, delta: float, part: float, counted_in: str | None = None) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.part = part
        self.counted_in = counted_in or ("mu²" if delta > 0 else "epsilon")

    def __float__(self) -> float:
        return self.epsilon

    def __repr__(self) -> str:
        delta = f" at delta {self.delta:g}" if self.delta else ""
        return f"<epsilon {self.epsilon:.6g}{delta}, {100 * self.part:.3g} % of the budget in {self.counted_in}>"


class Ledger:
    """One budget in one file, which outlives the process and is shared with other processes and with the command line.

    What is charged is on disk before noise is drawn, and stays charged whatever happens to the answer. However each question is chosen
    from earlier answers, all answers together are within the budget; what does not fit raises `BudgetExceeded` and costs nothing.

    Args:
        path: a ledger that `Ledger.create` or `veracity ledger create` made.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._ledger = _Ledger.open(os.fspath(path))

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        epsilon: float,
        delta: float = 0.0,
        *,
        rule: str | None = None,
        dataset: str | None = None,
        unit: str | None = None,
        adjacency: str = "add-remove",
        analysts: Mapping[str, float] | None = None,
    ) -> Ledger:
        """Makes a ledger in a new file. Its terms cannot be changed.

        `rule` is "sum" (ε and δ add up; the default without a δ) or "gaussian" (μ² adds up, exact for Gaussian noise; the default with
        one). `dataset` refuses releases of other data, `unit` is what is protected as one [default: what the first request protects],
        `analysts` are caps on ε, by name: then nobody else may ask.
        """
        caps = [(name, float(cap)) for name, cap in (analysts or {}).items()]
        ledger = cls.__new__(cls)
        ledger._ledger = _Ledger.create(os.fspath(path), epsilon, delta, rule, adjacency, unit, dataset, caps)
        return ledger

    @property
    def path(self) -> str:
        """Where it is."""
        return os.fspath(self._ledger.path)

    @property
    def spent(self) -> Share:
        """What was spent, rounded up."""
        return self._share("spent")

    @property
    def remaining(self) -> Share:
        """What is left, rounded down."""
        return self._share("remaining")

    def status(self) -> dict[str, Any]:
        """Everything that `veracity ledger show --json` says: the terms, what was spent, entries, analysts, the head of the chain."""
        status: dict[str, Any] = json.loads(self._ledger.status())
        return status

    def history(self) -> list[dict[str, Any]]:
        """Every entry, the first first: when, by which request id and analyst, what, its cost, its state and its answer."""
        entries: list[dict[str, Any]] = json.loads(self._ledger.history())
        for entry in entries:
            entry["answer"] = None if entry["answer"] is None else json.loads(entry["answer"])
        return entries

    def verify(self, head: str | None = None) -> dict[str, Any]:
        """Checks the hash chain, the limits and every charge again: `verdict` is "confirmed" or "does-not-hold", `faults` say why.
        With a `head` that was noted elsewhere, also that nothing was cut off."""
        verified: dict[str, Any] = json.loads(self._ledger.verify(head))
        return verified

    def charge(
        self,
        mechanism: Mechanism,
        what: str,
        *,
        request_id: str | None = None,
        analyst: str | None = None,
        dataset: str | None = None,
    ) -> Charge:
        """Charges a mechanism, for a release of one's own: noise may be drawn once this has returned, and once only.

        Under a `request_id` that was answered before, nothing is charged and the answer is there.
        """
        request = self._ledger.request(mechanism, what, dataset, request_id, analyst)
        request.enter()
        return Charge(request)

    def _share(self, name: str) -> Share:
        status = self.status()
        share = status[name]
        part = share["sum"] / share["limit"] if share["limit"] else 0.0
        return Share(share["epsilon"], share["delta"], part, "epsilon" if status["rule"] == "sum" else "mu²")

    def __repr__(self) -> str:
        status = self.status()
        budget = status["budget"]
        delta = f", delta={budget['delta']:g}" if budget["delta"] else ""
        return (
            f"<Ledger epsilon={budget['epsilon']:g}{delta}: {status['entries']} entries, "
            f"spent {status['spent']['epsilon']:.4g}, remaining {status['remaining']['epsilon']:.4g}>"
        )

    def __reduce__(self) -> Any:
        return (Ledger, (self.path,))


class Charge:
    """A charge that is on disk. As a context it is given up where the block raises; it stays charged.

    Attributes:
        entry: its number in the ledger.
        answer: the answer that was kept before under the same request id; None where it is new.
    """

    def __init__(self, request: _Charge) -> None:
        self._request = request
        self._is_open = request.known is None
        self.entry = request.entry
        self.answer: Any = None if request.known is None else json.loads(request.known)

    def keep(self, answer: Any = None) -> None:
        """Keeps the answer, anything that JSON holds, so that its request id gets it again."""
        try:
            text = json.dumps(answer, allow_nan=False)
        except (TypeError, ValueError):
            text = None
        if text is None:
            raise InvalidInput("answer is nothing that JSON holds, expected numbers, texts, lists and dicts")
        self._request.keep(text)
        self._is_open = False

    def __enter__(self) -> Charge:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._is_open and kind is not None:
            self._is_open = False
            self._request.give_up()
        elif self._is_open:
            self.keep()

    def __repr__(self) -> str:
        return f"<Charge, entry {self.entry}>"


def ledger_of(ledger: Ledger | str | os.PathLike[str] | None, seed: int | None, request_id: str | None) -> Ledger | None:
    """The ledger that a call names, if it names one."""
    if ledger is None:
        if request_id is not None:
            raise InvalidInput("request_id is given without a ledger, expected a ledger that keeps it")
        return None
    if seed is not None:
        raise InvalidInput("seed is given with a ledger, expected one of them: an answer of a seed is not for release")
    return ledger if isinstance(ledger, Ledger) else Ledger(ledger)

"""A privacy budget in a file, charged before each release.

>>> import pathlib, tempfile, veracity as v
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> ledger = v.Ledger.create(folder / "year.ledger", epsilon=3, delta=1e-6)
>>> with ledger.charge(v.gaussian(noise_multiplier=8), "mean of hours", request_id="monday") as charge:
...     charge.commit({"hours": 40.2})
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


class BudgetShare:
    """A part of a privacy budget. `float()` returns its ε.

    Attributes:
        epsilon: ε of a single query that costs this much. Rounded up for spent budget, and down for remaining budget.
        delta: δ of the session or ledger.
        fraction: the fraction of the budget, from 0 to 1, in the quantity that adds up.
        counted_in: the quantity that adds up: "epsilon" without δ, "mu²" with δ, "epsilon or mu²" in a ledger with the rule "union".
    """

    def __init__(self, epsilon: float, delta: float, fraction: float, counted_in: str | None = None) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.fraction = fraction
        self.counted_in = counted_in or ("mu²" if delta > 0 else "epsilon")

    def __float__(self) -> float:
        return self.epsilon

    def __repr__(self) -> str:
        delta = f" at delta {self.delta:g}" if self.delta else ""
        return f"<epsilon {self.epsilon:.6g}{delta}, {100 * self.fraction:.3g} % of the budget in {self.counted_in}>"


class Ledger:
    """A privacy budget in a file, which several processes and the command line can share.

    Every charge is on disk before noise is drawn, and it stays charged even if the answer is lost. All answers together stay within the
    budget, even if you choose later queries after you have seen earlier answers.

    Args:
        path: a file that `Ledger.create` or `veracity ledger create` made.

    Raises:
        FileError: if the file does not exist or is damaged.
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
        """Create a ledger in a new file. You cannot change its settings later.

        Args:
            path: the file. It must not exist yet.
            epsilon: ε of the budget.
            delta: δ of the budget.
            rule: "sum" adds up ε and δ and is the default without δ. "union" is the default with δ: it grants a request if everything
                together fits into the sum of ε, or into a pool of μ². "gaussian" adds up the μ² of each request on its own.
            dataset: the name of the data. The ledger then refuses releases of other data.
            unit: the privacy unit, such as "patient". None takes the unit of the first request.
            adjacency: "add-remove", "replace-one" or "zero-out".
            analysts: a limit on ε for each analyst, by name. The ledger then refuses requests of other analysts.

        Returns:
            The new `Ledger`.

        Raises:
            FileError: if the file exists or cannot be written.
            InvalidInput: if a setting is out of range.
        """
        caps = [(name, float(cap)) for name, cap in (analysts or {}).items()]
        ledger = cls.__new__(cls)
        ledger._ledger = _Ledger.create(os.fspath(path), epsilon, delta, rule, adjacency, unit, dataset, caps)
        return ledger

    @property
    def path(self) -> str:
        """Path of the file."""
        return os.fspath(self._ledger.path)

    @property
    def spent(self) -> BudgetShare:
        """Spent budget, rounded up."""
        return self._share("spent")

    @property
    def remaining(self) -> BudgetShare:
        """Remaining budget, as the largest ε of a query that still fits (rounded down)."""
        return self._share("remaining")

    def status(self) -> dict[str, Any]:
        """Return the settings, the spent budget, the analysts and the head hash.

        Returns:
            The same dict as `veracity ledger show --json` prints.
        """
        status: dict[str, Any] = json.loads(self._ledger.status())
        return status

    def history(self) -> list[dict[str, Any]]:
        """Return all entries, oldest first.

        Returns:
            One dict per entry, with timestamp, request ID, analyst, description, cost, state and answer.
        """
        entries: list[dict[str, Any]] = json.loads(self._ledger.history())
        for entry in entries:
            entry["answer"] = None if entry["answer"] is None else json.loads(entry["answer"])
        return entries

    def verify(self, head: str | None = None) -> dict[str, Any]:
        """Recompute the hash chain, the limits and every charge.

        Args:
            head: a head hash that you noted earlier. If given, a file that was truncated since then is detected.

        Returns:
            A dict with `verdict`, which is "confirmed" or "does-not-hold", and `faults`, the list of reasons.
        """
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
        """Charge a mechanism for your own release.

        Draw the noise only after this returns, and only once. If the same `request_id` was answered before, you pay nothing and get the
        stored answer.

        Args:
            mechanism: the mechanism that you will run. Its adjacency and unit must match the ledger.
            what: a description for the history.
            request_id: a name of the request. Repeat the request with it to get the same answer.
            analyst: the person who asks, if the ledger has limits per analyst.
            dataset: the name of the data, if the ledger is for one dataset.

        Returns:
            A `Charge`. Use it in a `with` block.

        Raises:
            BudgetExceeded: if the mechanism costs more than is left. Nothing is charged.
            InvalidInput: if the request does not match the settings of the ledger.
        """
        request = self._ledger.request(mechanism, what, dataset, request_id, analyst)
        request.enter()
        return Charge(request)

    def _share(self, name: str) -> BudgetShare:
        status = self.status()
        share = status[name]
        counted_in = {"sum": "epsilon", "union": "epsilon or mu²"}.get(status["rule"], "mu²")
        return BudgetShare(share["epsilon"], share["delta"], share["fraction"], counted_in)

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
    """A charge that is on disk. Use it in a `with` block, draw the noise inside and call `commit`.

    If the block raises an exception, the charge is closed without an answer. It stays charged, because you may have drawn noise.

    Attributes:
        entry: the number of the entry in the ledger.
        answer: the stored answer of the same `request_id`, or None if the request is new.
    """

    def __init__(self, request: _Charge) -> None:
        self._request = request
        self._is_open = request.known is None
        self.entry = request.entry
        self.answer: Any = None if request.known is None else json.loads(request.known)

    def commit(self, answer: Any = None) -> None:
        """Store the answer, so that the same request ID gets it again.

        Args:
            answer: any value that JSON can represent: numbers, strings, lists and dicts.

        Raises:
            InvalidInput: if JSON cannot represent the answer.
        """
        try:
            text = json.dumps(answer, allow_nan=False)
        except (TypeError, ValueError):
            text = None
        if text is None:
            raise InvalidInput("JSON cannot represent the answer, expected numbers, strings, lists and dicts")
        self._request.commit(text)
        self._is_open = False

    def __enter__(self) -> Charge:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._is_open and kind is not None:
            self._is_open = False
            self._request.give_up()
        elif self._is_open:
            self.commit()

    def __repr__(self) -> str:
        return f"<Charge, entry {self.entry}>"


def ledger_of(ledger: Ledger | str | os.PathLike[str] | None, seed: int | None, request_id: str | None) -> Ledger | None:
    """Return the ledger that a call names, or None."""
    if ledger is None:
        if request_id is not None:
            raise InvalidInput("request_id is given without a ledger, expected a ledger that keeps it")
        return None
    if seed is not None:
        raise InvalidInput("seed is given with a ledger, expected one of them: an answer of a seed is not for release")
    return ledger if isinstance(ledger, Ledger) else Ledger(ledger)

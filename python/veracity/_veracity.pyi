"""The compiled part; import `veracity`, which re-exports it."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__version__: str

_Number: TypeAlias = SupportsFloat | SupportsIndex
_More: TypeAlias = tuple[int | None, int | None, float | None, float | None]
_Answered: TypeAlias = tuple[list[str], list[list[tuple[str | None, float | None, float]]], Claim, PathLike[str], _More]
_Numbers: TypeAlias = Iterable[_Number] | NDArray[Any]
_Path: TypeAlias = str | PathLike[str]
_Adjacency: TypeAlias = Literal["add-remove", "replace-one", "zero-out"]
_Method: TypeAlias = Literal[
    "exact",
    "pld",
    "gdp",
    "rdp",
    "moments",
    "zcdp",
    "optimal",
    "advanced-kov",
    "advanced",
    "basic",
    "gdp-clt",
    "edgeworth",
]

@final
class Interval:
    """A certified interval that contains the true ε or δ.

    `float(interval)` is the upper bound, the number that you may report. A format such as `f"{interval:.3f}"` rounds it up.
    Comparisons say only what is certain: `interval <= 3` compares the upper bound, and `interval > 3` the lower bound. If 3 lies
    between the bounds, both are false.

    An approximation, for example of `method="gdp-clt"`, has no bounds. `float()` then raises `NotCertified`.
    """

    @property
    def lower(self) -> float | None:
        """The lower bound: the true value is at least this. None if the method has no lower bound."""
    @property
    def upper(self) -> float | None:
        """The upper bound: the true value is at most this. None for an approximation."""
    @property
    def approximate(self) -> float | None:
        """The value of an approximation, which can be below the true value. None for a bound."""
    @property
    def method(self) -> str:
        """The accounting method that computed the interval, such as `exact`."""
    @property
    def fallback(self) -> str | None:
        """The reason why the method `exact` could not answer. None if it did."""
    @property
    def relative_width(self) -> float | None:
        """The width of the interval divided by its upper bound. None unless there are two bounds."""
    def __float__(self) -> float: ...
    def __contains__(self, number: _Number) -> bool: ...
    def __lt__(self, other: float) -> bool: ...
    def __le__(self, other: float) -> bool: ...
    def __gt__(self, other: float) -> bool: ...
    def __ge__(self, other: float) -> bool: ...
    def __format__(self, spec: str) -> str: ...
    def __hash__(self) -> int: ...

@final
class Tradeoff:
    """Bounds on the trade-off curve of a mechanism at given false-positive rates.

    For each false-positive rate in `alphas`, `lower` is the smallest false-negative rate that any attack can have. A higher curve is
    more private. A notebook shows the curve as a plot.
    """

    @property
    def alphas(self) -> NDArray[np.float64]:
        """The false-positive rates that you asked for."""
    @property
    def lower(self) -> NDArray[np.float64]:
        """Lower bounds on the false-negative rate, rounded down. No attack has a smaller one."""
    @property
    def upper(self) -> NDArray[np.float64] | None:
        """Upper bounds on the trade-off curve, rounded up. None if the profile has no lower bounds."""
    @property
    def method(self) -> str:
        """The accounting method that computed the privacy profile."""
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...

@final
class Mechanism:
    """A mechanism: the randomized computation that you publish, as an immutable value.

    `a + b` runs one mechanism after the other, `a * 3` runs one three times, and `sum()` adds up a list. Two equal mechanisms
    compare equal. You can hash and pickle them, and `repr()` prints the Python code that makes them again.

    Example:
        >>> plan = v.gaussian(noise_multiplier=5) * 3 + v.laplace(scale=10, sensitivity=1)
        >>> plan
        v.gaussian(noise_multiplier=5.0) * 3 + v.laplace(noise_multiplier=10.0)
    """

    @property
    def kind(self) -> str:
        """The type of the mechanism, such as `poisson-sampled`, as files name it."""
    @property
    def adjacency(self) -> str:
        """The adjacency: the one that you set, or else the usual one of this mechanism."""
    @property
    def unit(self) -> str:
        """The privacy unit, such as `example` or `patient`."""
    def with_adjacency(self, adjacency: _Adjacency | str | None = None, *, unit: str | None = None) -> Mechanism:
        """Return the same mechanism with another adjacency or privacy unit.

        Args:
            adjacency: "add-remove", "replace-one" or "zero-out". None keeps the current one.
            unit: the privacy unit, such as "patient". None keeps the current one.

        Returns:
            A new `Mechanism`.

        Raises:
            InvalidInput: if the adjacency is unknown or the unit cannot be a name.

        Example:
            >>> v.gaussian(noise_multiplier=2).with_adjacency("replace-one", unit="patient").unit
            'patient'
        """
    def sampled(self, rate: _Number) -> Mechanism:
        """Return this mechanism on a Poisson-sampled batch.

        Args:
            rate: the probability with which each record enters the batch, independently of all others.

        Returns:
            A `Mechanism` of the type `poisson-sampled`.

        Raises:
            InvalidInput: if the rate is not above 0 and at most 1.

        Example:
            >>> v.gaussian(noise_multiplier=1).sampled(0.01) * 1000 == v.dp_sgd(sampling_rate=0.01, noise_multiplier=1, steps=1000)
            True
        """
    def group(self, size: _Number) -> Mechanism:
        """Return the guarantee for several records that change together (group privacy).

        Args:
            size: the number of records, for example 3 for three visits of one patient.

        Returns:
            A `Mechanism` of the type `group`.

        Raises:
            InvalidInput: if the size is not an integer of at least 1.
        """
    def repeated(self, times: _Number) -> Mechanism:
        """Return this mechanism repeated, the same as `mechanism * times`.

        Args:
            times: the number of repetitions.

        Returns:
            A `Mechanism`.

        Raises:
            InvalidInput: if `times` is not an integer of at least 1.
        """
    def epsilon(
        self, delta: _Number, *, method: _Method | None = None, adjacency: _Adjacency | None = None
    ) -> Interval:
        """Compute ε at a given δ.

        Args:
            delta: δ, at least 0 and below 1. Choose it well below 1 / (number of records).
            method: one accounting method, such as "pld" or "rdp". None takes the tightest bound.
            adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.

        Returns:
            An `Interval` that contains the true ε. Its `upper` is the number to report.

        Raises:
            NoTheorem: if no theorem covers the mechanism with this method or adjacency.
            NotCertified: if no method can certify a bound.
            NoProtection: if ε is infinite at this δ.
            InvalidInput: if an argument is out of range.

        Example:
            >>> v.gaussian(noise_multiplier=4).epsilon(delta=1e-5) <= 1
            True
        """
    def delta(
        self, epsilon: _Number, *, method: _Method | None = None, adjacency: _Adjacency | None = None
    ) -> Interval:
        """Compute δ at a given ε.

        Args:
            epsilon: ε, at least 0.
            method: one accounting method, such as "pld" or "rdp". None takes the tightest bound.
            adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.

        Returns:
            An `Interval` that contains the true δ.

        Raises:
            NoTheorem: if no theorem covers the mechanism with this method or adjacency.
            NotCertified: if no method can certify a bound.
            InvalidInput: if an argument is out of range.
        """
    def tradeoff(self, alphas: _Number | _Numbers, *, adjacency: _Adjacency | None = None) -> Tradeoff:
        """Compute the trade-off curve: the smallest false-negative rate at each false-positive rate.

        Args:
            alphas: one false-positive rate or several, each from 0 to 1.
            adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.

        Returns:
            A `Tradeoff` with the arrays `alphas`, `lower` and `upper`.

        Raises:
            InvalidInput: if a rate is not between 0 and 1.
            NoTheorem: if no theorem covers the mechanism.

        Example:
            >>> bool(v.gaussian(noise_multiplier=4).tradeoff(0.01).lower[0] > 0.98)
            True
        """
    def claim(
        self,
        delta: _Number | None = None,
        *,
        epsilon: _Number | None = None,
        method: _Method | None = None,
        adjacency: _Adjacency | None = None,
    ) -> Claim:
        """Make a claim: the guarantee with everything that others need to recompute it.

        Give either `delta` or `epsilon`. The accountant computes the other.

        Args:
            delta: δ of the claim.
            epsilon: ε of the claim.
            method: one accounting method, such as "pld" or "rdp". None takes the tightest bound.
            adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.

        Returns:
            A `Claim`. Save it with `Claim.save`.

        Raises:
            InvalidInput: if both or neither of `delta` and `epsilon` are given.
            NoTheorem: if no theorem covers the mechanism.

        Example:
            >>> v.gaussian(noise_multiplier=4).claim(delta=1e-5).epsilon.method
            'exact'
        """
    def to_json(self) -> str:
        """Return the mechanism as JSON, as plan files and claims contain it.

        Returns:
            A JSON object with `kind` and its fields, inside another one if you set an adjacency or a unit.
        """
    @staticmethod
    def from_json(text: str) -> Mechanism:
        """Read a mechanism from JSON.

        Args:
            text: the result of `to_json`, or the field `mechanism` of a claim.

        Returns:
            A `Mechanism`.

        Raises:
            InvalidInput: if the text is not a mechanism.
        """
    def __add__(self, other: Mechanism) -> Mechanism: ...
    def __radd__(self, other: Literal[0]) -> Mechanism: ...
    def __mul__(self, times: _Number) -> Mechanism: ...
    def __rmul__(self, times: _Number) -> Mechanism: ...
    def __hash__(self) -> int: ...

@final
class Calibration:
    """Result of `calibrate`: the setting that fits a privacy budget.

    Of `noise_multiplier`, `steps` and `sampling_rate`, the one that you solved for has a value. The other two are None.
    """

    @property
    def noise_multiplier(self) -> float | None:
        """The smallest noise multiplier, rounded up. For discrete noise, its sigma or scale."""
    @property
    def steps(self) -> int | None:
        """The largest number of steps."""
    @property
    def sampling_rate(self) -> float | None:
        """The largest sampling rate, rounded down."""
    @property
    def mechanism(self) -> Mechanism:
        """The mechanism with the solved setting."""
    @property
    def epsilon(self) -> Interval:
        """The certified ε of that mechanism."""
    @property
    def delta(self) -> float:
        """δ, as you gave it."""

@final
class Attack:
    """The optimal attack at one false-positive rate, and its success."""

    @property
    def false_positive_rate(self) -> float:
        """The fraction of people who are not in the data but whom the attack accuses."""
    @property
    def true_positive_rate(self) -> float:
        """The largest possible fraction of people in the data whom the attack finds."""
    @property
    def posteriors(self) -> list[tuple[float, float]]:
        """Pairs (prior, posterior): the most that the attack can raise each prior probability of membership."""

@final
class GroupPromise:
    """The guarantee for a group of people. `epsilon` and `delta` are None if the group has no guarantee."""

    @property
    def size(self) -> int:
        """The number of people in the group."""
    @property
    def epsilon(self) -> float | None:
        """Upper bound on ε of the group."""
    @property
    def delta(self) -> float | None:
        """Upper bound on δ of the group."""
    @property
    def method(self) -> str | None:
        """The accounting method. None for the general rule that holds for every (ε, δ)."""

@final
class Explanation:
    """A privacy guarantee in plain language.

    `str(explanation)` is the text, and each of its numbers is an attribute. All numbers are upper bounds.
    """

    @property
    def epsilon(self) -> float:
        """ε of the guarantee."""
    @property
    def delta(self) -> float:
        """δ of the guarantee."""
    @property
    def odds(self) -> float:
        """e^ε, the largest factor by which the output can change an attacker's odds (up to δ)."""
    @property
    def advantage(self) -> float:
        """The largest difference between true-positive and false-positive rate of any attack."""
    @property
    def attacks(self) -> list[Attack]:
        """The optimal attack at several false-positive rates."""
    @property
    def groups(self) -> list[GroupPromise]:
        """The guarantee for groups of 2 and 5 people."""
    @property
    def text(self) -> str:
        """The explanation as text."""
    def to_json(self) -> str:
        """Return the numbers as JSON, as `veracity explain --json` prints them.

        Returns:
            A JSON object.
        """

@final
class Claim:
    """A claim: ε and δ of a mechanism, with everything that others need to recompute them.

    Make one with `Mechanism.claim`, or read a file with `read_claim`. Sessions, queries, estimators and audits have claims too.
    """

    @property
    def epsilon(self) -> Interval:
        """The certified interval of ε at `delta`."""
    @property
    def delta(self) -> float:
        """δ of the claim."""
    @property
    def definition(self) -> str:
        """The guarantee as a sentence."""
    @property
    def profile(self) -> list[tuple[float, float | None, float | None]]:
        """Points of the privacy profile, each (ε, lower bound on δ or None, upper bound on δ or None)."""
    @property
    def adjacency(self) -> str:
        """The adjacency: which datasets count as neighbors."""
    @property
    def unit(self) -> str:
        """The privacy unit, such as `example` or `patient`."""
    @property
    def method(self) -> str:
        """The accounting method that computed the claim."""
    @property
    def not_covered(self) -> list[str]:
        """The list of risks that the claim does not cover, such as side channels."""
    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the claim, with its adjacency and unit."""
    def to_json(self) -> str:
        """Return the claim as the text of its file.

        Returns:
            A JSON object.

        Raises:
            InvalidInput: if the claim is longer than 1 MiB, which `verify` does not read.
        """
    def save(self, path: _Path) -> None:
        """Write the claim to a new file.

        Args:
            path: the file. It must not exist yet.

        Raises:
            FileError: if the file exists or cannot be written.
        """
    def verify(self) -> Verification:
        """Recompute the claim.

        Returns:
            A `Verification`.
        """
    def __hash__(self) -> int: ...

@final
class VerifiedNumber:
    """One number or string of a claim or certificate, with the result of recomputing it."""

    @property
    def what(self) -> str:
        """The name of the number."""
    @property
    def stated(self) -> str:
        """The side that the claim states: "upper", "lower" or "value". For a certificate, the stated value."""
    @property
    def claimed(self) -> float | None:
        """The number in the claim. None if there is none."""
    @property
    def lower(self) -> float | None:
        """The recomputed lower bound. None if there is none."""
    @property
    def upper(self) -> float | None:
        """The recomputed upper bound. None if there is none."""
    @property
    def holds(self) -> bool:
        """True if the claimed number is valid."""

@final
class Verification:
    """Result of `verify`. It is true if the claim or certificate is valid."""

    @property
    def is_valid(self) -> bool:
        """True if every recomputed number supports the claim."""
    @property
    def checks(self) -> list[VerifiedNumber]:
        """Every number that was recomputed, ε first."""
    @property
    def assumed(self) -> list[str]:
        """Assumptions that cannot be recomputed from the file. Check these yourself."""
    @property
    def text(self) -> str:
        """The result as text, as `veracity verify` prints it."""
    def raise_if_invalid(self) -> None:
        """Raise `Refuted` if the claim or certificate is invalid.

        Raises:
            Refuted: with the first line of `text`. It is an `AssertionError`, so a test fails with that line.
        """
    def __bool__(self) -> bool: ...

def read_claim(claim: Claim | _Path) -> Claim:
    """Read a claim from a file or from JSON.

    Args:
        claim: a path, or the text of a claim.

    Returns:
        A `Claim`. Its numbers are not recomputed yet. Call `Claim.verify` for that.

    Raises:
        FileError: if the file does not exist or is not a claim.
        InvalidInput: if the text is not a claim.

    Example:
        >>> claim = v.gaussian(noise_multiplier=4).claim(delta=1e-5)
        >>> v.read_claim(claim.to_json()) == claim
        True
    """
def verify(claim: Claim | _Path) -> Verification:
    """Recompute a claim, or the certificate of an audit from the trials next to it.

    An invalid claim raises nothing here. Call `.raise_if_invalid()` on the result if you want an exception, for example in a test.

    Args:
        claim: a path, the text of a claim, or a `Claim`.

    Returns:
        A `Verification`. It is true if the claim is valid.

    Raises:
        FileError: if the file does not exist or is damaged.
        InvalidInput: if the text is not a claim.

    Example:
        >>> v.verify(v.gaussian(noise_multiplier=4).claim(delta=1e-5)).is_valid
        True
    """
def calibrate(
    mechanism: Mechanism,
    *,
    epsilon: _Number,
    delta: _Number,
    solve: Literal["noise", "steps", "sampling-rate"] = "noise",
    adjacency: _Adjacency | None = None,
) -> Calibration:
    """Find the least noise, the most steps or the largest sampling rate that fits a privacy budget.

    Args:
        mechanism: the mechanism to calibrate. Its current value of the setting does not matter.
        epsilon: ε of the budget.
        delta: δ of the budget.
        solve: "noise", "steps" or "sampling-rate".
        adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.

    Returns:
        A `Calibration`. The setting is rounded to the safe side and certified as printed.

    Raises:
        InvalidInput: if the mechanism has no such setting, or no value of it fits the budget.
        NoTheorem: if no theorem covers the mechanism.

    Example:
        >>> run = v.dp_sgd(sampling_rate=0.01, noise_multiplier=1, steps=1000)
        >>> v.calibrate(run, epsilon=3, delta=1e-5).noise_multiplier
        0.81358449
    """
def explain(
    mechanism: Mechanism | None = None,
    *,
    delta: _Number | None = None,
    epsilon: _Number | None = None,
    priors: _Numbers | None = None,
    adjacency: _Adjacency | None = None,
) -> Explanation:
    """Explain a guarantee in plain language: odds, the optimal attack and groups.

    Pass a mechanism and either `delta` or `epsilon`. Without a mechanism, pass both, for example for a guarantee that you read in a
    paper.

    Args:
        mechanism: the mechanism to explain, or None.
        delta: δ of the guarantee.
        epsilon: ε of the guarantee.
        priors: an attacker's probabilities of membership before the attack. None takes 0.01 and 0.5.
        adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.

    Returns:
        An `Explanation`. Print it to read the text.

    Raises:
        InvalidInput: if the arguments do not determine a guarantee.
        NoTheorem: if no theorem covers the mechanism.

    Example:
        >>> print(v.explain(epsilon=3, delta=1e-6).text.splitlines()[0])
        epsilon ≤ 3 at delta 1e-6   (per example; as given)
    """
def _mechanism_from_json(text: str) -> Mechanism: ...
def _mechanism_from_events(text: str) -> Mechanism: ...
def _make_mechanism(
    kind: str, fields: dict[str, Any], adjacency: str | None, unit: str | None
) -> Mechanism: ...
@final
class _Column:
    @staticmethod
    def of_array(array: NDArray[np.float64]) -> _Column: ...
    @staticmethod
    def of_numbers(objects: Iterable[Any]) -> _Column: ...
    @staticmethod
    def of_texts(objects: Iterable[Any]) -> _Column: ...
    @staticmethod
    def of_rows(rows: int) -> _Column: ...
    @staticmethod
    def of_file(path: str, column: str | None, texts: bool) -> _Column: ...
    def binned(self, inner: list[float], labels: list[str]) -> _Column: ...
    def __len__(self) -> int: ...

@final
class _Charged:
    @property
    def mechanism(self) -> Mechanism | None: ...

@final
class _Promise:
    def claim(self) -> Claim: ...

@final
class _Session:
    def __new__(
        cls,
        epsilon: _Number,
        delta: _Number,
        adjacency: str,
        person: str | None,
        rows_per_person: _Number,
        dataset: str,
        seed: int | None,
    ) -> _Session: ...
    def charge(
        self,
        statistic: str,
        column: str | None,
        epsilon: _Number,
        *,
        lower: _Number | None = None,
        upper: _Number | None = None,
        ranks: list[float] | None = None,
        bins: _Number | None = None,
        keys: list[str] | None = None,
        error_bar: str = "pair",
        group: tuple[str, list[str]] | None = None,
    ) -> _Charged: ...
    def answer(
        self, charged: _Charged, column: _Column, groups: _Column | None = None, persons: _Column | None = None
    ) -> tuple[list[list[tuple[str | None, float, float, float | None]]], _Promise]: ...
    def spent(self) -> tuple[float, float, float]: ...
    def remaining(self) -> tuple[float, float, float]: ...
    def mechanism(self) -> Mechanism | None: ...

@final
class _Ledger:
    @staticmethod
    def create(
        path: str,
        epsilon: _Number,
        delta: _Number,
        rule: str | None,
        adjacency: str,
        unit: str | None,
        dataset: str | None,
        analysts: list[tuple[str, float]],
    ) -> _Ledger: ...
    @staticmethod
    def open(path: str) -> _Ledger: ...
    def status(self) -> str: ...
    def history(self) -> str: ...
    def verify(self, head: str | None) -> str: ...
    def request(
        self,
        mechanism: Mechanism,
        what: str,
        dataset: str | None,
        request_id: str | None,
        analyst: str | None,
        attempt: str = "once",
    ) -> _Charge: ...
    @property
    def rule(self) -> str: ...
    @property
    def path(self) -> PathLike[str]: ...

@final
class _Charge:
    def recall(self) -> bool: ...
    def enter(self) -> bool: ...
    def commit(self, answer: str) -> None: ...
    def give_up(self) -> None: ...
    @property
    def known(self) -> str | None: ...
    @property
    def entry(self) -> int | None: ...

@final
class _Query:
    def __new__(
        cls,
        sql: str,
        catalog: str,
        epsilon: _Number,
        *,
        delta: _Number | None = None,
        noise: str | None = None,
        groups_per_person: _Number | None = None,
        rows_per_group: _Number | None = None,
        suggest_caps: float | None = None,
        count_cut: bool = False,
        delimiter: str | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        encoding: str | None = None,
        every: str | None = None,
        date: str | None = None,
        minimize: str = "totals",
    ) -> _Query: ...
    def ask(
        self, engine: str | None, claim: str | None, dataset: str | None, seed: int | None, charge: _Charge | None = None
    ) -> _Answered | None: ...
    @property
    def table(self) -> str: ...
    @property
    def sql(self) -> str: ...
    @property
    def digest(self) -> str: ...
    def suppressed(self) -> list[tuple[int, tuple[float, float]]]: ...
    def begin(self, claim: str | None, dataset: str | None, seed: int | None) -> _Asking: ...
    def preview(self, rows: int) -> list[tuple[str, float, float]]: ...
    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def threshold(self) -> float | None: ...

@final
class _Asking:
    def statements(self, dialect: str) -> list[tuple[str, int, int]]: ...
    def finish(self, statements: list[list[tuple[list[str], list[int]]]]) -> _Answered: ...

@final
class _Randomness:
    def __new__(cls, seed: int | None = None) -> _Randomness: ...
    @staticmethod
    def resume(root: bytes) -> _Randomness: ...
    def root(self) -> bytes: ...
    def keep(self, path: str) -> None: ...
    @staticmethod
    def find(path: str) -> _Randomness | None: ...
    @staticmethod
    def destroy(path: str) -> None: ...
    @property
    def is_releasable(self) -> bool: ...
    def add_noise(self, sums: NDArray[np.int64], step: int, threads: int) -> None: ...
    def chosen(self, ids: NDArray[np.uint64], rate: float, step: int) -> NDArray[np.bool_]: ...
    def worlds(self, count: int) -> NDArray[np.bool_]: ...
    def places(self, count: int, below: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]: ...
    def layer_seed(self, step: int, micro_batch: int) -> int: ...

def _check_columns(path: str, columns: list[str]) -> None: ...
def _text(key: object) -> str | None: ...
def _save_claims(folder: str, claims: list[Claim]) -> list[PathLike[str]]: ...
def _row_sums(
    rows: NDArray[np.float64],
    targets: NDArray[np.float64],
    groups: NDArray[np.uint32],
    number_of_groups: int,
    clipping: str,
    terms: list[str],
    noise_multiplier: float,
    seed: int | None,
    call: int,
) -> tuple[NDArray[np.float64], Mechanism, tuple[str, float, float, float]]: ...
def _gaussian_noise(epsilon: _Number, delta: _Number, times: int) -> float: ...
def _sgd_noise(
    epsilon: _Number, delta: _Number, schedule: tuple[int, int, int]
) -> tuple[float, Mechanism]: ...
def _logistic(
    features: NDArray[np.float64],
    labels: list[int],
    classes: int,
    epsilon: _Number,
    delta: _Number,
    penalty: float,
    intercept: float,
    seed: int | None,
) -> tuple[NDArray[np.float64], Mechanism]: ...
def _train_network(
    features: NDArray[np.float64],
    labels: list[int],
    classes: int,
    hidden: list[int],
    activation: str,
    schedule: tuple[int, int, int],
    noise_multiplier: float,
    clip: float,
    rate: float,
    momentum: float,
    seed: int | None,
) -> tuple[NDArray[np.float32], tuple[str, float, float, float]]: ...
def _network_outputs(
    features: NDArray[np.float64], classes: int, hidden: list[int], activation: str, parameters: list[float]
) -> NDArray[np.float32]: ...
def _model_claim(
    mechanism: Mechanism,
    delta: _Number,
    seeded: bool,
    sha256: str,
    dataset: str,
    noise: list[tuple[str, float, float, float]],
) -> Claim: ...

@final
class AuditResult:
    """Result of an audit: the verdict, the lower bound on ε and the evidence.

    In a notebook it shows the plots of the report.
    """

    @property
    def verdict(self) -> Literal["refuted", "not-refuted", "inconclusive"]:
        """The verdict: "refuted", "not-refuted" or "inconclusive"."""
    @property
    def epsilon_lower(self) -> float:
        """The lower bound on ε at confidence 1 − `significance`."""
    @property
    def ceiling(self) -> float:
        """The largest lower bound on ε that this number of trials could have given."""
    @property
    def epsilon_claimed(self) -> float:
        """ε of the claim."""
    @property
    def delta(self) -> float:
        """δ of the claim."""
    @property
    def effective_noise(self) -> float | None:
        """The largest noise, as a multiple of the declared level, with which the trials are compatible. None if there is no limit."""
    @property
    def detects_noise_below(self) -> float | None:
        """The noise, as a multiple of the declared level, below which the audit refutes with probability 0.9. None if there is none."""
    @property
    def trials(self) -> int:
        """The number of trials that the verdict is based on."""
    @property
    def failures(self) -> int:
        """The number of those trials that failed."""
    @property
    def failed_by_world(self) -> tuple[int, int, int, int]:
        """Trials with the canary, failed ones with it, trials without it, failed ones without it."""
    @property
    def significance(self) -> float:
        """The significance: the largest probability of refuting a true claim."""
    @property
    def method(self) -> str:
        """The statistical method, such as `sequential`."""
    @property
    def seed(self) -> int:
        """The seed of the trials."""
    @property
    def out(self) -> PathLike[str] | None:
        """The folder with the evidence. None if you kept none."""
    @property
    def certificate(self) -> str:
        """The certificate as JSON. With the trials, anyone can recompute the verdict from it."""
    @property
    def worlds(self) -> NDArray[np.bool_]:
        """One boolean per trial: True if the canary was included."""
    @property
    def scores(self) -> NDArray[np.float64]:
        """One score per trial. NaN for a failed trial."""
    @property
    def earlier_looks(self) -> int:
        """The number of earlier audits of the same subject and claim in the same folder."""
    @property
    def first_failure(self) -> str | None:
        """The traceback of the first failed trial of this run. None if no trial failed."""
    def trials_csv(self) -> str:
        """Return the trials as CSV.

        Returns:
            The text of `trials.csv`.
        """
    def report_html(self) -> str:
        """Return the report as one HTML page.

        Returns:
            HTML without external resources. Write it to a file and open it in a browser.
        """
    def assert_not_refuted(self, require: _Number | None = None) -> None:
        """Raise an exception if the claim is refuted or the audit is inconclusive.

        Args:
            require: the noise that the audit must be able to detect, as a multiple of the declared level, for example 0.8. None skips
                this check.

        Raises:
            Refuted: if the claim is refuted.
            CannotTell: if the audit could not have detected noise at `require` times the declared level.
        """
    def _repr_html_(self) -> str: ...

@final
class _AuditRun:
    """An audit under way."""

    @property
    def progress(self) -> tuple[int, int, int]: ...
    def hand_out(self, most: int) -> list[tuple[int, bool, int]]: ...
    def take_back(self, trials: list[int]) -> None: ...
    def keep(self, rows: list[tuple[int, float | None, str]]) -> bool: ...
    def finish(self, first_failure: str | None) -> AuditResult: ...
    def close(self) -> None: ...

def _audit_run(
    claim: Claim,
    worlds: NDArray[np.bool_],
    scores: NDArray[np.float64],
    rate: float,
    noise_multiplier: float,
    steps: int,
    significance: _Number,
    settings: dict[str, Any],
    out: str | None,
) -> AuditResult: ...
def _save_run(
    folder: str | None,
    entry: str,
    tensors: list[tuple[str, list[int], NDArray[np.float32]]],
    card: str,
    mechanism: Mechanism,
    noise_multiplier: float,
    steps: int,
    delta: _Number,
    seeded: bool,
    dataset: str,
    noise: tuple[str, float, float, float],
    facts: list[tuple[str, str]],
    points: list[str],
) -> Claim: ...
def _audit_adjacency(claim: object, delta: _Number | None, adjacency: str | None) -> _Adjacency: ...
def _begin_audit(
    *,
    claim: object,
    delta: _Number | None,
    adjacency: str | None,
    trials: _Number,
    seed: int,
    significance: _Number,
    method: str | None,
    threshold: str | None,
    require: _Number | None,
    max_failures: _Number | None,
    group: int,
    description: str,
    settings: dict[str, Any],
    out: _Path | None,
    resume: bool,
) -> _AuditRun: ...

"""The compiled part; import `veracity`, which re-exports it."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__version__: str

_Number: TypeAlias = SupportsFloat | SupportsIndex
_Answered: TypeAlias = tuple[list[str], list[list[tuple[str | None, float, float]]], Claim, PathLike[str]]
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
    """A number between two certified ends; as a float, the upper one."""

    @property
    def lower(self) -> float | None: ...
    @property
    def upper(self) -> float | None: ...
    @property
    def approximate(self) -> float | None: ...
    @property
    def method(self) -> str: ...
    @property
    def fallback(self) -> str | None: ...
    @property
    def relative_width(self) -> float | None: ...
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
    """A trade-off curve at some false-positive rates, from both sides."""

    @property
    def alphas(self) -> NDArray[np.float64]: ...
    @property
    def lower(self) -> NDArray[np.float64]: ...
    @property
    def upper(self) -> NDArray[np.float64] | None: ...
    @property
    def method(self) -> str: ...
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...

@final
class Mechanism:
    """A mechanism or a composition of mechanisms, as a value."""

    @property
    def kind(self) -> str: ...
    @property
    def adjacency(self) -> str: ...
    @property
    def unit(self) -> str: ...
    def under(self, adjacency: _Adjacency | str | None = None, unit: str | None = None) -> Mechanism: ...
    def sampled(self, rate: _Number) -> Mechanism: ...
    def group(self, size: _Number) -> Mechanism: ...
    def repeated(self, times: _Number) -> Mechanism: ...
    def epsilon(
        self, delta: _Number, *, method: _Method | None = None, adjacency: _Adjacency | None = None
    ) -> Interval: ...
    def delta(
        self, epsilon: _Number, *, method: _Method | None = None, adjacency: _Adjacency | None = None
    ) -> Interval: ...
    def tradeoff(self, alphas: _Number | _Numbers, *, adjacency: _Adjacency | None = None) -> Tradeoff: ...
    def claim(
        self,
        delta: _Number | None = None,
        *,
        epsilon: _Number | None = None,
        method: _Method | None = None,
        adjacency: _Adjacency | None = None,
    ) -> Claim: ...
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(text: str) -> Mechanism: ...
    def __add__(self, other: Mechanism) -> Mechanism: ...
    def __radd__(self, other: Literal[0]) -> Mechanism: ...
    def __mul__(self, times: _Number) -> Mechanism: ...
    def __rmul__(self, times: _Number) -> Mechanism: ...
    def __hash__(self) -> int: ...

@final
class Calibration:
    """A setting that keeps within a budget, and what it leaks."""

    @property
    def noise_multiplier(self) -> float | None: ...
    @property
    def steps(self) -> int | None: ...
    @property
    def sampling_rate(self) -> float | None: ...
    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def epsilon(self) -> Interval: ...
    @property
    def delta(self) -> float: ...

@final
class Attack:
    """The strongest attack that wrongly accuses at one rate."""

    @property
    def false_positive_rate(self) -> float: ...
    @property
    def true_positive_rate(self) -> float: ...
    @property
    def posteriors(self) -> list[tuple[float, float]]: ...

@final
class GroupPromise:
    """What several people who act together are promised."""

    @property
    def size(self) -> int: ...
    @property
    def epsilon(self) -> float | None: ...
    @property
    def delta(self) -> float | None: ...
    @property
    def method(self) -> str | None: ...

@final
class Explanation:
    """A guarantee, spelled out."""

    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def odds(self) -> float: ...
    @property
    def advantage(self) -> float: ...
    @property
    def attacks(self) -> list[Attack]: ...
    @property
    def groups(self) -> list[GroupPromise]: ...
    @property
    def text(self) -> str: ...
    def to_json(self) -> str: ...

@final
class Claim:
    """What is promised of a mechanism."""

    @property
    def epsilon(self) -> Interval: ...
    @property
    def delta(self) -> float: ...
    @property
    def definition(self) -> str: ...
    @property
    def profile(self) -> list[tuple[float, float | None, float | None]]: ...
    @property
    def adjacency(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def not_covered(self) -> list[str]: ...
    @property
    def mechanism(self) -> Mechanism: ...
    def to_json(self) -> str: ...
    def save(self, path: _Path) -> None: ...
    def verify(self) -> Verification: ...
    def __hash__(self) -> int: ...

@final
class VerifiedNumber:
    """One number of a claim, and what was found in its place."""

    @property
    def what(self) -> str: ...
    @property
    def stated(self) -> str: ...
    @property
    def claimed(self) -> float | None: ...
    @property
    def lower(self) -> float | None: ...
    @property
    def upper(self) -> float | None: ...
    @property
    def holds(self) -> bool: ...

@final
class Verification:
    """What came of checking a claim, or a certificate, again."""

    @property
    def stands(self) -> bool: ...
    @property
    def checks(self) -> list[VerifiedNumber]: ...
    @property
    def assumed(self) -> list[str]: ...
    @property
    def text(self) -> str: ...
    def assert_stands(self) -> None: ...
    def __bool__(self) -> bool: ...

def read_claim(claim: Claim | _Path) -> Claim: ...
def verify(claim: Claim | _Path) -> Verification: ...
def calibrate(
    mechanism: Mechanism,
    *,
    epsilon: _Number,
    delta: _Number,
    solve: Literal["noise", "steps", "sampling-rate"] = "noise",
    adjacency: _Adjacency | None = None,
) -> Calibration: ...
def explain(
    mechanism: Mechanism | None = None,
    *,
    delta: _Number | None = None,
    epsilon: _Number | None = None,
    priors: _Numbers | None = None,
    adjacency: _Adjacency | None = None,
) -> Explanation: ...
def _mechanism_from_json(text: str) -> Mechanism: ...
def _mechanism_from_events(text: str) -> Mechanism: ...
def gaussian(
    *,
    noise_multiplier: _Number | None = None,
    sigma: _Number | None = None,
    sensitivity: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def laplace(
    *,
    noise_multiplier: _Number | None = None,
    scale: _Number | None = None,
    sensitivity: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def discrete_gaussian(
    *,
    sigma: _Number,
    sensitivity: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def discrete_laplace(
    *,
    scale: _Number,
    sensitivity: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def randomized_response(
    *,
    noise_parameter: _Number,
    buckets: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def exponential(
    *,
    epsilon: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def pure(
    *,
    epsilon: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def approximate(
    *,
    epsilon: _Number,
    delta: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def zcdp(
    *,
    rho: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def rdp(
    *,
    orders: _Numbers,
    values: _Numbers,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def gdp(
    *,
    mu: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def poisson_sampled(
    mechanism: Mechanism,
    *,
    rate: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def fixed_size_sampled(
    mechanism: Mechanism,
    *,
    batch: _Number,
    population: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def truncated_poisson_sampled(
    mechanism: Mechanism,
    *,
    rate: _Number,
    most: _Number,
    population: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def random_allocation(
    mechanism: Mechanism,
    *,
    batches: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def shuffled(
    mechanism: Mechanism,
    *,
    batches: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def matrix(
    *,
    strategy: Mapping[str, Any],
    participation: Mapping[str, Any],
    noise_multiplier: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def best_of(
    mechanism: Mechanism,
    *,
    mean_runs: _Number,
    shape: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def losses(
    first: Mapping[str, Any],
    second: Mapping[str, Any] | None = None,
    *,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def composed(
    parts: Iterable[Mechanism],
    *,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def parallel(
    parts: Iterable[Mechanism],
    *,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def repeated(
    mechanism: Mechanism,
    *,
    times: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def group(
    mechanism: Mechanism,
    *,
    size: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism: ...
def dp_sgd(
    *,
    sampling_rate: _Number | None = None,
    batch_size: _Number | None = None,
    dataset_size: _Number | None = None,
    noise_multiplier: _Number,
    steps: _Number | None = None,
    epochs: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
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
        error_bar: bool = True,
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
        self, mechanism: Mechanism, what: str, dataset: str | None, request_id: str | None, analyst: str | None
    ) -> _Charge: ...
    @property
    def rule(self) -> str: ...
    @property
    def path(self) -> PathLike[str]: ...

@final
class _Charge:
    def enter(self) -> bool: ...
    def keep(self, answer: str) -> None: ...
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
        delta: _Number,
        noise: str | None,
        groups_per_person: _Number | None,
        rows_per_group: _Number | None,
    ) -> _Query: ...
    def ask(
        self, engine: str | None, claim: str | None, dataset: str | None, seed: int | None, charge: _Charge | None = None
    ) -> _Answered | None: ...
    @property
    def table(self) -> str: ...
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
    """What came of an audit: the verdict and what it rests on."""

    @property
    def verdict(self) -> Literal["refuted", "not-refuted", "cannot-tell"]: ...
    @property
    def epsilon_lower(self) -> float: ...
    @property
    def ceiling(self) -> float: ...
    @property
    def epsilon_claimed(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def effective_noise(self) -> float | None: ...
    @property
    def catches_noise_below(self) -> float | None: ...
    @property
    def trials(self) -> int: ...
    @property
    def failures(self) -> int: ...
    @property
    def failed_by_world(self) -> tuple[int, int, int, int]: ...
    @property
    def significance(self) -> float: ...
    @property
    def method(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def out(self) -> PathLike[str] | None: ...
    @property
    def certificate(self) -> str: ...
    @property
    def worlds(self) -> NDArray[np.bool_]: ...
    @property
    def scores(self) -> NDArray[np.float64]: ...
    @property
    def earlier_looks(self) -> int: ...
    @property
    def first_failure(self) -> str | None: ...
    def trials_csv(self) -> str: ...
    def report_html(self) -> str: ...
    def assert_not_refuted(self, require: _Number | None = None) -> None: ...
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

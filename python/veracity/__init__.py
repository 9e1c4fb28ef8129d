"""Differential privacy that can be checked.

A mechanism is a value; what it leaks is an interval; what is promised is a claim that anyone can verify.

>>> import veracity as v
>>> run = v.dp_sgd(batch_size=256, dataset_size=60_000, noise_multiplier=1.0, epochs=10)
>>> run.epsilon(delta=1e-5) <= 2
True
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from ._audit import audit
from ._errors import (
    BudgetExceeded,
    CannotTell,
    Contradiction,
    Error,
    FileError,
    InvalidInput,
    NoProtection,
    NotCertified,
    NoTheorem,
    Refuted,
    TrialsFailed,
)
from ._events import from_dp_event
from ._ledger import Charge, Ledger
from ._query import QueryPreview, QueryResult, preview_query, query
from ._session import Session
from ._veracity import (
    Attack,
    AuditResult,
    Calibration,
    Claim,
    Explanation,
    GroupPromise,
    Interval,
    Mechanism,
    Tradeoff,
    Verification,
    VerifiedNumber,
    __version__,
    approximate,
    best_of,
    calibrate,
    composed,
    discrete_gaussian,
    discrete_laplace,
    dp_sgd,
    explain,
    exponential,
    fixed_size_sampled,
    gaussian,
    gdp,
    group,
    laplace,
    losses,
    matrix,
    parallel,
    poisson_sampled,
    pure,
    random_allocation,
    randomized_response,
    rdp,
    read_claim,
    repeated,
    shuffled,
    truncated_poisson_sampled,
    verify,
    zcdp,
)

__all__ = [
    "Attack",
    "AuditResult",
    "BudgetExceeded",
    "Calibration",
    "CannotTell",
    "Charge",
    "Claim",
    "Contradiction",
    "Error",
    "Explanation",
    "FileError",
    "GroupPromise",
    "Interval",
    "InvalidInput",
    "Ledger",
    "Mechanism",
    "NoProtection",
    "NoTheorem",
    "NotCertified",
    "QueryPreview",
    "QueryResult",
    "Refuted",
    "Session",
    "Tradeoff",
    "TrialsFailed",
    "Verification",
    "VerifiedNumber",
    "__version__",
    "approximate",
    "audit",
    "best_of",
    "calibrate",
    "composed",
    "discrete_gaussian",
    "discrete_laplace",
    "dp_sgd",
    "explain",
    "exponential",
    "fixed_size_sampled",
    "from_dp_event",
    "gaussian",
    "gdp",
    "group",
    "laplace",
    "losses",
    "matrix",
    "parallel",
    "poisson_sampled",
    "preview_query",
    "pure",
    "query",
    "random_allocation",
    "randomized_response",
    "rdp",
    "read_claim",
    "repeated",
    "shuffled",
    "truncated_poisson_sampled",
    "verify",
    "zcdp",
]

# What needs another package is loaded when it is first named.
_LAZY = ("executors", "opacus", "prv", "sklearn")


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])

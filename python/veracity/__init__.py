"""Check, prove and audit differential privacy.

Build a mechanism, compute its ε as a certified interval, and save the guarantee as a claim that anyone can verify.

Example:
    >>> import veracity as v
    >>> run = v.dp_sgd(batch_size=256, dataset_size=60_000, noise_multiplier=1.0, epochs=10)
    >>> run.epsilon(delta=1e-5) <= 2
    True
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from . import _kinds
from ._audit import audit
from ._errors import (
    BudgetExceeded,
    CannotAudit,
    CannotTell,
    Contradiction,
    Error,
    FileError,
    InvalidInput,
    NoProtection,
    NotCertified,
    NoTheorem,
    PrivacyWarning,
    Refuted,
    TrialsFailed,
)
from ._events import from_dp_event
from ._kinds import *
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
    calibrate,
    explain,
    read_claim,
    verify,
)

__all__ = [
    "Attack",
    "AuditResult",
    "BudgetExceeded",
    "Calibration",
    "CannotAudit",
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
    "PrivacyWarning",
    "QueryPreview",
    "QueryResult",
    "Refuted",
    "Session",
    "Tradeoff",
    "TrialsFailed",
    "Verification",
    "VerifiedNumber",
    "__version__",
    "audit",
    "calibrate",
    "explain",
    "from_dp_event",
    "preview_query",
    "query",
    "read_claim",
    "verify",
]
__all__ += _kinds.__all__

# What needs another package is loaded when it is first named.
_LAZY = ("executors", "opacus", "prv", "sklearn", "torch")


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])

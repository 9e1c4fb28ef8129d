"""Exceptions. Each message is one line that says what happened, why and what to do. It never contains a value of your data."""


class Error(Exception):
    """Base class of every exception that Veracity raises. Catch it to catch all of them."""


class InvalidInput(Error, ValueError):
    """An argument is missing, has the wrong type or is out of range. The message names it and the values that it can have."""


class NoTheorem(Error):
    """No theorem gives a bound for this mechanism, method or adjacency.

    The message names an alternative. Choose another method or adjacency.
    """


class NotCertified(Error):
    """The accountant cannot certify a bound.

    Choose another method, or read `Interval.approximate` if an estimate is enough.
    """


class NoProtection(Error):
    """The mechanism gives no privacy at this δ: ε is infinite. Add noise, or choose a larger δ."""


class BudgetExceeded(Error):
    """The request costs more than the remaining budget.

    It was not charged and released no answer. Choose a smaller epsilon, or another budget.
    """


class Contradiction(Error):
    """Two proved bounds contradict each other. This is a bug in Veracity. Please report it."""


class Refuted(Error, AssertionError):
    """A claim is invalid, or an audit refuted it.

    It is an `AssertionError`, so a test fails with its message. Look for the cause in the mechanism, then correct the claim or the code.
    """


class CannotTell(Error, AssertionError):
    """An audit is inconclusive: its trials could not have detected the problem that you asked about.

    It is an `AssertionError`, so a test fails with its message. Run more trials, or use a stronger attack.
    """


class CannotAudit(Error):
    """The audit cannot attack this training, so it gives no verdict.

    Either the canary would not take part, or the training does not match the claim. The message says why and what to change.
    """


class FileError(Error, OSError):
    """A file does not exist, cannot be read or written, or is damaged. Check the path and the permissions."""


class TrialsFailed(Error):
    """Too many trials of an audit raised an exception, so there is no verdict.

    Read `first_failure`, fix the function and run the audit again.

    Attributes:
        first_failure: the traceback of the first failed trial, or None.
    """

    #: The traceback of the first that did, where one was seen.
    first_failure: str | None = None


class PrivacyWarning(UserWarning):
    """Warning that the guarantee is valid but weaker than it looks.

    The message says why and what to change. Run `warnings.simplefilter("error", v.PrivacyWarning)` to turn such warnings into errors.
    """


for _class in (
    Error,
    InvalidInput,
    NoTheorem,
    NotCertified,
    NoProtection,
    BudgetExceeded,
    Contradiction,
    Refuted,
    CannotTell,
    CannotAudit,
    FileError,
    TrialsFailed,
    PrivacyWarning,
):
    _class.__module__ = "veracity"
del _class

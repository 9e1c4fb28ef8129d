"""Every failure is one of these; the message is one line: name, value, range, remedy. No message holds a value of the data."""


class Error(Exception):
    """What veracity raises."""


class InvalidInput(Error, ValueError):
    """What was given does not fit."""


class NoTheorem(Error):
    """No theorem covers this mechanism in this setting; the message says what would work."""


class NotCertified(Error):
    """There is no certified answer."""


class NoProtection(Error):
    """The answer is that nobody is protected."""


class BudgetExceeded(Error):
    """It would cost more than there is."""


class Contradiction(Error):
    """Two proved bounds contradict each other: a bug of veracity, please report it."""


class Refuted(Error, AssertionError):
    """A claim does not stand."""


class CannotTell(Error, AssertionError):
    """An audit is not able to tell whether the claim stands."""


class FileError(Error, OSError):
    """A file cannot be read or written, or is not what it should be."""


class TrialsFailed(Error):
    """Too many trials of an audit failed."""

    #: The traceback of the first that did, where one was seen.
    first_failure: str | None = None


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
    FileError,
    TrialsFailed,
):
    _class.__module__ = "veracity"
del _class

"""A plugin for pytest: the fixture `audit` fails a test in one line, the marker `privacy` has its settings.

    @pytest.mark.privacy(trials=400, require=0.5)
    def test_our_training_is_private(audit):
        audit(score, claim=claim)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line(
        "markers", "privacy(**settings): audits a privacy claim; the settings are those of veracity.audit, for the fixture audit"
    )


@pytest.fixture
def audit(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`veracity.audit` that fails the test when the claim is refuted, or when the audit is not able to tell; `require` is kept to."""
    # Not before a test asks for it: a plugin is loaded by everyone who has the package.
    import veracity

    settings: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("privacy"))):
        settings.update(marker.kwargs)

    def audited(score: Any = None, **more: Any) -> Any:
        failure = None
        try:
            result = veracity.audit(score, **{**settings, **more})
            result.assert_not_refuted()
            return result
        except (veracity.Refuted, veracity.CannotTell) as error:
            failure = str(error)
        pytest.fail(failure, pytrace=False)

    return audited

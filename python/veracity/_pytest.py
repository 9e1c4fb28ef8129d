"""Plugin for pytest: the fixture `audit` fails a test in one line, and the marker `privacy` has its settings.

    @pytest.mark.privacy(trials=400, require=0.5)
    def test_our_training_is_private(audit):
        audit(score, claim=claim)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "privacy(**settings): audits a privacy claim; the settings are those of veracity.audit, for the fixture audit"
    )


@pytest.fixture
def audit(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Run `veracity.audit`, and fail the test if the claim is refuted or the audit is inconclusive."""
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

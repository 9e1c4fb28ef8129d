"""The stub and docs/python-api.md have the docstrings of the package. With VERACITY_BLESS=1, they are written."""

import os

import pytest
import reference
import veracity as v


def compare(path, made):
    if os.environ.get("VERACITY_BLESS") == "1":
        path.write_text(made)
    assert path.read_text() == made, f"{path.name} is out of date: run VERACITY_BLESS=1 cargo xtask test"


def test_the_stub_has_the_docstrings_of_the_compiled_module():
    compare(reference.STUB, reference.stub_with_docstrings(reference.STUB.read_text()))


def test_a_docstring_that_differs_is_found():
    stub = reference.STUB.read_text()
    stale = stub.replace("A certified interval that contains", "An interval around")
    assert stale != stub == reference.stub_with_docstrings(stale)


def test_the_page_has_the_docstrings_of_the_package():
    compare(reference.PAGE, reference.page())


def test_the_page_has_every_public_name():
    page = reference.PAGE.read_text()
    missing = [name for name in v.__all__ if name != "__version__" and f"### `v.{name}`\n" not in page]
    missing += [name for name in v.sklearn.__all__ if name[0] != "E" and f"### `v.sklearn.{name}`\n" not in page]
    assert missing == []


def tooltip(name):
    """The docstring that an editor shows."""
    # The environment of the peers has no jedi, and collects this file too.
    import jedi

    source = f"import veracity as v\nv.{name}"
    [found, *_] = jedi.Script(source, environment=jedi.InterpreterEnvironment()).help(2, len(f"v.{name}"))
    return found.docstring(raw=True)


@pytest.mark.parametrize(
    "name",
    ["calibrate", "verify", "explain", "audit", "Session.mean", "Ledger.charge", "query", "read_claim", "Mechanism.epsilon"]
    + ["Claim.verify", "sklearn.PCA.fit"],
)
def test_a_tooltip_says_what_goes_in_and_what_comes_out(name):
    shown = tooltip(name)
    assert "Returns:" in shown and ("Args:" in shown or name == "Claim.verify")


def test_a_tooltip_describes_classes_and_properties():
    assert "Args:" in tooltip("Session") and "Args:" in tooltip("Ledger")
    assert "lower bound on ε" in tooltip("AuditResult.epsilon_lower")
    assert tooltip("Interval.upper").startswith("The upper bound")


@pytest.mark.parametrize("name", ["dp_sgd", "gaussian"])
def test_a_tooltip_describes_constructors(name):
    shown = tooltip(name)
    assert "Args:" in shown and "Returns:" in shown

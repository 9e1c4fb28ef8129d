"""Examples in docs and in modules print what they say."""

import doctest
import importlib
import inspect
import pathlib
import re

import pytest
import veracity
from conftest import examples, pages
from veracity._answer import Answer
from veracity._session import BudgetShare, Groups


def run(tests, names):
    """The number of examples that were tried; each block sees the names of those before it."""
    tried = 0
    for test in tests:
        test.globs = names
        told = []
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.FAIL_FAST)
        result = runner.run(test, out=told.append, clear_globs=False)
        assert result.failed == 0, "".join(told)
        tried += result.attempted
    return tried


def test_a_page_prints_what_it_says(page_and_peers):
    page, with_peers = page_and_peers
    chosen = [test for _, peers, test in examples(page) if with_peers or not peers]
    assert run(chosen, {}) > 0


def test_there_is_a_page_to_run():
    assert "python.md" in [page.name for page in pages()]


def test_a_page_that_lies_is_caught(tmp_path):
    lie = tmp_path / "python-lie.md"
    lie.write_text("# A lie\n\n```python\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(AssertionError):
        run([test for _, _, test in examples(lie)], {})


@pytest.mark.parametrize("name", ["", ".prv", "._events", "._ledger", "._query", "._session", ".sklearn"])
def test_modules_print_what_their_docs_say(name):
    tried = doctest.testmod(importlib.import_module(f"veracity{name}"), extraglobs={"v": veracity})
    assert tried.failed == 0 and tried.attempted > 0


def test_lazy_modules_are_named_but_not_loaded():
    assert "opacus" in dir(veracity)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        veracity.nonsense


def public(owner):
    """What an object offers by name, of its own and not of an exception's."""
    return {name for name in dir(owner) if not name.startswith("_")} - set(dir(OSError))


def offered():
    """Every public name: of the package, of its modules and of its classes. Those of modules that need another package are read."""
    import ast

    names = set(veracity.__all__) | set(veracity._LAZY) | set(veracity.sklearn.__all__)
    for name in veracity.__all__:
        if isinstance(getattr(veracity, name), type):
            names |= public(getattr(veracity, name))
    for owner in (Answer, BudgetShare, Groups, veracity.prv.PRVAccountant):
        names |= {name for name in public(owner) if name not in ("rows", "column", "keys", "session", "statistic")}
    folder = pathlib.Path(veracity.__file__).parent
    for module in ("prv", "opacus", "executors"):
        tree = ast.parse((folder / f"{module}.py").read_text())
        made = [one.name for one in tree.body if isinstance(one, (ast.ClassDef, ast.FunctionDef))]
        names |= {name for name in made if not name.startswith("_") and name != "RayFuture"}
    return names


def test_every_public_name_is_described():
    said = "\n".join(page.read_text() for page in pages())
    words = set(re.findall(r"\w+", said))
    assert sorted(offered() - words) == []
    # The twin: a name that nobody described would be found.
    assert "nonsense_that_is_not_there" not in words and len(offered()) > 120


def test_every_public_name_has_a_docstring():
    owners = [getattr(veracity, name) for name in veracity.__all__ if name != "__version__"]
    owners += [getattr(veracity.sklearn, name) for name in veracity.sklearn.__all__ if name != "EXPECTED_FAILED_CHECKS"]
    owners += [Answer, BudgetShare, Groups, veracity.prv.PRVAccountant, veracity.prv.DPSGDAccountant, veracity.executors.Ray]
    for owner in owners:
        assert inspect.getdoc(owner), owner
        ours = str(getattr(owner, "__module__", "")).startswith("veracity")
        for name in public(owner) if isinstance(owner, type) and ours else []:
            told = inspect.getdoc(getattr(owner, name))
            assert told or name == "first_failure" or f"{name}:" in owner.__doc__, f"{owner.__name__}.{name}"
    for module in ("executors", "prv", "sklearn"):
        assert getattr(veracity, module).__doc__


@pytest.mark.parametrize("package", ["Opacus", "dp_accounting", "diffprivlib", "OpenDP"])
def test_each_package_that_people_come_from_has_lines_beside_ours_and_an_example_of_each(package):
    [page] = [page for page in pages() if page.name == "python-coming-from.md"]
    section = page.read_text().split(f"\n## {package}\n")[1].split("\n## ")[0]
    assert section.count("\n|") >= 5 and "```python\n" in section and "```python,peers\n" in section

"""Examples in docs and in modules print what they say."""

import doctest
import importlib

import pytest
import veracity
from conftest import examples, pages


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


@pytest.mark.parametrize("name", ["veracity", "veracity.prv", "veracity._events"])
def test_modules_print_what_their_docs_say(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_lazy_modules_are_named_but_not_loaded():
    assert "opacus" in dir(veracity)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        veracity.nonsense

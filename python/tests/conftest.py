"""Collects the Python that the pages of docs show, and runs it: what is printed there is what is printed.

Tests in the folder `private_torch` get their marker here, and are left out where torch is not installed.
"""

import doctest
import importlib.util
import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```python(?P<peers>,peers)?\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def pages():
    """The pages whose examples are run."""
    return sorted(DOCS.glob("python*.md"))


def examples(page):
    """The doctests of a page, each block by itself: (line, whether it needs peers, the test)."""
    text = page.read_text()
    parser, names = doctest.DocTestParser(), {}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        code = block["code"]
        assert ">>> " in code, f"{page.name}:{line}: a block without an example"
        yield line, bool(block["peers"]), parser.get_doctest(code, names, page.name, str(page), line)


def pytest_generate_tests(metafunc):
    if "page_and_peers" in metafunc.fixturenames:
        cases = [(page, False) for page in pages()]
        cases += [pytest.param((page, True), marks=pytest.mark.peers) for page in pages() if ",peers\n" in page.read_text()]
        metafunc.parametrize("page_and_peers", cases, ids=lambda case: f"{case[0].name}{' with peers' if case[1] else ''}")


TORCH = pathlib.Path(__file__).parent / "private_torch"
if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["private_torch/test_*.py"]


def pytest_collection_modifyitems(items):
    for item in items:
        if TORCH in item.path.parents:
            item.add_marker(pytest.mark.torch)


@pytest.fixture(autouse=True)
def one_thread(request):
    """Small models are faster on one thread, above all where other programs run."""
    if request.node.get_closest_marker("torch"):
        import torch

        torch.set_num_threads(1)


@pytest.fixture
def slow_sums(monkeypatch):
    """Trainings whose sums are those of the slow reference."""
    from slow_sums import SlowSums

    from veracity.torch import _clip

    monkeypatch.setattr(_clip, "RecordSums", SlowSums)

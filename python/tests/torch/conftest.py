"""Marks every test of this folder as one that needs torch, and leaves the folder out where torch is not installed."""

import importlib.util
import pathlib

import pytest

HERE = pathlib.Path(__file__).parent
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("torch").origin is None:
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.torch)


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Small models are faster on one thread, above all where other programs run."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture
def slow_sums(monkeypatch):
    """Trainings whose sums are those of the slow reference."""
    from slow_sums import SlowSums

    from veracity.torch import _clip

    monkeypatch.setattr(_clip, "RecordSums", SlowSums)

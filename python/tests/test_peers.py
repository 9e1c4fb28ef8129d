"""Beside the peers themselves: Opacus trains with our accountant, dp_accounting and prv_accountant answer the same questions.

`cargo xtask reproduce python-peers` installs them and runs these; torch alone is some gigabytes.
"""

import json
import math
import pathlib
import re
import subprocess
import sys

import pytest
import veracity as v

pytestmark = pytest.mark.peers


def train(engine, epochs, batch=64, **how):
    """A private training of a small network on 512 drawn records; the steps that were taken."""
    import torch

    torch.manual_seed(15)
    inputs = torch.randn(512, 8)
    labels = (inputs.sum(dim=1) > 0).long()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, labels), batch_size=batch)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    make = engine.make_private
    if "target_epsilon" in how:
        make, how = engine.make_private_with_epsilon, {"epochs": epochs, **how}
    model, optimizer, loader = make(module=model, optimizer=optimizer, data_loader=loader, max_grad_norm=1.0, **how)
    steps = 0
    for _ in range(epochs):
        for batch_inputs, batch_labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(batch_inputs), batch_labels).backward()
            optimizer.step()
            steps += 1
    return steps, optimizer.noise_multiplier


@pytest.fixture
def engine():
    opacus = pytest.importorskip("opacus")
    v.opacus.register()
    return opacus.PrivacyEngine(accountant="veracity")


def test_a_training_is_accounted_within_the_interval_and_below_rdp(engine):
    from opacus.accountants import RDPAccountant

    steps, noise = train(engine, epochs=3, noise_multiplier=1.1)
    run = v.dp_sgd(sampling_rate=1 / 8, noise_multiplier=noise, steps=steps)
    expected = run.epsilon(1e-5)
    assert engine.get_epsilon(1e-5) == expected.upper and engine.get_epsilon(1e-5) in expected
    assert len(engine.accountant) == steps == 24
    rdp = RDPAccountant()
    rdp.history = list(engine.accountant.history)
    assert engine.get_epsilon(1e-5) < rdp.get_epsilon(1e-5)
    assert v.verify(engine.accountant.claim(1e-5))


def test_the_budget_is_reached_and_kept(engine):
    steps, _ = train(engine, epochs=4, target_epsilon=2.0, target_delta=1e-5)  # 8 batches: no step is lost to rounding
    assert 1.98 <= engine.get_epsilon(1e-5) <= 2.0 and steps == 32


def test_make_private_with_epsilon_takes_the_number_of_epochs(engine):
    steps, noise = train(engine, epochs=2, target_epsilon=1.0, target_delta=1e-5)
    assert engine.accountant.interval(1e-5).upper == v.dp_sgd(sampling_rate=1 / 8, noise_multiplier=noise, steps=steps).epsilon(1e-5).upper


def test_a_state_is_saved_and_loaded(engine):
    from opacus.accountants import create_accountant

    train(engine, epochs=1, noise_multiplier=1.1)
    state = engine.accountant.state_dict()
    again = create_accountant("veracity")
    with pytest.raises(ValueError):
        create_accountant("rdp").load_state_dict(state)
    again.load_state_dict(state)
    assert again.get_epsilon(1e-5) == engine.get_epsilon(1e-5) and again.state_dict() == state
    assert state["mechanism"] == "veracity" and state["history"] is not engine.accountant.history


def test_corners_of_a_history(engine):
    accountant = type(engine.accountant)()
    assert accountant.get_epsilon(1e-5) == 0 and accountant.interval(1e-5) is None and len(accountant) == 0
    with pytest.raises(v.InvalidInput, match="^no step was taken"):
        accountant.claim(1e-5)
    accountant.history = [(0.0, 0.1, 10)]
    assert accountant.get_epsilon(1e-5) == math.inf
    accountant.history = [(1.0, 0.1, 10)]
    assert accountant.get_epsilon(0) == math.inf
    assert accountant.get_epsilon(1e-5, eps_error=0.01, alphas=[2.0]) == v.dp_sgd(
        sampling_rate=0.1, noise_multiplier=1, steps=10
    ).epsilon(1e-5).upper
    accountant.history = [(1.0, 1.0 + 1e-12, 10)]
    assert accountant.get_epsilon(1e-5) >= (v.gaussian(noise_multiplier=1) * 10).epsilon(1e-5).lower
    accountant.history = [(1.0, 1.5, 10)]
    with pytest.raises(v.InvalidInput):
        accountant.get_epsilon(1e-5)
    accountant.history = [(1 + i / 1e4, 0.01, 3) for i in range(300)]
    first, last = (v.dp_sgd(sampling_rate=0.01, noise_multiplier=noise, steps=900) for noise in (1.0, 1.03))
    assert last.epsilon(1e-5).lower <= accountant.get_epsilon(1e-5) <= first.epsilon(1e-5).upper


@pytest.fixture(scope="session")
def opacus_tests(tmp_path_factory):
    """Opacus' own tests of accountants, from its source distribution."""
    import tarfile

    folder = tmp_path_factory.mktemp("opacus")
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "opacus==1.6.0"],
        cwd=folder,
        check=True,
    )
    with tarfile.open(next(folder.glob("opacus-*.tar.gz"))) as packed:
        member = next(one for one in packed.getmembers() if one.name.endswith("opacus/tests/accountants_test.py"))
        text = packed.extractfile(member).read().decode()
    return folder, text


def run_tests(folder, text):
    folder.joinpath("accountants_test.py").write_text("import veracity.opacus\n\nveracity.opacus.register()\n" + text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "accountants_test.py"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout[-2000:]


def test_opacus_own_tests_pass_with_ours_registered(opacus_tests):
    folder, text = opacus_tests
    code, told = run_tests(folder, text)
    assert code == 0 and "\n15 passed" in told, told


def test_opacus_own_tests_of_any_accountant_pass_of_ours(opacus_tests):
    """State, its checks, and the search for noise, of ours in the place of RDP; the numbers that are RDP's are ours to beat."""
    folder, text = opacus_tests
    ours = text.replace("    RDPAccountant,\n", "").replace("RDPAccountant", "veracity.opacus.VeracityAccountant")
    ours = ours.replace('accountant="rdp"', 'accountant="veracity"').replace('mechanism="rdp"', 'mechanism="veracity"')
    ours = ours.replace("            epochs=epochs,\n        )\n\n        accountant =", '            epochs=epochs,\n            accountant="veracity",\n        )\n\n        accountant =')
    ours = ours.replace("assertAlmostEqual(epsilon, 7.32911117143)", "assertLess(epsilon, 7.32911117143)")
    ours = ours.replace("assertAlmostEqual(noise_multiplier, 1.416, places=4)", "assertLess(noise_multiplier, 1.416)")
    assert ours.count("VeracityAccountant") >= 4 and 'accountant="veracity",\n        )\n\n        accountant =' in ours
    code, told = run_tests(folder, ours)
    assert code == 0, told


def test_dp_accounting_agrees_where_it_is_right():
    """Its PLD accountant on the events of its own tests: pessimistic, so at least our lower end, and close to the upper one."""
    dp = pytest.importorskip("dp_accounting")
    from dp_accounting import pld

    step = dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0))
    for event in [
        dp.GaussianDpEvent(1.0),
        dp.SelfComposedDpEvent(dp.GaussianDpEvent(4.0), 10),
        dp.LaplaceDpEvent(2.0),
        dp.SelfComposedDpEvent(dp.LaplaceDpEvent(20.0), 8),
        dp.dp_event.DiscreteLaplaceDpEvent(0.5, 1),
        dp.SelfComposedDpEvent(step, 500),
        dp.ComposedDpEvent([dp.GaussianDpEvent(2.0), dp.LaplaceDpEvent(5.0), dp.SelfComposedDpEvent(step, 100)]),
        dp.dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.9, 0.1]),
    ]:
        theirs = pld.PLDAccountant().compose(event).get_epsilon(1e-5)
        ours = v.from_dp_event(event).epsilon(1e-5)
        assert ours.lower <= theirs * (1 + 1e-9), event
        assert theirs <= ours.upper * 1.01 + 1e-3, event
        assert v.from_dp_event(event.to_named_tuple()) == v.from_dp_event(event)


def test_dp_accounting_charges_fifty_responses_as_one():
    dp = pytest.importorskip("dp_accounting")
    from dp_accounting import pld

    event = dp.SelfComposedDpEvent(dp.RandomizedResponseDpEvent(0.5, 4), 50)
    replace = dp.NeighboringRelation.REPLACE_ONE
    theirs = pld.PLDAccountant(replace).compose(event).get_epsilon(1e-6)
    ours = v.from_dp_event(event, adjacency=replace).epsilon(1e-6)
    assert theirs < 1.62 and ours.lower > 40


RECORDER = """
import json
from dp_accounting import pld, rdp
import veracity as v

def recorded(accountant, name):
    theirs = accountant.get_epsilon

    def get_epsilon(self, target_delta, *rest, **more):
        found = theirs(self, target_delta, *rest, **more)
        try:
            ours = v.from_dp_event(self.ledger, adjacency=self._neighboring_relation).epsilon(target_delta)
            row = {"theirs": found, "lower": ours.lower or 0.0, "upper": ours.upper}
        except v.Error as refusal:
            row = {"theirs": found, "refusal": str(refusal)}
        row.update(by=name, event=repr(self.ledger)[:200])
        with open("recorded.jsonl", "a") as file:
            file.write(json.dumps(row) + chr(10))
        return found

    accountant.get_epsilon = get_epsilon

recorded(pld.PLDAccountant, "PLD")
recorded(rdp.RdpAccountant, "RDP")
"""


# Where ours refuses: no noise, no data or no question at all; and a mixture that is no group of records in Poisson batches.
REFUSED = re.compile(
    "NonPrivateDpEvent|noise multiplier is (0|inf)|delta is 1,|noise_parameter is 0|sample_size is 0|MixtureOfGaussiansDpEvent is no"
)


def test_dp_accounting_own_tests_ask_nothing_that_is_outside_of_ours(tmp_path):
    """Its own tests of accountants run; whatever ε they ask of an event is asked of ours too, and is at least our lower end.

    Its accountants bound from above, so an answer below our lower end would be an error of one of the two.
    """
    dp = pytest.importorskip("dp_accounting")
    folder = pathlib.Path(dp.__file__).parent
    tmp_path.joinpath("conftest.py").write_text(RECORDER)
    for name in ["pld/pld_privacy_accountant_test.py", "rdp/rdp_privacy_accountant_test.py"]:
        own = tmp_path / name.replace("/", "_")
        own.write_text(folder.joinpath(name).read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    rows = [json.loads(line) for line in tmp_path.joinpath("recorded.jsonl").read_text().splitlines()]
    answered = [row for row in rows if "lower" in row]
    below = [row for row in answered if row["theirs"] < row["lower"] * (1 - 1e-9) - 1e-12]
    assert not below, below[0]
    assert len(answered) > 250
    for row in rows:
        assert "lower" in row or REFUSED.search(row["refusal"]), row


def test_dp_accounting_own_events_are_read():
    """Every class of event that dp_accounting exports is read, or refused by its name."""
    dp = pytest.importorskip("dp_accounting")
    import inspect

    gaussian = dp.GaussianDpEvent(1.0)
    fields = {
        "event": gaussian,
        "events": [gaussian, gaussian],
        "count": 3,
        "step_counts": [4, 8],
        "sensitivities": [0.0, 1.0],
        "sampling_probs": [0.9, 0.1],
        "sampling_probability": 0.1,
        "num_buckets": 4,
        "noise_parameter": 0.5,
        "source_dataset_size": 1000,
        "dataset_size": 1000,
        "sample_size": 10,
        "truncated_batch_size": 200,
        "shape": 1.0,
        "mean": 5.0,
        "delta": 1e-6,
        "sensitivity": 1,
        "dimension": 1,
        "xi": 0.0,
    }
    refused = {"NonPrivateDpEvent", "UnsupportedDpEvent", "SampledWithReplacementDpEvent"}
    classes = [one for _, one in inspect.getmembers(dp.dp_event, inspect.isclass) if one.__name__.endswith("DpEvent")]
    classes.remove(dp.DpEvent)
    assert len(classes) == 17
    for one in classes:
        event = one(**{field.name: fields.get(field.name, 1.0) for field in one.__attrs_attrs__})
        if one.__name__ in refused:
            with pytest.raises(v.InvalidInput, match=one.__name__):
                v.from_dp_event(event)
        else:
            assert isinstance(v.from_dp_event(event), v.Mechanism), one


def test_prv_accountant_is_answered_by_its_own_names():
    prv = pytest.importorskip("prv_accountant")
    import veracity.prv as ours

    answers = []
    for library in (prv, ours):
        step = library.PoissonSubsampledGaussianMechanism(noise_multiplier=0.8, sampling_probability=5e-3)
        accountant = library.PRVAccountant(prvs=[step], max_self_compositions=[1000], eps_error=0.1, delta_error=1e-10)
        answers.append(accountant.compute_epsilon(delta=1e-6, num_self_compositions=[1000]))
    theirs, own = answers
    assert theirs[0] <= own[0] <= own[1] <= own[2] <= theirs[2]

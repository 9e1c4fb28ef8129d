"""Claims are written, read and recomputed."""

import json
import pickle

import pytest
import veracity as v

RUN = v.dp_sgd(batch_size=256, dataset_size=60_000, noise_multiplier=1.0, epochs=10, unit="user")


@pytest.fixture(scope="module")
def claim():
    return RUN.claim(delta=1e-5)


def test_a_claim_says_what_was_accounted(claim):
    assert claim.epsilon == RUN.epsilon(1e-5) and claim.delta == 1e-5
    assert claim.adjacency == "add-remove" and claim.unit == "user" and claim.method == "exact"
    assert claim.mechanism == RUN.with_adjacency("add-remove")
    assert claim.definition.startswith("For any two datasets ") and len(claim.not_covered) == 6
    assert all(lower <= upper for _, lower, upper in claim.profile) and len(claim.profile) == 33


def test_a_claim_is_saved_once_and_read_again(claim, tmp_path):
    path = tmp_path / "claim.json"
    claim.save(path)
    assert v.read_claim(path) == v.read_claim(str(path)) == v.read_claim(claim.to_json()) == claim
    assert pickle.loads(pickle.dumps(claim)) == claim and hash(v.read_claim(path)) == hash(claim)
    with pytest.raises(v.FileError) as caught:
        claim.save(path)
    assert isinstance(caught.value, OSError) and "\n" not in str(caught.value)
    assert v.read_claim(path) == claim


def test_an_honest_claim_stands(claim, tmp_path):
    path = tmp_path / "claim.json"
    claim.save(path)
    for result in [v.verify(path), v.verify(str(path)), v.verify(claim.to_json()), v.verify(claim), claim.verify()]:
        assert result and result.is_valid and all(check.holds for check in result.checks)
        assert result.checks[0].claimed == claim.epsilon.upper and result.checks[0].stated == "upper"
        assert result.assumed == [
            "the data contain at most one record per user",
            "Poisson batches: each record enters each batch independently of all others",
        ]
        assert str(result).startswith("valid: epsilon ≤ ") and result.raise_if_invalid() is None


def test_a_claim_that_promises_too_much_does_not_stand_and_raises_only_when_asked(claim):
    fields = json.loads(claim.to_json())
    fields["epsilon"]["upper"] *= 0.9
    fields["epsilon"]["lower"] = fields["epsilon"]["upper"] * 0.99
    fields["method"]["relative_width"] = 1 - fields["epsilon"]["lower"] / fields["epsilon"]["upper"]
    result = v.verify(json.dumps(fields))
    assert not result and not result.is_valid and not all(check.holds for check in result.checks)
    with pytest.raises(v.Refuted, match="^invalid: epsilon at delta 1e-5, claimed ") as caught:
        result.raise_if_invalid()
    assert isinstance(caught.value, AssertionError) and "\n" not in str(caught.value)


def test_a_claim_at_an_epsilon_promises_its_delta():
    claim = RUN.claim(epsilon=2)
    assert claim.epsilon.upper == 2 and claim.delta == RUN.delta(2).upper and v.verify(claim)
    with pytest.raises(v.InvalidInput, match="^delta and epsilon are both given"):
        RUN.claim(delta=1e-5, epsilon=2)
    with pytest.raises(v.InvalidInput, match="^method is gdp-clt, expected a method that gives an upper bound"):
        RUN.claim(delta=1e-5, method="gdp-clt")


def test_files_that_are_no_claims_are_refused(tmp_path):
    with pytest.raises(v.FileError):
        v.verify(tmp_path / "nowhere.json")
    for text in ["{}", "{", '{"schema": "veracity.claim/9"}', "\x00", ""]:
        path = tmp_path / "wrong.json"
        path.write_text(text)
        with pytest.raises(v.Error) as caught:
            v.verify(path)
        assert "\n" not in str(caught.value)
        with pytest.raises(v.Error):
            v.read_claim(path)
    with pytest.raises(TypeError):
        v.verify(3)

"""What the compiled module draws for a training: exact noise, keyed coins, places of canaries."""

import numpy as np
import pytest

import veracity as v
from veracity._veracity import _Randomness


def test_noise_has_the_same_bits_however_many_threads_draw_it():
    """And in any part: the first integers of a longer sum have the noise of a shorter one."""
    sizes = [1, 31, 32, 16_384, 16_385, 100_003]
    for size in sizes:
        drawn = []
        for threads in (1, 2, 3, 64):
            sums = np.arange(size, dtype=np.int64)
            _Randomness(7).add_noise(sums, 4, threads)
            drawn.append(sums)
        assert all(np.array_equal(drawn[0], other) for other in drawn[1:])
    long = np.zeros(100_032, dtype=np.int64)
    _Randomness(7).add_noise(long, 4, 2)
    short = np.zeros(32_768, dtype=np.int64)
    _Randomness(7).add_noise(short, 4, 2)
    assert np.array_equal(long[:32_768], short)
    other = np.zeros(32_768, dtype=np.int64)
    _Randomness(7).add_noise(other, 5, 2)
    assert (other != short).mean() > 0.99


def test_noise_is_a_rounded_normal_of_the_declared_deviation():
    """200,000 draws, seed 7: variance within 5 standard deviations (0.0032 each), and a control with 0.97× the noise that fails."""
    drawn = np.zeros(200_000, dtype=np.int64)
    _Randomness(7).add_noise(drawn, 0, 2)
    scaled = drawn / 2**20
    spread = (2 / len(drawn)) ** 0.5
    assert abs(scaled.mean()) < 5 / len(drawn) ** 0.5
    assert abs(scaled.var() - 1) < 5 * spread
    assert not abs((0.97 * scaled).var() - 1) < 5 * spread
    assert abs((scaled**4).mean() - 3) < 5 * (96 / len(drawn)) ** 0.5


def test_sums_beyond_the_ends_of_the_integers_wrap():
    sums = np.full(100, 2**63 - 1, dtype=np.int64)
    _Randomness(1).add_noise(sums, 0, 1)
    noise = np.zeros(100, dtype=np.int64)
    _Randomness(1).add_noise(noise, 0, 1)
    assert all((int(sum) - (2**63 - 1) - int(one)) % 2**64 == 0 for sum, one in zip(sums, noise))


def test_a_coin_depends_on_its_own_record_alone():
    ids = np.array([5, 0, 63, 64, 1_000_000, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)
    randomness = _Randomness(3)
    together = np.stack([randomness.chosen(ids, 0.5, step) for step in range(64)])
    alone = np.stack([[randomness.chosen(ids[at : at + 1], 0.5, step)[0] for at in range(len(ids))] for step in range(64)])
    assert np.array_equal(together, alone)
    assert len({tuple(column) for column in together.T}) == len(ids), "two records share their coins"


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
def test_records_enter_at_the_rate_and_independently(rate):
    """20,000 records and 100 steps, seed 3: six standard deviations; the control is a rate that is wrong by a twentieth."""
    ids = np.arange(20_000, dtype=np.uint64)
    chosen = np.stack([_Randomness(3).chosen(ids, rate, step) for step in range(100)])

    def off(bits, chance):
        return abs(bits.sum() - bits.size * chance) / (bits.size * chance * (1 - chance)) ** 0.5

    assert off(chosen, rate) < 6
    assert off(chosen[:, 1:] & chosen[:, :-1], rate**2) < 9, "neighbors enter together"
    assert off(chosen[1:] & chosen[:-1], rate**2) < 9, "steps repeat"
    assert not off(chosen, 1.05 * rate) < 6


def test_a_rate_of_one_takes_everyone():
    assert _Randomness(3).chosen(np.arange(1000, dtype=np.uint64), 1.0, 0).all()


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, float("nan")])
def test_a_rate_out_of_range_is_refused(rate):
    with pytest.raises(v.InvalidInput):
        _Randomness(3).chosen(np.arange(10, dtype=np.uint64), rate, 0)


def test_canaries_have_different_places_with_both_signs_and_fair_coins():
    places, signs = _Randomness(9).places(1000, 4000)
    assert len(set(places)) == 1000 and places.min() >= 0 and places.max() < 4000
    assert 400 < signs.sum() < 600
    # Each quarter has a quarter of them, within five standard deviations.
    assert all(abs(count - 250) < 5 * 14 for count in np.bincount(places // 1000, minlength=4))
    everywhere, _ = _Randomness(9).places(50, 50)
    assert sorted(everywhere) == list(range(50))
    assert 400 < _Randomness(9).worlds(1000).sum() < 600
    with pytest.raises(v.InvalidInput, match="at most 50"):
        _Randomness(9).places(51, 50)


def test_the_root_resumes_the_same_bits_and_a_seed_has_none(tmp_path):
    first = _Randomness()
    again = _Randomness.resume(first.root())
    ids = np.arange(1000, dtype=np.uint64)
    assert np.array_equal(first.chosen(ids, 0.5, 3), again.chosen(ids, 0.5, 3))
    assert first.is_releasable and again.is_releasable and not _Randomness(1).is_releasable
    assert not np.array_equal(first.chosen(ids, 0.5, 3), _Randomness().chosen(ids, 0.5, 3))
    with pytest.raises(v.InvalidInput, match="pass the seed again"):
        _Randomness(1).root()
    for damaged in (b"", first.root()[:-1], first.root() + b"\0", bytes(32)):
        with pytest.raises(v.InvalidInput, match="damaged"):
            _Randomness.resume(damaged)
    path = tmp_path / "run.key"
    first.keep(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert np.array_equal(_Randomness.find(path).chosen(ids, 0.5, 3), again.chosen(ids, 0.5, 3))
    _Randomness.destroy(path)
    assert not path.exists() and _Randomness.find(path) is None
    assert "root" not in repr(first) and first.root().hex() not in repr(first)

//! Ways to draw batches: published figures, golden numbers from outside, and the order in which they must stand.

use veracity_account::{Method, Question, Shuffled, delta_at, epsilon_at};
use veracity_core::{Adjacency, GdpMu, LossDistribution, LossMasses, Mechanism};
use veracity_testkit::short::{self, count, gaussian, pure};

fn poisson(rate: f64, sigma: f64) -> Mechanism {
    let rate = short::rate(rate);
    Mechanism::PoissonSampled { rate, mechanism: Box::new(gaussian(sigma)) }
}

fn group(size: u64, mechanism: Mechanism) -> Mechanism {
    Mechanism::Group { size: count(size), mechanism: Box::new(mechanism) }
}

fn fixed_size(batch: u64, population: u64, sigma: f64) -> Mechanism {
    let mechanism = Box::new(gaussian(sigma));
    Mechanism::FixedSizeSampled { batch: count(batch), population: count(population), mechanism }
}

fn allocated(batches: u64, sigma: f64) -> Mechanism {
    Mechanism::RandomAllocation { batches: count(batches), mechanism: Box::new(gaussian(sigma)) }
}

/// Certified ε from both sides; 0 where there is no lower one.
fn epsilons(mechanism: Mechanism, adjacency: Adjacency, delta: f64, method: Method) -> (f64, f64) {
    let question = Question { mechanism, adjacency };
    let found = epsilon_at(&question, short::delta(delta), method).unwrap();
    (found.lower().map_or(0.0, |x| x.0.get()), found.upper().unwrap().0.get())
}

/// Certified δ from both sides; 0 where there is no lower one.
fn deltas(mechanism: Mechanism, adjacency: Adjacency, epsilon: f64, method: Method) -> (f64, f64) {
    let question = Question { mechanism, adjacency };
    let found = delta_at(&question, short::epsilon(epsilon), method).unwrap();
    (found.lower().map_or(0.0, |x| x.0.get()), found.upper().unwrap().0.get())
}

fn assert_holds(truth: f64, (lower, upper): (f64, f64), width: f64) {
    assert!(lower <= truth && truth <= upper, "{truth} is not in [{lower}, {upper}]");
    assert!(upper - lower <= width * upper, "[{lower}, {upper}] is wider than {width}");
}

/// # mpmath 1.4, 30 digits: the larger of P[A] − e^ε Q[A] over both directions, A beyond the root of the loss, with
/// binomial chances: make_root(l = ε) by bisection, ncdf tails
#[test]
fn one_batch_of_a_group_has_its_integral() {
    let golden = [
        (2, 0.1, 1.0, 0.3, 0.026447721607223112),
        (8, 0.01, 2.0, 0.5, 6.539901460245823e-7),
        (16, 0.2, 0.5, 3.0, 0.8163813005933706),
        (3, 0.3, 4.0, 0.05, 0.06939216248264385),
    ];
    for (size, rate, sigma, epsilon, truth) in golden {
        let found = deltas(group(size, poisson(rate, sigma)), Adjacency::AddRemove, epsilon, Method::Pld);
        assert_holds(truth, found, 1e-9);
    }
}

/// # dp_accounting 0.6.0: from_mixture_gaussian_mechanism(sigma, range(k+1), binom.pmf(range(k+1), k, q)).self_compose(T)
/// .get_epsilon_for_delta(delta), grid 1e-4. It rounds up, by a median of 1e-5
#[test]
fn groups_in_many_batches_agree_with_the_peer() {
    let peer = [
        (2, 0.01, 1.0, 100, 1e-5, 1.5295665410591701),
        (8, 0.01, 2.0, 500, 1e-6, 4.921805673251191),
        (16, 0.004, 4.0, 1000, 1e-5, 2.0904992444526833),
    ];
    for (size, rate, sigma, steps, delta, rounded_up) in peer {
        let mechanism = group(size, poisson(rate, sigma).repeated(count(steps)));
        let found = epsilons(mechanism, Adjacency::ZeroOut, delta, Method::Pld);
        assert!(found.0 <= rounded_up && rounded_up <= 1.001 * found.1, "{found:?} {rounded_up}");
        assert!(found.1 - found.0 <= 2e-4 * found.1, "{found:?}");
    }
}

#[test]
fn a_group_of_one_is_one_record_and_larger_groups_leak_more() {
    let steps = count(200);
    let one = epsilons(poisson(0.02, 1.5).repeated(steps), Adjacency::AddRemove, 1e-6, Method::Exact);
    let mut before = one;
    for size in [1, 2, 5] {
        let mechanism = group(size, poisson(0.02, 1.5)).repeated(steps);
        let found = epsilons(mechanism, Adjacency::AddRemove, 1e-6, Method::Pld);
        assert!(before.0 <= found.1, "{size}: {before:?} {found:?}");
        if size == 1 {
            assert!(one.0 <= found.1 && found.0 <= one.1, "{one:?} {found:?}");
        }
        before = found;
    }
    let all = epsilons(group(5, gaussian(1.5)).repeated(steps), Adjacency::AddRemove, 1e-6, Method::Pld);
    assert!(before.1 < all.0, "{before:?} {all:?}");
}

/// The figures of FRONTIER.md: remove 0.347457 by two grids that agree to 3e-8; Poisson batches at the same rate 0.3935.
#[test]
fn random_allocation_leaks_less_than_poisson_batches_and_more_than_nothing() {
    let found = epsilons(allocated(234, 1.0), Adjacency::AddRemove, 1e-5, Method::Pld);
    assert_holds(0.347457, found, 1e-3);
    let sampled = poisson(1.0 / 234.0, 1.0).repeated(count(234));
    let sampled = epsilons(sampled, Adjacency::AddRemove, 1e-5, Method::Exact);
    assert!((sampled.1 - 0.3935).abs() < 1e-4 && found.1 < sampled.0, "{found:?} {sampled:?}");
    // Epochs compose: ten of them leak more than one, less than ten separate deterministic passes.
    let ten = epsilons(allocated(234, 1.0).repeated(count(10)), Adjacency::AddRemove, 1e-5, Method::Pld);
    let passes = epsilons(gaussian(1.0).repeated(count(10)), Adjacency::AddRemove, 1e-5, Method::Exact);
    assert!(found.1 < ten.0 && ten.1 < passes.0, "{found:?} {ten:?} {passes:?}");
    assert!(ten.1 - ten.0 <= 2e-3 * ten.1, "{ten:?}");
}

/// Little noise, many batches, small δ: wherever the lognormals are heavy, the sides still hold what must lie between.
#[test]
fn random_allocation_stays_between_one_hidden_and_one_known_batch() {
    let cases = [(20, 0.1, 1e-5), (50, 5.0, 1e-12), (1000, 0.5, 1e-6), (3, 0.02, 1e-9), (64, 40.0, 1e-3)];
    for (batches, sigma, delta) in cases {
        let found = epsilons(allocated(batches, sigma), Adjacency::AddRemove, delta, Method::Pld);
        let known = epsilons(gaussian(sigma), Adjacency::AddRemove, delta, Method::Exact);
        assert!(found.0 <= known.1, "{batches} {sigma}: {found:?} {known:?}");
        // Telling which batch the record would be in, or not, costs a factor of at most `batches` in the ratio.
        let hidden = known.0 - (batches as f64).ln();
        assert!(found.1 >= hidden, "{batches} {sigma}: {found:?} {hidden}");
        // Below σ = 1/15 only bounds without the sums are left.
        assert!(sigma < 0.05 || found.1 - found.0 <= 2e-2 * found.1, "{batches} {sigma}: {found:?}");
    }
}

/// # dp_accounting 0.6.0: from_truncated_subsampled_gaussian_mechanism(n, q, most, sigma, neighboring_relation=…)
/// .self_compose(T).get_epsilon_for_delta(delta). Its chance for a full batch is that of the mean, ours of the worst.
#[test]
fn truncated_batches_cost_about_what_the_peer_says() {
    let peer = [
        (1000, 0.05, 70, 100, Adjacency::AddRemove, 5.501614933611102),
        (1000, 0.05, 55, 100, Adjacency::AddRemove, 11.600961593024609),
        (60000, 256.0 / 60000.0, 320, 1000, Adjacency::AddRemove, 0.7690432183741933),
        (1000, 0.05, 70, 100, Adjacency::ReplaceOne, 6.274376193291527),
        (60000, 256.0 / 60000.0, 320, 1000, Adjacency::ReplaceOne, 1.135312336827993),
    ];
    for (population, rate, most, steps, adjacency, theirs) in peer {
        let truncated = Mechanism::TruncatedPoissonSampled {
            rate: short::rate(rate),
            most: count(most),
            population: count(population),
            mechanism: Box::new(gaussian(1.0)),
        };
        let (_, found) = epsilons(truncated.repeated(count(steps)), adjacency, 1e-5, Method::Pld);
        let plain = epsilons(poisson(rate, 1.0).repeated(count(steps)), adjacency, 1e-5, Method::Pld).0;
        assert!(found >= plain, "{adjacency} {most}: {found} < {plain}");
        assert!(found / theirs > 0.85 && found / theirs < 1.15, "{adjacency} {most}: {found} {theirs}");
    }
}

/// The published mistake: under replace-one a sum moves by two contributions. dp_accounting 0.6.0's Rényi accountant takes
/// one (4.73 where 9.997 is right), for plain Gaussians and for sampling without replacement alike.
#[test]
fn a_replaced_record_counts_twice() {
    let plain = gaussian(10.0).repeated(count(100));
    let (lower, upper) = epsilons(plain.clone(), Adjacency::ReplaceOne, 1e-5, Method::Exact);
    assert!(lower > 9.99 && upper < 10.0, "[{lower}, {upper}]");
    assert!(epsilons(plain, Adjacency::ReplaceOne, 1e-5, Method::Rdp).1 >= lower);
    // With every record in the batch, sampling without replacement is the same.
    let all = fixed_size(50, 50, 10.0).repeated(count(100));
    assert!(epsilons(all, Adjacency::ReplaceOne, 1e-5, Method::Rdp).1 >= lower);
    // Half the sensitivity is half the noise away: a batch of fixed size is at least as bad as with one contribution.
    let sampled = fixed_size(100, 1000, 2.0).repeated(count(50));
    let found = epsilons(sampled.clone(), Adjacency::ReplaceOne, 1e-5, Method::Pld);
    let mistaken = epsilons(poisson(0.1, 2.0).repeated(count(50)), Adjacency::AddRemove, 1e-5, Method::Exact);
    assert!(found.0 > 1.5 * mistaken.1, "{found:?} {mistaken:?}");
    assert!(epsilons(sampled, Adjacency::ReplaceOne, 1e-5, Method::Rdp).1 >= found.0);
}

/// Under add-remove the pair of a batch of fixed size is known: the exact method and the grid agree, both sides meet.
#[test]
fn batches_of_fixed_size_are_exact_for_an_added_record() {
    let mechanism = fixed_size(100, 10_000, 2.0).repeated(count(1000));
    let exact = epsilons(mechanism.clone(), Adjacency::AddRemove, 1e-5, Method::Exact);
    let grid = epsilons(mechanism.clone(), Adjacency::AddRemove, 1e-5, Method::Pld);
    assert!(exact.0 <= grid.1 && grid.0 <= exact.1, "{exact:?} {grid:?}");
    let replaced = epsilons(mechanism, Adjacency::ReplaceOne, 1e-5, Method::Pld);
    assert!(replaced.0 >= grid.0 * (1.0 - 1e-6) && replaced.1 <= 1.5 * replaced.0, "{grid:?} {replaced:?}");
}

fn listed(first: &[(f64, f64)], infinite: f64) -> Mechanism {
    let first = LossMasses::new(first.to_vec(), infinite).unwrap();
    Mechanism::Losses { losses: LossDistribution::new(first, None).unwrap() }
}

/// A coin with odds e^ε, declared and listed; a lopsided list against the sum over all sequences.
#[test]
fn listed_losses_are_what_they_list() {
    let keep = 1.0 / (1.0 + (-0.7f64).exp());
    let coin = listed(&[(-0.7, 1.0 - keep), (0.7, keep)], 0.0).repeated(count(30));
    let declared = pure(0.7).repeated(count(30));
    let truth = epsilons(declared, Adjacency::AddRemove, 1e-6, Method::Pld);
    let found = epsilons(coin.clone(), Adjacency::AddRemove, 1e-6, Method::Pld);
    assert!(
        found.0 <= truth.1 && truth.0 <= found.1 && found.1 - found.0 < 1e-4 * found.1,
        "{found:?} {truth:?}"
    );
    let exact = epsilons(coin, Adjacency::AddRemove, 1e-6, Method::Exact);
    assert!(
        exact.0 <= truth.1 && truth.0 <= exact.1 && exact.1 - exact.0 < 1e-5 * exact.1,
        "{exact:?} {truth:?}"
    );
    // P = (0.5, 0.3, 0.2) against Q = (0.2, 0.3, 0.4), and 0.1 of Q where P has nothing.
    let (p, q) = ([0.5, 0.3, 0.2, 0.0], [0.2, 0.3, 0.4, 0.1]);
    let losses = [(-(2.0f64.ln()), 0.2), (0.0, 0.3), (2.5f64.ln(), 0.5)];
    for epsilon in [0.1, 0.8] {
        let mut twice = [0.0, 0.0];
        for (a, b) in p.iter().zip(q) {
            for (x, y) in p.iter().zip(q) {
                twice[0] += (a * x - f64::exp(epsilon) * b * y).max(0.0);
                twice[1] += (b * y - f64::exp(epsilon) * a * x).max(0.0);
            }
        }
        for method in [Method::Pld, Method::Exact] {
            let mechanism = listed(&losses, 0.0).repeated(count(2));
            let found = deltas(mechanism, Adjacency::AddRemove, epsilon, method);
            let worst = twice[0].max(twice[1]);
            assert_holds(worst, (found.0 - 1e-12, found.1 + 1e-12), 2e-4);
        }
    }
}

/// A sampled Gaussian in thousands of slices, listed: close to the law it was cut from, by either method.
#[test]
fn thousands_of_listed_losses_are_accounted() {
    let (rate, sigma, cells) = (0.1, 1.0, 4000);
    let cdf = |x: f64| veracity_core::numerics::normal::cdf(x);
    let edge = |i: u32| {
        if i == 0 {
            -40.0
        } else if i == cells {
            40.0
        } else {
            -9.0 + 19.0 * f64::from(i) / f64::from(cells)
        }
    };
    let slices = (0..cells).map(|i| {
        let (from, to) = (edge(i), edge(i + 1));
        let q = if from > 0.0 { cdf(-from) - cdf(-to) } else { cdf(to) - cdf(from) };
        let p = (1.0 - rate) * q
            + rate
                * (if from > 1.0 / sigma {
                    cdf(1.0 / sigma - from) - cdf(1.0 / sigma - to)
                } else {
                    cdf(to - 1.0 / sigma) - cdf(from - 1.0 / sigma)
                });
        ((p / q).ln(), p)
    });
    let slices: Vec<(f64, f64)> = slices.collect();
    let truth = epsilons(poisson(rate, sigma).repeated(count(50)), Adjacency::AddRemove, 1e-5, Method::Exact);
    for method in [Method::Pld, Method::Exact] {
        // Slices are a post-processing: they leak no more, and not much less.
        let found = epsilons(listed(&slices, 0.0).repeated(count(50)), Adjacency::AddRemove, 1e-5, method);
        assert!(found.0 <= truth.1 && found.1 >= 0.999 * truth.0, "{method}: {found:?} {truth:?}");
    }
}

fn shuffled(batches: u64, sigma: f64, epochs: u64) -> Shuffled {
    let noise_multiplier = short::noise(sigma);
    Shuffled { batches: count(batches), noise_multiplier, epochs: count(epochs) }
}

/// # mpmath 1.4, 40 digits: the largest over C of (1 − ncdf((C−2)/σ) ncdf(C/σ)^(T−1)) − e^ε (1 − ncdf((C−1)/σ) ncdf(C/σ)^(T−1)),
/// σ = 0.35, T = 1000: the setting of the published accountant's example
#[test]
fn one_shuffled_epoch_leaks_at_least_its_published_bound() {
    let golden = [
        (0.5, 0.7999859461940787),
        (1.0, 0.7531694922162201),
        (4.0, 0.38340710736940303),
        (8.0, 0.05006557608546237),
        (10.0, 0.010036708460114965),
    ];
    for (epsilon, published) in golden {
        let found = shuffled(1000, 0.35, 1).least_delta(short::epsilon(epsilon)).unwrap().0.get();
        let most = deltas(gaussian(0.35), Adjacency::ZeroOut, epsilon, Method::Exact).1;
        // Slices of the largest sum include the event that it exceeds C, up to the width of a slice.
        assert!(found >= published * (1.0 - 1e-4) && found <= most, "{epsilon}: {found} {published} {most}");
    }
}

/// The gap: little noise makes shuffling leak nearly as much as no shuffling, far more than the Poisson batches claimed.
#[test]
fn shuffled_epochs_leak_more_than_poisson_batches_claim() {
    let delta = short::delta(1e-6);
    let least = shuffled(10_000, 0.5, 1).least_epsilon(delta).unwrap().0.get();
    // mpmath, as above: 10.9947880321 with the best C.
    assert!(least >= 10.9947880321 * (1.0 - 1e-4), "{least}");
    let claimed = poisson(1e-4, 0.5).repeated(count(10_000));
    let claimed = epsilons(claimed, Adjacency::ZeroOut, 1e-6, Method::Exact).1;
    let most = epsilons(gaussian(0.5), Adjacency::ZeroOut, 1e-6, Method::Exact).1;
    assert!(least > 4.0 * claimed && least <= most, "{least} {claimed} {most}");
    // More epochs never leak less, and never more than as many passes in a known order.
    let mut before = 0.0;
    for epochs in [1, 2, 5] {
        let least = shuffled(100, 0.8, epochs).least_epsilon(delta).unwrap().0.get();
        let passes = gaussian(0.8).repeated(count(epochs));
        let most = epsilons(passes, Adjacency::ZeroOut, 1e-6, Method::Exact).1;
        assert!(before < least && least <= most, "{epochs}: {before} {least} {most}");
        before = least;
    }
}

/// # Reference  brute force: (1−γ)A + γP₁ against A where P₁ and A are two contributions apart
#[test]
fn a_declared_gdp_on_batches_is_every_mechanism_that_keeps_it() {
    let gdp = |mu: f64| Box::new(Mechanism::Gdp { mu: GdpMu::new(mu).unwrap() });
    let fixed = Mechanism::FixedSizeSampled { batch: count(10), population: count(100), mechanism: gdp(1.0) };
    // 6.5755 is what additive noise shows where all other records contribute the opposite.
    let found = epsilons(fixed, Adjacency::AddRemove, 1e-5, Method::Exact);
    assert!(found.0 >= 6.57 && found.1 < 6.58, "{found:?}");
    // A mechanism that publishes the size of its batch shows 0.1 of the profile of one use: 0.1 δ(1) at μ = 1/2.
    let rate = short::rate(0.1);
    let poisson = Mechanism::PoissonSampled { rate, mechanism: gdp(0.5) };
    let once = deltas(*gdp(0.5), Adjacency::ReplaceOne, 1.0, Method::Gdp);
    let found = deltas(poisson, Adjacency::ReplaceOne, 1.0, Method::Pld);
    assert!(
        found.1 >= 6.8e-4 && found.1 <= 0.1 * once.1 * 1.001 && found.0 >= 0.0999 * once.0,
        "{found:?} {once:?}"
    );
    let truncated = Mechanism::TruncatedPoissonSampled {
        rate,
        most: count(20),
        population: count(100),
        mechanism: gdp(0.5),
    };
    let question = Question { mechanism: truncated, adjacency: Adjacency::ReplaceOne };
    let refused = delta_at(&question, short::epsilon(1.0), Method::Pld).unwrap_err().to_string();
    assert!(refused.contains("truncated poisson batches of declared"), "{refused}");
}

/// A batch of everybody has another size with one record fewer.
#[test]
fn a_batch_of_everybody_is_refused_for_an_added_record() {
    let near = epsilons(fixed_size(99, 100, 1.0), Adjacency::AddRemove, 1e-5, Method::Exact);
    assert!(near.1 > 9.98, "{near:?}");
    let question = Question { mechanism: fixed_size(100, 100, 1.0), adjacency: Adjacency::AddRemove };
    let refused = epsilon_at(&question, short::delta(1e-5), Method::Exact).unwrap_err().to_string();
    assert!(refused.starts_with("batch is 100 of a population of 100"), "{refused}");
    let replaced = epsilons(fixed_size(100, 100, 1.0), Adjacency::ReplaceOne, 1e-5, Method::Exact);
    let plain = epsilons(gaussian(1.0), Adjacency::ReplaceOne, 1e-5, Method::Exact);
    assert_eq!(replaced, plain);
}

/// With 100 others at −1 and three records added at +1, 101 of the 103 that are drawn are kept: the sum moves by up to five contributions.
/// Its exact distribution, a hypergeometric mixture of Gaussians, has ε ≥ 4.317 at δ = 1e-5, and δ(1) ≥ 0.407 for one record more than
/// the 5 that a batch holds.
#[test]
fn a_truncated_batch_that_new_records_fill_is_no_plain_batch() {
    let truncated = |rate: f64, most: u64, noise: f64| Mechanism::TruncatedPoissonSampled {
        rate: short::rate(rate),
        most: count(most),
        population: count(100),
        mechanism: Box::new(gaussian(noise)),
    };
    let group = |size: u64, mechanism| Question {
        mechanism: Mechanism::Group { size: count(size), mechanism: Box::new(mechanism) },
        adjacency: Adjacency::AddRemove,
    };
    let delta = short::delta(1e-5);
    for most in [101, 102] {
        let refused = epsilon_at(&group(3, truncated(1.0, most, 5.0)), delta, Method::Exact).unwrap_err();
        assert!(refused.to_string().contains("group"), "{refused}");
    }
    // With room for all of them nothing is dropped: the sum moves by three contributions.
    let roomy = epsilon_at(&group(3, truncated(1.0, 103, 5.0)), delta, Method::Exact).unwrap();
    let plain = epsilon_at(&group(3, gaussian(5.0)), delta, Method::Exact).unwrap();
    assert_eq!(roomy.upper(), plain.upper());
    // A dataset smaller than the population fills a small batch with a larger part of its records.
    let question = Question { mechanism: truncated(1.0, 5, 1.0), adjacency: Adjacency::AddRemove };
    for method in Method::ALL {
        let found = delta_at(&question, short::epsilon(1.0), method);
        let upper = found.ok().and_then(|found| found.upper());
        assert!(upper.is_none_or(|upper| upper.0.get() >= 0.407), "{method}: {upper:?}");
    }
}

//! Golden numbers: each row is a question and its ε to 15 digits and more, computed by `golden/make_truth.py`.
//!
//! One function per CSV file gives typed rows; a row carries the [`Mechanism`] itself, ready to be asked.

use crate::sceptic::{questions::Wanted, truth::Truth};
use veracity_core::{
    Adjacency, Buckets, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Probability, SamplingRate,
    spec::KINDS,
};

/// A question, and its answer from outside.
#[derive(Debug, Clone)]
pub struct Golden {
    /// The row as it stands in the file, for messages.
    pub row: &'static str,
    /// What was done.
    pub mechanism: Mechanism,
    /// Which datasets are adjacent.
    pub adjacency: Adjacency,
    /// The δ asked.
    pub delta: Delta,
    /// The ε that goes with it, the worse of both directions, within half a unit in the last place.
    pub epsilon: f64,
    /// The ε of each direction, where the two differ and are known.
    pub directions: Option<Directions>,
}

/// The ε when a record is removed, and when one is added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Directions {
    /// P has the record, Q lacks it.
    pub remove: f64,
    /// P lacks the record, Q has it.
    pub add: f64,
}

/// Many steps of the Poisson-sampled Gaussian (and the plain Gaussian, at rate 1), add-remove.
pub fn dp_sgd() -> Vec<Golden> {
    rows(include_str!("../golden/dp_sgd.csv")).map(sampled).collect()
}

/// One to thirty rough steps of the Poisson-sampled Gaussian, add-remove.
pub fn few_steps() -> Vec<Golden> {
    rows(include_str!("../golden/few_steps.csv")).map(sampled).collect()
}

/// The Poisson-sampled Gaussian when one record is replaced.
pub fn replace_one() -> Vec<Golden> {
    rows(include_str!("../golden/replace_one.csv")).map(sampled).collect()
}

/// Repeated Laplace mechanisms.
pub fn laplace() -> Vec<Golden> {
    rows(include_str!("../golden/laplace.csv")).map(repeated_laplace).collect()
}

/// Randomized response, discrete Laplace and discrete Gaussian, repeated.
pub fn lattice() -> Vec<Golden> {
    rows(include_str!("../golden/lattice.csv")).map(lattice_row).collect()
}

/// Compositions of Laplace, Gaussian and Poisson-sampled Gaussian mechanisms, add-remove.
pub fn mixtures() -> Vec<Golden> {
    rows(include_str!("../golden/mixtures.csv")).map(mixture).collect()
}

/// A question at which the accountant was once wrong, wide or silent, and its truth to 30 digits.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The row as it stands in the file, for messages.
    pub row: &'static str,
    /// Its number in the table of issue 12.
    pub number: u32,
    /// What was done.
    pub mechanism: Mechanism,
    /// Which datasets are adjacent.
    pub adjacency: Adjacency,
    /// What is wanted.
    pub wanted: Wanted,
    /// What an answer must hold between its ends, be it ε or δ.
    pub truth: Truth,
}

/// Questions of issue 12, by `golden/faults.py` (mpmath 1.3, 60 digits).
pub fn faults() -> Vec<Fault> {
    rows(include_str!("../golden/faults.csv")).map(fault).collect()
}

/// fault,question,adjacency,wanted,at,truth
fn fault(cells: Vec<&'static str>) -> Fault {
    let at = number(cells[5]);
    Fault {
        row: cells[0],
        number: cells[1].parse().expect(PLAUSIBLE),
        mechanism: fault_mechanism(cells[2]),
        adjacency: adjacency(cells[3]),
        wanted: if cells[4] == "epsilon" { Wanted::EpsilonAt(at) } else { Wanted::DeltaAt(at) },
        truth: Truth::of_decimal(cells[6]),
    }
}

/// Such as `dp-sgd 0.1 3000.0 x100`, `sampled-pure 0.1 1.0 x100`, `laplaces 800`.
fn fault_mechanism(question: &str) -> Mechanism {
    let words: Vec<&str> = question.split([' ', 'x']).filter(|word| !word.is_empty()).collect();
    // `laplaces` and `gaussians` are lists of different parts; the formulas are those of the script, in floats.
    let list = |many: &str, part: &dyn Fn(f64) -> Mechanism| {
        Mechanism::Composed((0..many.parse().expect(PLAUSIBLE)).map(|i: u32| part(f64::from(i))).collect())
    };
    let float = |x: f64| NoiseMultiplier::new(x).expect(PLAUSIBLE);
    match words[..] {
        ["dp-sgd", q, sigma, times] => dp_sgd_mechanism(q, sigma, times),
        ["gaussian", sigma, times] => {
            Mechanism::Gaussian { noise_multiplier: noise(sigma) }.repeated(count(times))
        }
        ["sampled-pure", q, epsilon, times] => {
            let epsilon = Epsilon::new(number(epsilon)).expect(PLAUSIBLE);
            let rate = SamplingRate::new(number(q)).expect(PLAUSIBLE);
            let once = Mechanism::PoissonSampled { rate, mechanism: Box::new(Mechanism::Pure { epsilon }) };
            once.repeated(count(times))
        }
        ["randomized-response", buckets, p, times] => {
            let buckets = Buckets::new(buckets.parse().expect(PLAUSIBLE)).expect(PLAUSIBLE);
            let noise = Probability::new(number(p)).expect(PLAUSIBLE);
            Mechanism::RandomizedResponse { buckets, noise }.repeated(count(times))
        }
        ["laplaces", many] => {
            list(many, &|i| Mechanism::Laplace { noise_multiplier: float(0.37 + 0.013 * i) })
        }
        ["gaussians", many] => {
            list(many, &|i| Mechanism::Gaussian { noise_multiplier: float(20.37 + 0.13 * i) })
        }
        _ => panic!("no question {question}"),
    }
}

/// The rows of a file, without its provenance and its heading.
fn rows(file: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    file.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| {
        // The whole row goes first, for messages.
        std::iter::once(line).chain(line.split(',')).collect()
    })
}

/// kind,q,sigma,steps,delta,adjacency,epsilon,direction,epsilon_remove,epsilon_add
fn sampled(cells: Vec<&'static str>) -> Golden {
    let directions = Directions { remove: number(cells[9]), add: number(cells[10]) };
    Golden {
        row: cells[0],
        mechanism: dp_sgd_mechanism(cells[2], cells[3], cells[4]),
        adjacency: adjacency(cells[6]),
        delta: delta(cells[5]),
        epsilon: number(cells[7]),
        directions: (cells[8] != "both").then_some(directions),
    }
}

/// kind,scale,times,delta,adjacency,epsilon
fn repeated_laplace(cells: Vec<&'static str>) -> Golden {
    let once = Mechanism::Laplace { noise_multiplier: noise(cells[2]) };
    Golden {
        row: cells[0],
        mechanism: once.repeated(count(cells[3])),
        adjacency: adjacency(cells[5]),
        delta: delta(cells[4]),
        epsilon: number(cells[6]),
        directions: None,
    }
}

/// kind,first,second,times,delta,adjacency,epsilon
fn lattice_row(cells: Vec<&'static str>) -> Golden {
    let kind = KINDS.iter().find(|kind| kind.name == cells[1]).expect(PLAUSIBLE);
    let mut fields = kind.field_names();
    // The file has the buckets first, which are the second field.
    if kind.name == "randomized-response" {
        fields.reverse();
    }
    let numbers = fields.iter().zip(&cells[2..4]).map(|(field, cell)| format!(r#","{field}":{cell}"#));
    let text = format!(r#"{{"kind":"{}"{}}}"#, kind.name, numbers.collect::<String>());
    let once: Mechanism = serde_json::from_str(&text).expect(PLAUSIBLE);
    Golden {
        row: cells[0],
        mechanism: once.repeated(count(cells[4])),
        adjacency: adjacency(cells[6]),
        delta: delta(cells[5]),
        epsilon: number(cells[7]),
        directions: None,
    }
}

/// mechanism,delta,adjacency,epsilon,direction,epsilon_remove,epsilon_add
/// where mechanism is such as `laplace 10.0 x20 + dp-sgd 0.01 1.0 x600`
fn mixture(cells: Vec<&'static str>) -> Golden {
    let parts = cells[1].split(" + ").map(|part| {
        let words: Vec<&str> = part.split([' ', 'x']).filter(|word| !word.is_empty()).collect();
        match words[..] {
            ["laplace", scale, times] => {
                Mechanism::Laplace { noise_multiplier: noise(scale) }.repeated(count(times))
            }
            ["gaussian", sigma, times] => {
                Mechanism::Gaussian { noise_multiplier: noise(sigma) }.repeated(count(times))
            }
            ["dp-sgd", q, sigma, times] => dp_sgd_mechanism(q, sigma, times),
            _ => panic!("no golden part {part}"),
        }
    });
    Golden {
        row: cells[0],
        mechanism: Mechanism::Composed(parts.collect()),
        adjacency: adjacency(cells[3]),
        delta: delta(cells[2]),
        epsilon: number(cells[4]),
        directions: Some(Directions { remove: number(cells[6]), add: number(cells[7]) }),
    }
}

const PLAUSIBLE: &str = "golden files hold only legal values; a test of this crate reads them all";

fn dp_sgd_mechanism(q: &str, sigma: &str, steps: &str) -> Mechanism {
    Mechanism::sampled_gaussian(SamplingRate::new(number(q)).expect(PLAUSIBLE), noise(sigma), count(steps))
}

fn number(cell: &str) -> f64 {
    cell.parse().expect(PLAUSIBLE)
}

fn noise(cell: &str) -> NoiseMultiplier {
    NoiseMultiplier::new(number(cell)).expect(PLAUSIBLE)
}

fn count(cell: &str) -> Count {
    Count::new(cell.parse().expect(PLAUSIBLE)).expect(PLAUSIBLE)
}

fn delta(cell: &str) -> Delta {
    Delta::new(number(cell)).expect(PLAUSIBLE)
}

fn adjacency(cell: &str) -> Adjacency {
    cell.parse().expect(PLAUSIBLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_golden_row_is_a_legal_question() {
        let files = [dp_sgd(), few_steps(), replace_one(), laplace(), lattice(), mixtures()];
        for file in &files {
            assert!(file.len() >= 20, "{} rows", file.len());
            for golden in file {
                assert!(golden.epsilon > 0.0 && golden.epsilon < 1000.0, "{}", golden.row);
                if let Some(directions) = golden.directions {
                    assert_eq!(golden.epsilon, directions.remove.max(directions.add), "{}", golden.row);
                }
            }
        }
    }

    /// The rows are held against the sceptic's roads, which share nothing with the script.
    #[test]
    fn the_truths_of_the_faults_are_found_on_another_road() {
        use crate::sceptic::{
            judge::{Answer, judge},
            questions::Asked,
        };
        let faults = faults();
        assert!(faults.len() >= 15, "{} rows", faults.len());
        for fault in faults {
            let kind = "fault";
            let (mechanism, adjacency, wanted) = (fault.mechanism, fault.adjacency, fault.wanted);
            let asked = Asked { kind, mechanism, adjacency, wanted };
            let truth = fault.truth.log_low.exp().nearest();
            let just =
                |factor: f64| Answer::Between(truth * (factor - 1e-13), truth * factor + f64::MIN_POSITIVE);
            let verdict = judge(&asked, &just(1.0 + 1e-13));
            assert!(verdict.measured && verdict.misses.is_empty(), "{}: {verdict:?}", fault.row);
            if truth > 0.0 {
                assert!(!judge(&asked, &just(1.0 + 1e-9)).misses.is_empty(), "{}", fault.row);
                assert!(!judge(&asked, &just(1.0 - 1e-9)).misses.is_empty(), "{}", fault.row);
            }
        }
    }

    #[test]
    fn goldens_reproduce_numbers_known_before_them() {
        // Published by other tools or computed before this twin was written.
        let gaussian = dp_sgd().into_iter().find(|g| g.row.starts_with("dp-sgd,1.0,1.0,1,1e-5"));
        assert!((gaussian.unwrap().epsilon - 4.377_178_095_681).abs() < 1e-12);
        let mnist = dp_sgd().into_iter().find(|g| g.row.contains(",1.0,600,1e-5"));
        assert!((mnist.unwrap().epsilon - 0.577_329_032_741).abs() < 1e-12);
        let laplace = laplace().into_iter().find(|g| g.row.starts_with("laplace,10.0,100,1e-5"));
        // dp_accounting 0.6.0, grid 1e-4: its optimistic and pessimistic sides.
        let laplace = laplace.unwrap().epsilon;
        assert!(4.220_123_728_594 < laplace && laplace < 4.220_347_347_221);
        let response =
            lattice().into_iter().find(|g| g.row.starts_with("randomized-response,2,0.5,50,1e-5,replace"));
        assert!((response.unwrap().epsilon - 50.522_627_148).abs() < 1e-9);
    }
}

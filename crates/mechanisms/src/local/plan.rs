//! Which protocol has the least variance for (k, ε, n), and what a trusted curator would have had at the same ε.

use crate::local::{Domain, Kind, Odds, Protocol};
use veracity_core::{Count, Epsilon, Refusal};

/// One protocol in comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Which.
    pub kind: Kind,
    /// n·Var of the frequency of a value that hardly anyone has.
    pub noise: f64,
    /// Standard deviation of the count of such a value, in people.
    pub count_deviation: f64,
    /// What collisions of hashes may add to it at worst, when all others have one value; only for sketches.
    pub collision_deviation: f64,
    /// Bits of a report.
    pub report_bits: u32,
    /// The most that one made-up report can add to the count of a value of the liar's choice.
    pub largest_gain: f64,
}

/// Central differential privacy at the same ε: a curator counts, then adds integer Laplace noise to every count.
///
/// # Assumes  Replace-one, as for reports: a person who changes their value moves two counts by one, so the scale is 2/ε
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Central {
    /// Standard deviation of a count, whatever the number of people.
    pub count_deviation: f64,
    /// How many times larger the best local protocol's is.
    pub local_is_larger: f64,
}

/// All protocols, the least variance first.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// How many values.
    pub size: u32,
    /// The ε of a report.
    pub epsilon: Epsilon,
    /// How many people report.
    pub reports: Count,
    /// The comparison; the first is the choice.
    pub rows: Vec<Row>,
    /// The trusted curator.
    pub central: Central,
    /// Why the first is first, in one line.
    pub reason: String,
}

impl Plan {
    /// The protocol with the least variance.
    pub fn choice(&self) -> Kind {
        self.rows[0].kind
    }
}

/// Compares the protocols for `size` values, ε and `reports` people. RAPPOR is not among them: it is for people who report
/// again and again, or for values that are not known beforehand.
///
/// # Errors
/// Refuses domain sizes and ε out of range.
///
/// # Examples
///
/// ```
/// use veracity_core::{Count, Epsilon};
/// use veracity_mechanisms::local::{Kind, plan};
///
/// let (epsilon, people) = (Epsilon::new(1.0)?, Count::new(100_000)?);
/// // Randomized response is best up to 3e^ε + 2 = 10.2 values.
/// assert_eq!(plan(10, epsilon, people)?.choice(), Kind::RandomizedResponse);
/// let many = plan(1_000, epsilon, people)?;
/// assert_ne!(many.choice(), Kind::RandomizedResponse);
/// // What it costs that nobody is trusted.
/// assert!(many.central.local_is_larger > 100.0);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn plan(size: u32, epsilon: Epsilon, reports: Count) -> Result<Plan, Refusal> {
    let domain = Domain::range(size)?;
    let n = reports.as_f64();
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        // Any seed: the figures are over its draw.
        if kind == Kind::Rappor {
            continue;
        }
        let protocol = Protocol::new(kind, &domain, epsilon, 0)?;
        if let Some(chances) = protocol.chances() {
            rows.push(Row {
                kind,
                noise: chances.noise(),
                count_deviation: (n * chances.noise()).sqrt(),
                collision_deviation: worst_collisions(&protocol, n),
                report_bits: protocol.report_bits(),
                largest_gain: chances.largest_gain(1),
            });
        }
    }
    rows.sort_by(|a, b| a.noise.total_cmp(&b.noise).then(a.report_bits.cmp(&b.report_bits)));
    let central = (2.0 * geometric(epsilon)).sqrt();
    Ok(Plan {
        size,
        epsilon,
        reports,
        central: Central { count_deviation: central, local_is_larger: rows[0].count_deviation / central },
        reason: reason(size, Odds::within(epsilon)?.ratio(), &rows),
        rows,
    })
}

/// r/(1 − r)² with r = e^{−ε/2}: half the variance of integer Laplace noise of scale 2/ε.
fn geometric(epsilon: Epsilon) -> f64 {
    let half = epsilon.get() / 2.0;
    (-half).exp() / (-half).exp_m1().powi(2)
}

fn worst_collisions(protocol: &Protocol, reports: f64) -> f64 {
    match protocol {
        Protocol::Sketch(sketch) => sketch.collisions(&[0.0, reports])[0].sqrt(),
        Protocol::RandomizedResponse(_)
        | Protocol::Unary(_)
        | Protocol::LocalHashing(_)
        | Protocol::Hadamard(_)
        | Protocol::Rappor(_) => 0.0,
    }
}

/// # Reference  [WangBlockiLiJha17] (randomized response has the least variance iff k < 3 e^ε + 2)
fn reason(size: u32, odds: f64, rows: &[Row]) -> String {
    let limit = 3.0 * odds + 2.0;
    let best = &rows[0];
    match best.kind {
        Kind::RandomizedResponse => format!(
            "k = {size} is below 3e^ε + 2 = {limit:.2}, so randomized response over all values has a lower variance than reports of bits"
        ),
        kind => {
            // What a tenth of the bits would cost, if anything small does.
            let short = rows.iter().find(|row| row.report_bits * 10 <= best.report_bits);
            let aside = short.map_or(String::new(), |row| {
                format!(
                    "; {} needs {} bits per report instead of {}, with {:.1}% more variance",
                    row.kind.name(),
                    row.report_bits,
                    best.report_bits,
                    100.0 * (row.noise / best.noise - 1.0)
                )
            });
            format!(
                "k = {size} is not below 3e^ε + 2 = {limit:.2}, so {} has a lower variance than randomized response{aside}",
                kind.name()
            )
        }
    }
}

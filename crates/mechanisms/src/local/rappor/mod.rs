//! Full RAPPOR: a Bloom filter, a permanent randomisation that is remembered, and a fresh one for each report.
//!
//! A client belongs to a cohort, which chooses the hash functions. The Bloom filter of a text is randomised once and kept in
//! a [`Memo`]; each report randomises the memo again. However many reports are sent about one text, they reveal no more than
//! the memo does. The server debiases the bits of each cohort and solves for the candidates by least squares (`decode`).

mod decode;

use crate::local::{BitRow, Coin, Domain, Odds, Report, domain};
use decode::Decoder;
use std::{collections::BTreeMap, sync::Arc};
use veracity_core::{Epsilon, Probability, Refusal};
use veracity_noise::{Bits, exact::uniform_below};

/// The sizes and the fresh noise of RAPPOR.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RapporSettings {
    /// Bits of the Bloom filter.
    pub bits: u32,
    /// Hash functions, each of which sets a bit.
    pub hashes: u32,
    /// Cohorts.
    pub cohorts: u32,
    /// Probability that a report has a one where the memo has a zero.
    pub zero_shows: Probability,
    /// Probability that a report has a one where the memo has a one.
    pub one_shows: Probability,
}

impl RapporSettings {
    /// 128 bits, 2 hashes, 8 cohorts, 1/2 and 3/4.
    ///
    /// # Reference  \[ErlingssonPihurKorolova14\] (its experiments)
    pub fn usual() -> RapporSettings {
        let probability = |p| Probability::new(p).expect("one half and three quarters are probabilities");
        RapporSettings {
            bits: 128,
            hashes: 2,
            cohorts: 8,
            zero_shows: probability(0.5),
            one_shows: probability(0.75),
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        if !(1..=4096).contains(&self.bits) {
            return Err(Refusal::out_of_range("bloom bits", self.bits, "1 ≤ bits ≤ 4096"));
        }
        if !(1..=16).contains(&self.hashes) {
            return Err(Refusal::out_of_range("bloom hashes", self.hashes, "1 ≤ hashes ≤ 16"));
        }
        if !(1..=1024).contains(&self.cohorts) {
            return Err(Refusal::out_of_range("cohorts", self.cohorts, "1 ≤ cohorts ≤ 1024"));
        }
        if !(self.zero_shows.get() < self.one_shows.get()) {
            return Err(Refusal::out_of_range(
                "one reported as one",
                self.one_shows,
                "more than the probability that a zero is reported as one",
            ));
        }
        Ok(())
    }
}

/// RAPPOR with a list of candidates.
///
/// # Promise    Any number of reports about one text has a likelihood ratio of at most e^{ε∞},
///   ε∞ = 2 hashes · ln((1 − f/2)/(f/2)), where f/2 is the probability that the permanent bit is wrong; f is chosen for the ε∞ given
/// # Reference  \[ErlingssonPihurKorolova14\]
/// # Assumes    For the estimates, that the hashes (a fixed 64-bit mixer of text, cohort and number) spread candidates like
///   random functions, that each client draws its cohort at random, and that each sent one report. Privacy needs none of
///   this. Each further text of a client costs ε∞ again.
///
/// # Examples
///
/// Reports about one text, however many, cost one ε:
///
/// ```
/// use veracity_core::Epsilon;
/// use veracity_mechanisms::local::{Domain, Rappor, RapporSettings};
/// use veracity_noise::{Entropy, Key, Purpose};
///
/// let sites = Domain::categories(vec!["a.example".into(), "b.example".into(), "c.example".into()])?;
/// let rappor = Rappor::new(&sites, Epsilon::new(2.0)?, RapporSettings::usual())?;
/// assert!(rappor.one_report_epsilon() < rappor.epsilon().get());
///
/// let mut bits = Entropy::system()?.stream(Purpose::Report, Key::default());
/// let mut memo = rappor.memo(&mut bits);
/// rappor.report("a.example", &mut memo, &mut bits);
/// let permanent = memo.permanent("a.example").cloned();
/// rappor.report("a.example", &mut memo, &mut bits);
/// // The permanent bits are drawn once.
/// assert_eq!(memo.permanent("a.example"), permanent.as_ref());
/// assert_eq!(memo.texts(), 1);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Rappor {
    domain: Domain,
    epsilon: Epsilon,
    settings: RapporSettings,
    /// Probability that a permanent bit is wrong: f/2.
    wrong: Coin,
    zero_shows: Coin,
    one_shows: Coin,
    decoder: Arc<Decoder>,
}

impl Rappor {
    /// Candidates, the lifetime ε∞ of one text, and sizes. Refused when candidates cannot be told apart.
    ///
    /// # Errors
    /// Refuses sizes and ε out of range, and candidates that cannot be distinguished.
    pub fn new(candidates: &Domain, epsilon: Epsilon, settings: RapporSettings) -> Result<Self, Refusal> {
        settings.check()?;
        // Two texts differ in at most `hashes` bits each, so in 2 × hashes.
        let wrong = Coin::against(Odds::share(epsilon, 2 * settings.hashes)?);
        Ok(Rappor {
            domain: candidates.clone(),
            epsilon,
            settings,
            wrong,
            zero_shows: Coin::nearest(settings.zero_shows),
            one_shows: Coin::nearest(settings.one_shows),
            decoder: Arc::new(Decoder::new(candidates, &settings)?),
        })
    }

    /// The candidates.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// How many candidates.
    pub fn size(&self) -> u32 {
        self.domain.size()
    }

    /// ε∞: for all reports about one text together.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The sizes.
    pub fn settings(&self) -> RapporSettings {
        self.settings
    }

    /// f: probability that a permanent bit is drawn independently of the value.
    pub fn permanent_noise(&self) -> f64 {
        2.0 * self.wrong.chance()
    }

    /// The ε of the first report alone: hashes · ln(q* (1 − p*) / (p* (1 − q*))), to the nearest.
    pub fn one_report_epsilon(&self) -> f64 {
        let (zero, one) = self.shown();
        f64::from(self.settings.hashes) * (one * (1.0 - zero) / (zero * (1.0 - one))).ln()
    }

    /// p* and q*: the probabilities that a report has a one where the Bloom filter has a zero, or a one.
    pub(crate) fn shown(&self) -> (f64, f64) {
        let (wrong, right) = (self.wrong.chance(), self.wrong.complement().chance());
        let (zero, one) = (self.zero_shows.chance(), self.one_shows.chance());
        (right * zero + wrong * one, right * one + wrong * zero)
    }

    /// A new client: draws its cohort.
    pub fn memo(&self, bits: &mut impl Bits) -> Memo {
        let cohort = uniform_below(u128::from(self.settings.cohorts), bits) as u32;
        Memo { cohort, permanent: BTreeMap::new() }
    }

    /// A report on any text, candidate or not. The permanent bits are drawn the first time and found in the memo ever after.
    pub fn report(&self, text: &str, memo: &mut Memo, bits: &mut impl Bits) -> Report {
        let cohort = memo.cohort;
        let permanent = memo.permanent.entry(text.to_owned()).or_insert_with(|| {
            let truth = bloom(text.as_bytes(), cohort, &self.settings);
            let flips = truth.words().iter().map(|word| word ^ self.wrong.toss_64(bits));
            BitRow::new(self.settings.bits, flips)
        });
        let shown = permanent.words().iter().map(|word| {
            let (zeros, ones) = (self.zero_shows.toss_64(bits), self.one_shows.toss_64(bits));
            word & ones | !word & zeros
        });
        Report::Cohort { cohort, row: BitRow::new(self.settings.bits, shown) }
    }

    /// One report of a client that will send no other.
    ///
    /// # Errors
    /// Refuses a value outside of the domain.
    pub fn encode(&self, value: u32, bits: &mut impl Bits) -> Result<Report, Refusal> {
        domain::check_place(value, self.domain.size())?;
        let mut memo = self.memo(bits);
        Ok(self.report(&self.domain.name(value), &mut memo, bits))
    }

    /// P(first report | value).
    pub fn likelihood(&self, value: u32, report: &Report) -> f64 {
        match report {
            Report::Cohort { cohort, row } if self.fits(report) => {
                let (zero, one) = self.shown();
                let truth = bloom(self.domain.name(value).as_bytes(), *cohort, &self.settings);
                let bits = (0..row.len()).map(|place| {
                    let shows = if truth.bit(place) { one } else { zero };
                    if row.bit(place) { shows } else { 1.0 - shows }
                });
                bits.product::<f64>() / f64::from(self.settings.cohorts)
            }
            _ => 0.0,
        }
    }

    pub(crate) fn fits(&self, report: &Report) -> bool {
        matches!(report, Report::Cohort { cohort, row }
            if *cohort < self.settings.cohorts && row.len() == self.settings.bits)
    }

    /// For each cohort its bits, and then its number of reports.
    pub(crate) fn cells(&self) -> usize {
        self.settings.cohorts as usize * (self.settings.bits as usize + 1)
    }

    pub(crate) fn absorb(&self, reports: &[Report], counts: &mut [i64]) {
        let bits = self.settings.bits as usize;
        for report in reports {
            if let Report::Cohort { cohort, row } = report {
                let cells = &mut counts[*cohort as usize * (bits + 1)..][..bits + 1];
                for (place, cell) in (0..).zip(&mut cells[..bits]) {
                    *cell += i64::from(row.bit(place));
                }
                cells[bits] += 1;
            }
        }
    }

    pub(crate) fn decoder(&self) -> &Decoder {
        &self.decoder
    }
}

/// What a client remembers: its cohort, and the permanent bits of each text it has reported. The caller stores it. It is
/// nearly as telling as the texts themselves: it holds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memo {
    cohort: u32,
    permanent: BTreeMap<String, BitRow>,
}

impl Memo {
    /// The client's cohort.
    pub fn cohort(&self) -> u32 {
        self.cohort
    }

    /// How many texts it has reported, each of which cost ε∞.
    pub fn texts(&self) -> usize {
        self.permanent.len()
    }

    /// The permanent bits of a text, if it was reported.
    pub fn permanent(&self, text: &str) -> Option<&BitRow> {
        self.permanent.get(text)
    }

    /// Texts with their permanent bits in hexadecimal, to be stored.
    pub fn entries(&self) -> impl Iterator<Item = (&str, String)> {
        self.permanent.iter().map(|(text, row)| (text.as_str(), row.to_hex()))
    }

    /// A memo from what was stored; refused if it does not fit the protocol.
    ///
    /// # Errors
    /// Refuses what does not fit the protocol.
    pub fn restore<'a>(
        rappor: &Rappor,
        cohort: u32,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Memo, Refusal> {
        if cohort >= rappor.settings.cohorts {
            return Err(Refusal::out_of_range("cohort", cohort, "less than the number of cohorts"));
        }
        let entries = entries
            .into_iter()
            .map(|(text, hex)| Ok((text.to_owned(), BitRow::from_hex(rappor.settings.bits, hex)?)));
        Ok(Memo { cohort, permanent: entries.collect::<Result<_, Refusal>>()? })
    }
}

/// The Bloom filter of a text in a cohort.
fn bloom(text: &[u8], cohort: u32, settings: &RapporSettings) -> BitRow {
    let mut filter = BitRow::zeros(settings.bits);
    for number in 0..settings.hashes {
        let start = mix(u64::from(cohort) << 32 | u64::from(number));
        let hash = text.iter().fold(start, |state, byte| mix(state ^ u64::from(*byte)));
        // Uniform up to bits/2^32.
        filter.set(((u64::from(settings.bits) * (hash >> 32)) >> 32) as u32, true);
    }
    filter
}

/// A bijection of 64 bits that sends close numbers far apart.
///
/// # Reference  [SteeleLeaFlood14] (the finaliser of SplitMix)
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python 3.11, with M = 2^64 − 1 and mix as above:
    /// s = mix(cohort << 32 | number); for b in text.encode(): s = mix(s ^ b); bits * (s >> 32) >> 32
    #[test]
    fn bloom_filters_are_part_of_the_format() {
        let places = |text: &str, cohort, bits, hashes| -> Vec<u32> {
            let settings = RapporSettings { bits, hashes, ..RapporSettings::usual() };
            let filter = bloom(text.as_bytes(), cohort, &settings);
            (0..bits).filter(|place| filter.bit(*place)).collect()
        };
        assert_eq!(places("anna", 0, 128, 2), [39, 115]);
        assert_eq!(places("anna", 7, 128, 2), [39, 69]);
        assert_eq!(places("", 3, 100, 3), [3, 31, 50]);
        assert_eq!(places("ß", 1, 128, 2), [44, 102]);
    }
}

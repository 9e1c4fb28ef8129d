//! The report format: JSON lines, a header that says what is asked and how, then one report on each line.
//!
//! | protocol | fields of a report |
//! |---|---|
//! | grr | `value` |
//! | sue, oue | `bits`: hexadecimal, the first value the lowest bit of the first pair of digits |
//! | olh | `seed`: 16 hexadecimal digits; `cell` |
//! | hadamard | `row`, `sign`: 1 or -1 |
//! | cms | `function`, `bits` |
//! | hcms | `function`, `row`, `sign` |
//! | rappor | `cohort`, `bits` |
//! | mean | `number` |
//!
//! The header has `schema`, `protocol`, `epsilon`; `size` or `categories`; and `sketch`, `rappor` or `range` where the
//! protocol has more to say. Unknown and missing fields are refused.
//!
//! All reports of a survey are written in lines of one length, with spaces at the end: the length of what a client sends says
//! nothing. Reading does not panic on any bytes (`tests/local_lines.rs`), and a refusal names the line and what is wrong with it,
//! but repeats nothing of it.

use crate::local::{
    BitRow, CellNoise, Domain, Kind, Mean, Protocol, Rappor, RapporSettings, Report, ReportShape, Sketch,
};
use serde::{Deserialize, Serialize};
use veracity_core::{Epsilon, Probability, Refusal};

/// The name and version of the format.
pub const SCHEMA: &str = "veracity.local/1";

/// What client and server agree on.
///
/// # Examples
///
/// The header and reports as lines, from a client to the server:
///
/// ```
/// use veracity_core::Epsilon;
/// use veracity_mechanisms::local::{Domain, Kind, Protocol, Reader, Survey};
/// use veracity_noise::{Entropy, Key, Purpose};
///
/// let survey = Survey::frequency(Domain::range(100)?, Kind::Hadamard, Epsilon::new(1.0)?, 0)?;
/// let Survey::Frequency { protocol, .. } = &survey else { unreachable!() };
/// let mut bits = Entropy::system()?.stream(Purpose::Report, Key::default());
/// let mut lines = survey.header();
/// for value in [7, 99] {
///     lines += &format!("\n{}", survey.line(&protocol.encode(value, &mut bits)?));
/// }
///
/// let reader = Reader::new(lines.as_bytes())?;
/// assert_eq!(reader.survey(), &survey);
/// let mut tally = protocol.tally();
/// for report in reader {
///     tally.absorb(&[report?])?;
/// }
/// assert_eq!(tally.reports(), 2);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Survey {
    /// How many people have each value.
    Frequency {
        /// The values.
        domain: Domain,
        /// How they are reported.
        protocol: Protocol,
    },
    /// The mean of a number.
    Mean(Mean),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    schema: String,
    protocol: String,
    epsilon: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    categories: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sketch: Option<SketchPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rappor: Option<RapporPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<RangePart>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SketchPart {
    width: u32,
    functions: u32,
    seed: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RapporPart {
    bits: u32,
    hashes: u32,
    cohorts: u32,
    zero_shows: f64,
    one_shows: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RangePart {
    lower: f64,
    upper: f64,
    shape: String,
}

/// One report; which fields are there depends on the protocol.
#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cohort: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sign: Option<i8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
}

const MEAN: &str = "mean";

impl Survey {
    /// A survey of categories.
    ///
    /// # Errors
    /// As [`Protocol::new`].
    pub fn frequency(domain: Domain, kind: Kind, epsilon: Epsilon, seed: u64) -> Result<Survey, Refusal> {
        let protocol = Protocol::new(kind, &domain, epsilon, seed)?;
        Ok(Survey::Frequency { domain, protocol })
    }

    /// The first line.
    pub fn header(&self) -> String {
        let plain = |protocol: &str, epsilon: Epsilon| Header {
            schema: SCHEMA.into(),
            protocol: protocol.into(),
            epsilon: epsilon.get(),
            size: None,
            categories: None,
            sketch: None,
            rappor: None,
            range: None,
        };
        let header = match self {
            Survey::Frequency { domain, protocol } => Header {
                size: domain.names().is_none().then_some(domain.size()),
                categories: domain.names().map(<[String]>::to_vec),
                sketch: sketch_part(protocol),
                rappor: rappor_part(protocol),
                ..plain(protocol.name(), protocol.epsilon())
            },
            Survey::Mean(mean) => Header {
                range: Some(RangePart {
                    lower: mean.lower(),
                    upper: mean.upper(),
                    shape: shape_name(mean.shape()).into(),
                }),
                ..plain(MEAN, mean.epsilon())
            },
        };
        serde_json::to_string(&header).expect("strings and finite numbers are always JSON")
    }

    /// Reads a header.
    ///
    /// # Errors
    /// Refuses what is not a header of this schema, or has parameters that its protocol refuses.
    pub fn from_header(line: &str) -> Result<Survey, Refusal> {
        let header: Header = serde_json::from_str(line).map_err(|error| broken(1, &error, "a header"))?;
        if header.schema != SCHEMA {
            return Err(Refusal::Invalid(format!(
                "line 1: the schema is not {SCHEMA}; give a file of reports that veracity wrote"
            )));
        }
        let epsilon = Epsilon::new(header.epsilon)?;
        if header.protocol == MEAN {
            return match header {
                Header {
                    range: Some(range),
                    size: None,
                    categories: None,
                    sketch: None,
                    rappor: None,
                    ..
                } => {
                    let shape = shape_named(&range.shape)?;
                    Mean::shaped(range.lower, range.upper, epsilon, shape).map(Survey::Mean)
                }
                _ => Err(mismatch(MEAN)),
            };
        }
        let kind = Kind::named(&header.protocol)?;
        let domain = match (header.size, header.categories, header.range) {
            (Some(size), None, None) => Domain::range(size)?,
            (None, Some(names), None) => Domain::categories(names)?,
            _ => return Err(mismatch(kind.name())),
        };
        let protocol = protocol_from(kind, &domain, epsilon, header.sketch, header.rappor)?;
        Ok(Survey::Frequency { domain, protocol })
    }

    /// A report as a line, as long as that of every other report.
    pub fn line(&self, report: &Report) -> String {
        let sign = |negative: bool| Some(if negative { -1 } else { 1 });
        let line = match report {
            Report::Value(value) => Line { value: Some(*value), ..Line::default() },
            Report::Bits(row) => Line { bits: Some(row.to_hex()), ..Line::default() },
            Report::Hashed { seed, cell } => {
                Line { seed: Some(format!("{seed:016x}")), cell: Some(*cell), ..Line::default() }
            }
            Report::Sign { row, negative } => {
                Line { row: Some(*row), sign: sign(*negative), ..Line::default() }
            }
            Report::SketchBits { function, row } => {
                Line { function: Some(*function), bits: Some(row.to_hex()), ..Line::default() }
            }
            Report::SketchSign { function, row, negative } => {
                Line { function: Some(*function), row: Some(*row), sign: sign(*negative), ..Line::default() }
            }
            Report::Cohort { cohort, row } => {
                Line { cohort: Some(*cohort), bits: Some(row.to_hex()), ..Line::default() }
            }
            Report::Number(place) => Line { number: Some(*place), ..Line::default() },
        };
        let line = serde_json::to_string(&line).expect("strings and integers are always JSON");
        line + &" ".repeat(self.padding(report))
    }

    /// How many letters a report is shorter than the longest: only its whole numbers and its sign can be.
    fn padding(&self, report: &Report) -> usize {
        let digits = |x: u32| x.checked_ilog10().unwrap_or(0) as usize;
        let short = |x: u32, values: u32| digits(values.saturating_sub(1)).saturating_sub(digits(x));
        let plus = |negative: bool| usize::from(!negative);
        match (self, report) {
            (Survey::Frequency { protocol, .. }, report) => match (protocol, report) {
                (Protocol::RandomizedResponse(response), Report::Value(value)) => {
                    short(*value, response.size())
                }
                (Protocol::LocalHashing(hashing), Report::Hashed { cell, .. }) => {
                    short(*cell, hashing.cells())
                }
                (Protocol::Hadamard(hadamard), Report::Sign { row, negative }) => {
                    short(*row, hadamard.rows()) + plus(*negative)
                }
                (Protocol::Sketch(sketch), Report::SketchBits { function, .. }) => {
                    short(*function, sketch.functions())
                }
                (Protocol::Sketch(sketch), Report::SketchSign { function, row, negative }) => {
                    short(*function, sketch.functions()) + short(*row, sketch.width()) + plus(*negative)
                }
                (Protocol::Rappor(rappor), Report::Cohort { cohort, .. }) => {
                    short(*cohort, rappor.settings().cohorts)
                }
                // Rows of bits are all of one length; what does not fit the protocol is left as it is.
                _ => 0,
            },
            (Survey::Mean(mean), Report::Number(place)) => short(*place, mean.places()),
            (Survey::Mean(_), _) => 0,
        }
    }

    /// Reads a report from the line with this number.
    ///
    /// # Errors
    /// Refuses what is not a report of this survey. The message does not repeat it.
    pub fn report(&self, number: u64, line: &str) -> Result<Report, Refusal> {
        let name = self.name();
        let parsed: Line = serde_json::from_str(line).map_err(|error| broken(number, &error, "a report"))?;
        let report = parsed
            .report(self.row_length())
            .map_err(|refusal| Refusal::Invalid(format!("line {number}: {refusal}")))?;
        let fits = match self {
            Survey::Frequency { protocol, .. } => protocol.fits(&report),
            Survey::Mean(mean) => mean.fits(&report),
        };
        if fits {
            Ok(report)
        } else {
            Err(Refusal::Invalid(format!("line {number}: the report does not fit the protocol {name}")))
        }
    }

    /// The ε of one report; of all reports on one value for RAPPOR.
    pub fn epsilon(&self) -> Epsilon {
        match self {
            Survey::Frequency { protocol, .. } => protocol.epsilon(),
            Survey::Mean(mean) => mean.epsilon(),
        }
    }

    /// The name of the protocol.
    pub fn name(&self) -> &'static str {
        match self {
            Survey::Frequency { protocol, .. } => protocol.name(),
            Survey::Mean(_) => MEAN,
        }
    }

    /// How many bits a row of a report has.
    fn row_length(&self) -> u32 {
        match self {
            Survey::Frequency { protocol: Protocol::Unary(unary), .. } => unary.size(),
            Survey::Frequency { protocol: Protocol::Sketch(sketch), .. } => sketch.width(),
            Survey::Frequency { protocol: Protocol::Rappor(rappor), .. } => rappor.settings().bits,
            Survey::Frequency { .. } | Survey::Mean(_) => 0,
        }
    }
}

impl Line {
    /// The report with exactly these fields.
    fn report(self, row_length: u32) -> Result<Report, Refusal> {
        let bits = |hex: &str| BitRow::from_hex(row_length, hex);
        let Line { value, seed, cell, function, cohort, row, sign, bits: hex, number } = self;
        let negative = match sign {
            None | Some(1) => false,
            Some(-1) => true,
            Some(_) => return Err(Refusal::Invalid("the sign is neither 1 nor -1".into())),
        };
        let hex = hex.as_deref();
        match (value, seed, cell, function, cohort, row, sign, hex, number) {
            (Some(value), None, None, None, None, None, None, None, None) => Ok(Report::Value(value)),
            (None, None, None, None, None, None, None, Some(hex), None) => Ok(Report::Bits(bits(hex)?)),
            (None, Some(seed), Some(cell), None, None, None, None, None, None) => {
                Ok(Report::Hashed { seed: seed_from(&seed)?, cell })
            }
            (None, None, None, None, None, Some(row), Some(_), None, None) => {
                Ok(Report::Sign { row, negative })
            }
            (None, None, None, Some(function), None, None, None, Some(hex), None) => {
                Ok(Report::SketchBits { function, row: bits(hex)? })
            }
            (None, None, None, Some(function), None, Some(row), Some(_), None, None) => {
                Ok(Report::SketchSign { function, row, negative })
            }
            (None, None, None, None, Some(cohort), None, None, Some(hex), None) => {
                Ok(Report::Cohort { cohort, row: bits(hex)? })
            }
            (None, None, None, None, None, None, None, None, Some(place)) => Ok(Report::Number(place)),
            _ => Err(Refusal::Invalid("no protocol has a report with these fields".into())),
        }
    }
}

fn protocol_from(
    kind: Kind,
    domain: &Domain,
    epsilon: Epsilon,
    sketch: Option<SketchPart>,
    rappor: Option<RapporPart>,
) -> Result<Protocol, Refusal> {
    let noise = match kind {
        Kind::Sketch => Some(CellNoise::Symmetric),
        Kind::HadamardSketch => Some(CellNoise::Hadamard),
        _ => None,
    };
    match (noise, sketch, rappor) {
        (Some(noise), Some(part), None) => {
            let seed = seed_from(&part.seed)?;
            let sketch = Sketch::new(domain.size(), epsilon, noise, part.width, part.functions, seed)?;
            Ok(Protocol::Sketch(sketch))
        }
        (None, None, Some(part)) if kind == Kind::Rappor => {
            let settings = RapporSettings {
                bits: part.bits,
                hashes: part.hashes,
                cohorts: part.cohorts,
                zero_shows: Probability::new(part.zero_shows)?,
                one_shows: Probability::new(part.one_shows)?,
            };
            Ok(Protocol::Rappor(Rappor::new(domain, epsilon, settings)?))
        }
        (None, None, None) if kind != Kind::Rappor => Protocol::new(kind, domain, epsilon, 0),
        _ => Err(mismatch(kind.name())),
    }
}

fn sketch_part(protocol: &Protocol) -> Option<SketchPart> {
    let Protocol::Sketch(sketch) = protocol else { return None };
    Some(SketchPart {
        width: sketch.width(),
        functions: sketch.functions(),
        seed: format!("{:016x}", sketch.seed()),
    })
}

fn rappor_part(protocol: &Protocol) -> Option<RapporPart> {
    let Protocol::Rappor(rappor) = protocol else { return None };
    let settings = rappor.settings();
    Some(RapporPart {
        bits: settings.bits,
        hashes: settings.hashes,
        cohorts: settings.cohorts,
        zero_shows: settings.zero_shows.get(),
        one_shows: settings.one_shows.get(),
    })
}

fn shape_name(shape: ReportShape) -> &'static str {
    match shape {
        ReportShape::OneBit => "one-bit",
        ReportShape::Window => "window",
    }
}

fn shape_named(name: &str) -> Result<ReportShape, Refusal> {
    [ReportShape::OneBit, ReportShape::Window]
        .into_iter()
        .find(|shape| shape_name(*shape) == name)
        .ok_or_else(|| Refusal::Invalid("line 1: the shape is neither one-bit nor window".into()))
}

/// Sixteen lower-case hexadecimal digits.
fn seed_from(hex: &str) -> Result<u64, Refusal> {
    let lower = hex.len() == 16 && hex.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    match u64::from_str_radix(hex, 16) {
        Ok(seed) if lower => Ok(seed),
        _ => Err(Refusal::Invalid("the seed is not 16 lower-case hexadecimal digits".into())),
    }
}

fn mismatch(name: &str) -> Refusal {
    Refusal::Invalid(format!("line 1: the header does not have the fields of protocol {name}"))
}

/// What is wrong with a line. The parser's own words may repeat what it read, so they are not used.
fn broken(number: u64, error: &serde_json::Error, expected: &str) -> Refusal {
    let what = if error.is_data() { "has wrong fields for" } else { "is not JSON; expected" };
    Refusal::Invalid(format!("line {number}: {what} {expected} (near column {})", error.column()))
}

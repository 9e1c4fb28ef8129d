//! All protocols for categories behind one door, for those who choose at run time.

use crate::local::{
    BitRow, CellNoise, Chances, Domain, Hadamard, LocalHashing, RandomizedResponse, Rappor, RapporSettings,
    Sketch, Tally, Unary, UnaryKind,
};
use veracity_core::{Epsilon, Mechanism, Refusal};
use veracity_noise::Bits;

/// What a client sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// A value, perhaps the true one.
    Value(u32),
    /// A bit for each value.
    Bits(BitRow),
    /// A cell under the client's own hash function.
    Hashed {
        /// The function.
        seed: u64,
        /// The cell.
        cell: u32,
    },
    /// A sign in a row of the Hadamard matrix.
    Sign {
        /// The row.
        row: u32,
        /// Whether the sign is said to be negative.
        negative: bool,
    },
    /// A bit for each cell of a function of the pool.
    SketchBits {
        /// The function.
        function: u32,
        /// The bits.
        row: BitRow,
    },
    /// A sign in a row, for a function of the pool.
    SketchSign {
        /// The function.
        function: u32,
        /// The row.
        row: u32,
        /// Whether the sign is said to be negative.
        negative: bool,
    },
    /// The bits of a Bloom filter.
    Cohort {
        /// The client's cohort.
        cohort: u32,
        /// The bits.
        row: BitRow,
    },
    /// A place on the scale of a number.
    Number(u32),
}

/// Which protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// k-ary randomized response.
    RandomizedResponse,
    /// Symmetric unary encoding.
    SymmetricUnary,
    /// Optimised unary encoding.
    OptimisedUnary,
    /// Optimised local hashing.
    LocalHashing,
    /// One-bit Hadamard response.
    Hadamard,
    /// Count-mean sketch.
    Sketch,
    /// Hadamard count-mean sketch.
    HadamardSketch,
    /// RAPPOR with Bloom filter and memory.
    Rappor,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 8] = [
        Kind::RandomizedResponse,
        Kind::SymmetricUnary,
        Kind::OptimisedUnary,
        Kind::LocalHashing,
        Kind::Hadamard,
        Kind::Sketch,
        Kind::HadamardSketch,
        Kind::Rappor,
    ];

    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::RandomizedResponse => "grr",
            Kind::SymmetricUnary => "sue",
            Kind::OptimisedUnary => "oue",
            Kind::LocalHashing => "olh",
            Kind::Hadamard => "hadamard",
            Kind::Sketch => "cms",
            Kind::HadamardSketch => "hcms",
            Kind::Rappor => "rappor",
        }
    }

    /// The kind of a name.
    ///
    /// # Errors
    /// Refuses other names.
    pub fn named(name: &str) -> Result<Kind, Refusal> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            Refusal::out_of_range("protocol", name, "grr, sue, oue, olh, hadamard, cms, hcms or rappor")
        })
    }
}

/// A protocol with its parameters.
///
/// # Examples
///
/// Whatever the value, no report is more than e^ε times likelier than under another:
///
/// ```
/// use veracity_core::Epsilon;
/// use veracity_mechanisms::local::{Domain, Kind, Protocol};
/// use veracity_noise::{Entropy, Key, Purpose};
///
/// let (domain, epsilon) = (Domain::range(8)?, Epsilon::new(1.0)?);
/// let mut bits = Entropy::seeded(1).stream(Purpose::Report, Key::default());
/// for kind in [Kind::RandomizedResponse, Kind::OptimisedUnary, Kind::LocalHashing, Kind::Hadamard] {
///     let protocol = Protocol::new(kind, &domain, epsilon, 0)?;
///     let report = protocol.encode(3, &mut bits)?;
///     let likelihoods = (0..8).map(|value| protocol.likelihood(value, &report));
///     let (least, most) = likelihoods.fold((1.0, 0.0), |(l, m): (f64, f64), x| (l.min(x), m.max(x)));
///     assert!(most <= least * 1f64.exp() * (1.0 + 1e-12), "{}", kind.name());
/// }
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Protocol {
    /// k-ary randomized response.
    RandomizedResponse(RandomizedResponse),
    /// A unary encoding.
    Unary(Unary),
    /// Optimised local hashing.
    LocalHashing(LocalHashing),
    /// One-bit Hadamard response.
    Hadamard(Hadamard),
    /// A count-mean sketch.
    Sketch(Sketch),
    /// RAPPOR with Bloom filter and memory.
    Rappor(Rappor),
}

/// The same expression for every protocol.
macro_rules! each {
    ($self:expr, $protocol:ident => $what:expr) => {
        match $self {
            Protocol::RandomizedResponse($protocol) => $what,
            Protocol::Unary($protocol) => $what,
            Protocol::LocalHashing($protocol) => $what,
            Protocol::Hadamard($protocol) => $what,
            Protocol::Sketch($protocol) => $what,
            Protocol::Rappor($protocol) => $what,
        }
    };
}

pub(super) use each;

impl Protocol {
    /// A protocol of a kind with its usual sizes. `seed` is public and names the hash functions of a sketch, to be drawn at
    /// random for each survey; others do not read it.
    ///
    /// # Errors
    /// Refuses domain sizes and ε out of range, and RAPPOR on candidates that cannot be distinguished.
    pub fn new(kind: Kind, domain: &Domain, epsilon: Epsilon, seed: u64) -> Result<Protocol, Refusal> {
        let size = domain.size();
        let unary = |kind| Unary::new(size, epsilon, kind).map(Protocol::Unary);
        let sketch = |noise| Sketch::new(size, epsilon, noise, 1024, 1024, seed).map(Protocol::Sketch);
        match kind {
            Kind::RandomizedResponse => {
                RandomizedResponse::new(size, epsilon).map(Protocol::RandomizedResponse)
            }
            Kind::SymmetricUnary => unary(UnaryKind::Symmetric),
            Kind::OptimisedUnary => unary(UnaryKind::Optimised),
            Kind::LocalHashing => LocalHashing::new(size, epsilon).map(Protocol::LocalHashing),
            Kind::Hadamard => Hadamard::new(size, epsilon).map(Protocol::Hadamard),
            Kind::Sketch => sketch(CellNoise::Symmetric),
            Kind::HadamardSketch => sketch(CellNoise::Hadamard),
            Kind::Rappor => Rappor::new(domain, epsilon, RapporSettings::usual()).map(Protocol::Rappor),
        }
    }

    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Protocol::RandomizedResponse(_) => Kind::RandomizedResponse,
            Protocol::Unary(unary) => match unary.kind() {
                UnaryKind::Symmetric => Kind::SymmetricUnary,
                UnaryKind::Optimised => Kind::OptimisedUnary,
            },
            Protocol::LocalHashing(_) => Kind::LocalHashing,
            Protocol::Hadamard(_) => Kind::Hadamard,
            Protocol::Sketch(sketch) => match sketch.noise() {
                CellNoise::Symmetric => Kind::Sketch,
                CellNoise::Hadamard => Kind::HadamardSketch,
            },
            Protocol::Rappor(_) => Kind::Rappor,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// How many values.
    pub fn size(&self) -> u32 {
        each!(self, protocol => protocol.size())
    }

    /// The ε of one report; of all reports on one value for RAPPOR.
    pub fn epsilon(&self) -> Epsilon {
        each!(self, protocol => protocol.epsilon())
    }

    /// What a client sends about the value at a place of the domain. A value outside is refused without being named.
    ///
    /// # Errors
    /// Refuses a value outside of the domain.
    pub fn encode(&self, value: u32, bits: &mut impl Bits) -> Result<Report, Refusal> {
        each!(self, protocol => protocol.encode(value, bits))
    }

    /// P(report | value).
    pub fn likelihood(&self, value: u32, report: &Report) -> f64 {
        each!(self, protocol => protocol.likelihood(value, report))
    }

    /// Whether a report can have come from this protocol.
    pub fn fits(&self, report: &Report) -> bool {
        each!(self, protocol => protocol.fits(report))
    }

    /// What one report costs the person who sends it (all reports on one value, for RAPPOR), under replace-one.
    ///
    /// # Errors
    /// Refuses more buckets than a mechanism of randomized response has.
    pub fn mechanism(&self) -> Result<Mechanism, Refusal> {
        match self {
            Protocol::RandomizedResponse(protocol) => protocol.mechanism(),
            other => Ok(Mechanism::Pure { epsilon: other.epsilon() }),
        }
    }

    /// The chances of support; none for RAPPOR, whose bits are shared by candidates.
    pub fn chances(&self) -> Option<Chances> {
        match self {
            Protocol::RandomizedResponse(protocol) => Some(protocol.chances()),
            Protocol::Unary(protocol) => Some(protocol.chances()),
            Protocol::LocalHashing(protocol) => Some(protocol.chances()),
            Protocol::Hadamard(protocol) => Some(protocol.chances()),
            Protocol::Sketch(protocol) => Some(protocol.chances()),
            Protocol::Rappor(_) => None,
        }
    }

    /// The exact variance of the estimated count at a place when `holders` people have each value, over all that is random:
    /// noise, hash functions, cohorts. The people are fixed.
    pub fn variance(&self, place: u32, holders: &[f64]) -> f64 {
        if let Protocol::Rappor(protocol) = self {
            return protocol.decoder().variance(place as usize, holders, protocol.shown());
        }
        let collisions = match self {
            Protocol::Sketch(protocol) => protocol.collisions(holders)[place as usize],
            _ => 0.0,
        };
        let independent = |chances: Chances| chances.variance(holders[place as usize], holders.iter().sum());
        self.chances().map_or(0.0, independent) + collisions
    }

    /// Bits of information a report is written with, at the least.
    pub fn report_bits(&self) -> u32 {
        let index = |count: u32| u32::BITS - (count - 1).leading_zeros();
        match self {
            Protocol::RandomizedResponse(protocol) => index(protocol.size()),
            Protocol::Unary(protocol) => protocol.size(),
            Protocol::LocalHashing(protocol) => 64 + index(protocol.cells()),
            Protocol::Hadamard(protocol) => index(protocol.rows()) + 1,
            Protocol::Sketch(protocol) => {
                let function = index(protocol.functions());
                match protocol.noise() {
                    CellNoise::Symmetric => function + protocol.width(),
                    CellNoise::Hadamard => function + index(protocol.width()) + 1,
                }
            }
            Protocol::Rappor(protocol) => index(protocol.settings().cohorts) + protocol.settings().bits,
        }
    }

    /// A tally of no reports.
    pub fn tally(&self) -> Tally {
        Tally::new(self.clone())
    }
}

//! What the table of kinds says of each kind. The table itself is in `spec`; `MechanismSpec` is made from the same rows.

use super::{LossesSpec, MechanismSpec, ParticipationSpec, StrategySpec, Whole};

/// One kind of mechanism.
///
/// # Examples
///
/// ```
/// use veracity_core::spec::KINDS;
///
/// let kind = KINDS.iter().find(|kind| kind.name == "discrete-laplace").unwrap();
/// assert_eq!(kind.field_names(), ["scale", "sensitivity"]);
/// assert_eq!(kind.noise().map(|noise| noise.field), Some("scale"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    /// Its name, as in `kind = "…"`.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
    /// What it is, and what of its fields may be left out.
    pub means: &'static str,
    /// What the accountant takes it for: the pair of distributions, or the bound.
    pub pair: &'static str,
    /// Under which adjacencies.
    pub adjacency: &'static str,
    /// When to use it.
    pub when: &'static str,
    /// What else Python's docstring says.
    pub note: &'static str,
    /// Its form on the web page, for kinds that the page offers.
    pub form: Option<Form>,
}

/// One field of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name in files and in Python.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether it may be left out.
    pub is_optional: bool,
    /// Whether files that we write always have it: also with the usual value, where it was left out.
    pub is_written: bool,
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A number.
    Number,
    /// A whole number.
    Whole,
    /// A list of numbers.
    Numbers,
    /// Another mechanism.
    Mechanism,
    /// A list of mechanisms.
    Mechanisms,
    /// A table, by the name of its schema.
    Table(&'static str),
}

/// A number that the command line and the page ask for: the same words wherever a kind has the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag {
    /// Its name on the command line, without the dashes.
    pub name: &'static str,
    /// The field.
    pub field: &'static str,
    /// The kind that alone has it, where other kinds have a field of this name and no flag for it.
    pub only_for: Option<&'static str>,
    /// What stands for the number in help.
    pub value_name: &'static str,
    /// The line of help.
    pub help: &'static str,
    /// The label on the page.
    pub label: &'static str,
    /// What calibration leaves it out for: `noise`, `steps` or `sampling-rate`.
    pub solved: Option<&'static str>,
}

/// What the web page shows of a kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Form {
    /// Its name in the list.
    pub label: &'static str,
    /// The line below it.
    pub hint: &'static str,
    /// Its name on a button.
    pub short: &'static str,
    /// Its usual adjacency, where that is not add-remove.
    pub adjacency: Option<&'static str>,
    /// Its sliders: field, ends of the slider, and where it starts. `times` is one where the kind may be repeated.
    pub sliders: &'static [Slider],
    /// What else a field starts at when it appears.
    pub start: Option<(&'static str, &'static str)>,
    /// What calibration can find for it.
    pub solves: &'static [&'static str],
}

/// A slider: field, lower end, upper end, and where it starts.
pub type Slider = (&'static str, f64, f64, &'static str);

impl Kind {
    /// A row without words.
    pub(super) const BLANK: Kind =
        Kind { name: "", fields: &[], means: "", pair: "", adjacency: "", when: "", note: "", form: None };

    /// The names of its fields.
    pub fn field_names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|field| field.name).collect()
    }

    /// Whether it has a field of this name.
    pub fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|known| known.name == field)
    }

    /// The flag for a field, if the command line has one.
    pub fn flag(&self, field: &str) -> Option<&'static Flag> {
        let is_it = |flag: &&Flag| {
            flag.field == field && flag.only_for.is_none_or(|kind| kind == self.name) && self.has(field)
        };
        super::FLAGS.iter().find(is_it)
    }

    /// The flag of the number that says how much noise there is, where that is one number.
    pub fn noise(&self) -> Option<&'static Flag> {
        let flags = self.fields.iter().filter_map(|field| self.flag(field.name));
        flags.filter(|flag| flag.solved == Some("noise")).min_by_key(|flag| flag.field != "noise_multiplier")
    }
}

/// What the type of a field says of it.
pub(super) trait Shaped {
    const SHAPE: Shape;
    const IS_OPTIONAL: bool = false;

    /// Whether it is not written to files.
    fn is_left_out(&self) -> bool {
        false
    }
}

impl Shaped for f64 {
    const SHAPE: Shape = Shape::Number;
}

impl Shaped for Whole {
    const SHAPE: Shape = Shape::Whole;
}

impl Shaped for Vec<f64> {
    const SHAPE: Shape = Shape::Numbers;
}

impl Shaped for Box<MechanismSpec> {
    const SHAPE: Shape = Shape::Mechanism;
}

impl Shaped for Vec<MechanismSpec> {
    const SHAPE: Shape = Shape::Mechanisms;
}

impl Shaped for StrategySpec {
    const SHAPE: Shape = Shape::Table("strategy");
}

impl Shaped for ParticipationSpec {
    const SHAPE: Shape = Shape::Table("participation");
}

impl Shaped for LossesSpec {
    const SHAPE: Shape = Shape::Table("losses");
}

impl<T: Shaped> Shaped for Option<T> {
    const SHAPE: Shape = T::SHAPE;
    const IS_OPTIONAL: bool = true;

    fn is_left_out(&self) -> bool {
        self.is_none()
    }
}

/// Makes [`MechanismSpec`] and [`KINDS`](super::KINDS) from one row for each kind.
macro_rules! kinds {
    ($(
        $variant:ident $name:literal {
            $($field:ident: $type:ty $(= $usual:literal)?;)*
        } is {
            $($word:ident: $text:expr,)*
        }
    )*) => {
        /// A mechanism as written. Fields that may be left out have another one that says the same in other units.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        #[allow(missing_docs)] // Each field is named as in core's Mechanism, which documents it.
        pub enum MechanismSpec {
            $($variant {
                $(
                    $(#[serde(default = $usual)])?
                    #[serde(skip_serializing_if = "Shaped::is_left_out")]
                    $field: $type,
                )*
            },)*
        }

        /// Every kind that a plan may list.
        #[allow(clippy::needless_update)] // A row may name every word.
        pub const KINDS: &[Kind] = &[$(
            Kind {
                name: $name,
                fields: &[$(Field {
                    name: stringify!($field),
                    shape: <$type as Shaped>::SHAPE,
                    is_optional: <$type as Shaped>::IS_OPTIONAL $(|| !$usual.is_empty())?,
                    is_written: !<$type as Shaped>::IS_OPTIONAL,
                },)*],
                $($word: $text,)*
                ..Kind::BLANK
            },
        )*];

        impl MechanismSpec {
            /// The name of its kind.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(MechanismSpec::$variant { .. } => $name,)*
                }
            }
        }
    };
}
pub(super) use kinds;

//! A query as it was written, before any name has a meaning. What has no place here cannot be asked.

/// A query: all that can be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Select {
    /// What is asked for.
    pub items: Vec<Item>,
    /// Of which tables.
    pub from: Vec<From>,
    /// Of which rows.
    pub filter: Option<Expr>,
    /// By what.
    pub group_by: Vec<Expr>,
    /// Which of the noisy answers are shown.
    pub having: Option<Expr>,
    /// In which order.
    pub order_by: Vec<(Expr, Direction)>,
    /// How many at most.
    pub limit: Option<u64>,
}

/// One thing that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub expr: Expr,
    pub alias: Option<String>,
    /// As it is written.
    pub text: String,
}

/// A table, and how it is joined to those before it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct From {
    pub table: Name,
    pub alias: Option<String>,
    /// None for the first table.
    pub join: Option<(JoinKind, Expr)>,
}

/// Which rows a join keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Those with a partner.
    Inner,
    /// All of the left table.
    Left,
}

/// From small to large, or the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From small to large.
    Ascending,
    /// From large to small.
    Descending,
}

/// A name; in quotes its case matters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Name {
    pub text: String,
    pub quoted: bool,
}

impl Name {
    /// Whether it means this.
    pub(crate) fn is(&self, other: &str) -> bool {
        if self.quoted { self.text == other } else { self.text.eq_ignore_ascii_case(other) }
    }

    /// In one line, for a refusal.
    pub(crate) fn shown(&self) -> String {
        self.text.chars().filter(|c| !c.is_control()).take(60).collect()
    }
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// A column, with its table where one is named.
    Column(Option<Name>, Name),
    Number(f64),
    Text(String),
    Null,
    Boolean(bool),
    Negated(Box<Expr>),
    Arithmetic(Operator, Box<Expr>, Box<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    In {
        expr: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    Between {
        expr: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    Not(Box<Expr>),
    /// All of them.
    And(Vec<Expr>),
    /// Any of them.
    Or(Vec<Expr>),
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// A function of arguments.
    Call {
        name: String,
        distinct: bool,
        arguments: Vec<Expr>,
    },
    /// `COUNT(*)`.
    CountAll,
}

/// What arithmetic does. Division is not there: it would fail, or tell, where the data are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// +
    Add,
    /// −
    Subtract,
    /// ×
    Multiply,
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// =
    Equal,
    /// <>
    Unequal,
    /// <
    Less,
    /// <=
    AtMost,
    /// >
    More,
    /// >=
    AtLeast,
}

impl Comparison {
    /// As SQL writes it.
    pub fn sign(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::Unequal => "<>",
            Comparison::Less => "<",
            Comparison::AtMost => "<=",
            Comparison::More => ">",
            Comparison::AtLeast => ">=",
        }
    }

    /// Whether it holds of two values in this order.
    pub fn holds<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        match self {
            Comparison::Equal => a == b,
            Comparison::Unequal => a != b,
            Comparison::Less => a < b,
            Comparison::AtMost => a <= b,
            Comparison::More => a > b,
            Comparison::AtLeast => a >= b,
        }
    }
}

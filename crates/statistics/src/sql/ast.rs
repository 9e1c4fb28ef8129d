//! A query as it was written, before any name has a meaning. What has no place here cannot be asked.

use veracity_core::printable;

/// A query: all that can be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Select {
    /// What `WITH` calls queries before it.
    pub named: Vec<Name>,
    /// What is asked for.
    pub items: Vec<Item>,
    /// Of which tables.
    pub from: Vec<From>,
    /// Of which rows.
    pub filter: Option<Expr>,
    /// By what.
    pub group_by: Vec<Expr>,
    /// Each `ROLLUP`, `CUBE` and `GROUPING SETS`, as its sets of keys.
    pub grouping_sets: Vec<Vec<Vec<Expr>>>,
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
    /// A table of the catalog, unless it is a query.
    pub table: Name,
    /// The query whose rows it has, in place of a table.
    pub query: Option<Box<Select>>,
    /// Of a table in a subquery that only filters: which of its rows there are, by the alias.
    pub filter: Option<Expr>,
    /// Of such a table: the columns that the subquery selects; none for `*`.
    pub selected: Option<Vec<Name>>,
    pub alias: Option<String>,
    /// None for the first table.
    pub join: Option<Join>,
}

impl From {
    /// A table of this name.
    pub(crate) fn of(table: Name) -> From {
        From { table, query: None, filter: None, selected: None, alias: None, join: None }
    }
}

/// How a table is joined, as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Join {
    pub side: Side,
    pub on: On,
}

/// Of which side of a join all rows are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Neither,
    Left,
    Right,
}

/// Which rows of two tables are partners.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum On {
    Condition(Expr),
    /// Those that have the same in columns of these names.
    Using(Vec<Name>),
}

/// Which rows a join keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Those with a partner.
    Inner,
    /// All of the left table.
    Left,
}

/// The order of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // As SQL names them.
pub enum Direction {
    Ascending,
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
        printable(&self.text, 60)
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
    /// `LIKE`, or `ILIKE`, which takes no notice of the case of ASCII letters.
    Like {
        expr: Box<Expr>,
        pattern: String,
        any_case: bool,
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
    /// Whether the rows of a query have it.
    InQuery {
        expr: Box<Expr>,
        query: Box<Select>,
        negated: bool,
    },
    /// Whether a query has a row.
    Exists(Box<Select>),
    /// All columns, in a query inside of another.
    Star,
    /// A function of arguments.
    Call {
        name: String,
        distinct: bool,
        arguments: Vec<Expr>,
    },
    /// `COUNT(*)`.
    CountAll,
}

/// An operation on two numbers. Rows are divided by a constant alone: by data, it would fail where they are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // As arithmetic names them.
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // `sign` says how SQL writes them.
pub enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
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

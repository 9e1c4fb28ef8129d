//! How large units are, before any cap: in how many groups each is, and how many rows it has where it has most. And how many rows the caps
//! leave out.

use crate::sql::{
    Plan, Row, Source, Statement,
    bound::{group_by, list},
    compile::Compiler,
};
use veracity_core::{Count, Refusal};

/// The caps that can be chosen.
pub(crate) const CANDIDATES: [u64; 10] = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500];
/// How many times the rows that count one unit can add to the number of rows that are left out.
pub(crate) const CUT: u64 = 3;

/// How many units fit each of the caps that can be chosen, and none before it; and how many fit none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sizes {
    /// By the largest number of rows in a group.
    pub rows: Vec<i64>,
    /// By the number of groups.
    pub groups: Vec<i64>,
}

/// The place of a number on the list; one beyond where it fits none.
pub(crate) fn place(number: u64) -> usize {
    CANDIDATES.iter().position(|cap| number <= *cap).unwrap_or(CANDIDATES.len())
}

impl Sizes {
    /// No unit.
    pub(crate) fn none() -> Sizes {
        Sizes { rows: vec![0; CANDIDATES.len() + 1], groups: vec![0; CANDIDATES.len() + 1] }
    }

    /// From the rows of both statements: a place, and how many units have it.
    ///
    /// # Errors
    /// Refuses rows that are not those of the statements.
    pub(crate) fn of(statements: &[Vec<Row>]) -> Result<Sizes, Refusal> {
        let mut sizes = Sizes::none();
        let [rows, groups] = statements else { return Err(odd()) };
        for (found, counts) in [(rows, &mut sizes.rows), (groups, &mut sizes.groups)] {
            for row in found {
                let [place, number] = row.numbers[..] else { return Err(odd()) };
                *usize::try_from(place).ok().and_then(|place| counts.get_mut(place)).ok_or_else(odd)? +=
                    number;
            }
        }
        Ok(sizes)
    }
}

/// How many rows of one unit can be in the number of rows that are left out.
///
/// # Errors
/// Refuses plans whose rows are left out by other caps than those of groups.
pub(crate) fn most_cut(plan: &Plan) -> Result<Count, Refusal> {
    let is_other = |source: &Source| source.per_unit.is_some() || source.most.is_some();
    if plan.every.is_some() || !plan.others.is_empty() || plan.sources.iter().any(is_other) {
        return Err(Refusal::invalid(
            "count_cut counts rows of one grouping, not of subqueries, joins of private tables, ROLLUP, CUBE, GROUPING SETS or \
             every; remove count_cut",
        ));
    }
    let rows = plan.caps.rows.get().saturating_mul(plan.caps.groups.get());
    Count::new(rows.saturating_mul(CUT))
}

fn odd() -> Refusal {
    Refusal::invalid(
        "internal error: the engine returned other sizes than the query asks for; please report the query",
    )
}

impl Compiler<'_> {
    /// Pairs of a unit and a group, with how many rows they have as n.
    fn sized_pairs(&self) -> Result<String, Refusal> {
        let pair = self.pair_names();
        let shown = list(pair.iter().cloned());
        Ok(format!("SELECT {shown}, COUNT(*) AS n FROM ({}) AS base{}", self.base()?, group_by(&pair)))
    }

    /// The statements of sizes: by rows, then by groups.
    pub(crate) fn sizes(&self) -> Result<Vec<Statement>, Refusal> {
        let pairs = self.sized_pairs()?;
        let of_units = group_by(&self.unit_names());
        let statement = |size: &str| {
            let places: String = CANDIDATES
                .iter()
                .enumerate()
                .map(|(at, cap)| format!(" WHEN {size} <= {cap} THEN {at}"))
                .collect();
            let units = format!("SELECT MAX(n) AS r, COUNT(*) AS g FROM ({pairs}) AS pairs{of_units}");
            let sql = format!(
                "SELECT {}, {} FROM (SELECT CASE{places} ELSE {} END AS b FROM ({units}) AS units) AS placed GROUP BY b",
                self.dialect.bigint("b"),
                self.dialect.bigint("COUNT(*)"),
                CANDIDATES.len()
            );
            Statement { sql: self.dialect.guarded(sql, 0, 2), keys: 0, numbers: 2, is_of_sums: false }
        };
        Ok(vec![statement("r"), statement("g")])
    }

    /// The statement of rows that the caps leave out, of one unit so many at most.
    pub(crate) fn cut(&self, most: u64) -> Result<Statement, Refusal> {
        let (unit, rows) = (list(self.unit_names().into_iter()), self.most_rows());
        let pairs = self.sized_pairs()?;
        let groups = self.plan.caps.groups.get();
        // The same groups count as in the statement of the sums: those of the least hashes, where there are too many.
        let ranked = match self.caps_groups() {
            false => format!("SELECT {unit}, n, 1 AS g FROM ({pairs}) AS pairs"),
            true => {
                let keys = list(self.key_names().into_iter());
                format!(
                    "SELECT {unit}, n, ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY CASE WHEN m > {groups} THEN {} END, {keys}) AS g \
                     FROM (SELECT {unit}, {keys}, n, COUNT(*) OVER (PARTITION BY {unit}) AS m FROM ({pairs}) AS pairs) AS counted",
                    self.hash_of_pair()
                )
            }
        };
        let counted = format!("CASE WHEN g > {groups} THEN 0 WHEN n < {rows} THEN n ELSE {rows} END");
        let sql = format!(
            "SELECT {} FROM (SELECT SUM(n - {counted}) AS d FROM ({ranked}) AS ranked{}) AS each_unit",
            self.dialect.bigint(&format!("COALESCE(SUM(CASE WHEN d < {most} THEN d ELSE {most} END), 0)")),
            group_by(&self.unit_names())
        );
        Ok(Statement { sql, keys: 0, numbers: 1, is_of_sums: true })
    }
}

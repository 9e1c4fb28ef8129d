//! The caps of a plan in one pass over its rows, for an engine that keeps no table of a statement.
//!
//! Such an engine would read the rows again wherever a statement names them, some ten times where pairs are joined to their units
//! (`bound.rs`). Here every step is a window over what the step before gave: the rows of a pair are counted and put in order, the groups
//! of a unit are counted and ranked. The same rows count, by the same hashes, and nothing is hashed that is within its cap.

use crate::sql::{Statement, bound::group_by, compile::Compiler, spread};
use veracity_core::Refusal;

impl Compiler<'_> {
    /// The statement of all sums.
    pub(crate) fn sums_in_one_pass(&self) -> Result<Statement, Refusal> {
        let (keys, sums) = (self.key_names(), self.summands());
        // Where no number is summed it does not matter which rows of a pair count, but how many.
        let of_pairs = !sums.iter().any(|summand| summand.is_of_rows());
        let counted = if of_pairs { self.pairs_that_count()? } else { self.rows_that_count()? };
        let total = |at: usize| {
            let value = if of_pairs { self.of_pair(sums[at], at, &[]) } else { self.of_row(sums[at]) };
            self.dialect.bigint(&format!("COALESCE(SUM({value}), 0)"))
        };
        let shown: Vec<String> = keys.iter().cloned().chain((0..sums.len()).map(total)).collect();
        let sql = format!("SELECT {} FROM ({counted}) AS counted{}", shown.join(", "), group_by(&keys));
        Ok(Statement { sql, keys: keys.len(), numbers: sums.len(), is_of_sums: true })
    }

    /// The statement that counts the values of an input.
    pub(crate) fn tally_in_one_pass(&self, input: usize) -> Result<Statement, Refusal> {
        let keys = self.key_names();
        let shown: Vec<String> = keys.iter().cloned().chain([format!("q{input}")]).collect();
        let sql = format!(
            "SELECT {}, {} FROM ({}) AS counted WHERE q{input} IS NOT NULL{}",
            shown.join(", "),
            self.dialect.bigint("COUNT(*)"),
            self.rows_that_count()?,
            group_by(&shown)
        );
        Ok(Statement { sql, keys: keys.len(), numbers: 2, is_of_sums: false })
    }

    /// Pairs within the cap on groups, with how many rows they have as n.
    fn pairs_that_count(&self) -> Result<String, Refusal> {
        let pair = self.pair_names();
        let shown = format!("{}, COUNT(*) AS n", pair.join(", "));
        let pairs = format!("SELECT {shown} FROM ({}) AS base{}", self.base()?, group_by(&pair));
        Ok(self.within_groups(pairs, "n", "COUNT(*)"))
    }

    /// Rows within both caps, with their numbers, and with their turned place in the pair as x.
    fn rows_that_count(&self) -> Result<String, Refusal> {
        let pair = self.pair_names().join(", ");
        let inputs: String = self.input_names().iter().map(|name| format!(", {name}")).collect();
        let placed = format!(
            "SELECT {pair}{inputs}, COUNT(*) OVER (PARTITION BY {pair}) AS n, {} AS p FROM ({}) AS base",
            self.place(),
            self.base()?
        );
        let hash = self.dialect.first_bits(&self.hash_of_pair());
        let key = format!("CASE WHEN n > {} THEN {hash} ELSE 0 END", self.most_rows());
        let turned = spread::turned("p", "n", &key);
        let rows = format!(
            "SELECT {pair}{inputs}, x FROM (SELECT {pair}{inputs}, n, {turned} AS x FROM ({placed}) AS placed) AS turned \
             WHERE {}",
            self.is_counted()
        );
        // Each pair has one row that is turned to place 0, and it counts.
        let pairs = "SUM(CASE WHEN x = 0 THEN 1 ELSE 0 END)";
        Ok(self.within_groups(rows, &format!("x{inputs}"), pairs))
    }

    /// What is left of pairs or of their rows where each unit keeps as many groups as count, those of the least ranks. `others` are
    /// the columns beside the pair, `pairs` is how many pairs some rows of a unit hold.
    fn within_groups(&self, rows: String, others: &str, pairs: &str) -> String {
        if !self.caps_groups() {
            return rows;
        }
        let (unit, keys) = (self.unit_names().join(", "), self.key_names().join(", "));
        let (most, hash) = (self.plan.caps.groups.get(), self.hash_of_pair());
        let shown = format!("{unit}, {keys}, {others}");
        let counted = format!("SELECT {shown}, {pairs} OVER (PARTITION BY {unit}) AS m FROM ({rows}) AS few");
        let ranked = format!(
            "SELECT {shown}, DENSE_RANK() OVER (PARTITION BY {unit} ORDER BY CASE WHEN m > {most} THEN {hash} END, {keys}) AS g \
             FROM ({counted}) AS spread"
        );
        format!("SELECT {shown} FROM ({ranked}) AS chosen WHERE g <= {most}")
    }
}

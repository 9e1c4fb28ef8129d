//! The caps of a plan, in SQL: how much of one unit counts.
//!
//! Rows that count are counted and summed for each unit and group first: a pair. A unit that is in more groups than its cap keeps
//! those of the least hashes; a pair with more rows than its cap keeps as many as count, at even distances (`spread.rs`); nothing is
//! chosen of the others, and their sums stand. What is chosen rests on SHA-256 over a secret of this query, so that nobody can arrange
//! which rows of a person count, and on nothing of other units. Ties of groups are broken by the keys themselves, so that a unit is in
//! no more groups than its cap even where hashes are equal. Rows that tie have the same integers, and so the sums are the same
//! whichever of them counts.

use crate::sql::{Statement, Summand, compile::Compiler, dialect::Times, spread};
use veracity_core::Refusal;

impl Compiler<'_> {
    /// The statement of all sums.
    pub(crate) fn sums(&self) -> Result<Statement, Refusal> {
        let keys = self.key_names();
        let sums = self.summands();
        let named = |value: String, at: usize| format!("{value} AS x{at}");
        let of_rows: Vec<usize> = (0..sums.len()).filter(|at| sums[*at].is_of_rows()).collect();
        let mut extra = Vec::new();
        for at in &of_rows {
            extra.push((self.of_few_rows(sums[*at]), format!("s{at}")));
        }
        let mut tables = self.tables(&extra)?;
        let of_pairs =
            sums.iter().enumerate().map(|(at, summand)| named(self.of_pair(*summand, at, &of_rows), at));
        let kept = self.kept_name();
        let mut counted = format!("SELECT {} FROM {kept}", list(keys.iter().cloned().chain(of_pairs)));
        if !of_rows.is_empty() {
            tables += &self.above();
            let of_row = sums.iter().enumerate().map(|(at, summand)| named(self.of_row(*summand), at));
            counted = format!(
                "{counted} WHERE n <= {} UNION ALL SELECT {} FROM ({}) AS turned WHERE {}",
                self.most_rows(),
                list(keys.iter().cloned().chain(of_row)),
                self.rows_of_many(),
                self.is_counted()
            );
        }
        let totals = (0..sums.len()).map(|at| self.dialect.bigint(&format!("COALESCE(SUM(x{at}), 0)")));
        let sql = format!(
            "{tables} SELECT {} FROM ({counted}) AS counted{}",
            list(keys.iter().cloned().chain(totals)),
            group_by(&keys)
        );
        Ok(Statement { sql, keys: keys.len(), numbers: sums.len(), is_of_sums: true })
    }

    /// What is summed. A query of quantiles alone still has groups.
    pub(crate) fn summands(&self) -> &[Summand] {
        if self.plan.sums.is_empty() { &[Summand::Rows] } else { &self.plan.sums }
    }

    /// The statement that counts the values of an input.
    pub(crate) fn tally(&self, input: usize) -> Result<Statement, Refusal> {
        let keys = self.key_names();
        let grouped: Vec<String> = keys.iter().cloned().chain([format!("q{input}")]).collect();
        let shown = grouped.join(", ");
        let sql = format!(
            "{}{} SELECT {shown}, {} FROM (SELECT {shown} FROM {} UNION ALL SELECT {shown} FROM ({}) AS turned WHERE {}) \
             AS counted WHERE q{input} IS NOT NULL{}",
            self.tables(&[])?,
            self.above(),
            self.dialect.bigint("COUNT(*)"),
            self.rows_of_few(),
            self.rows_of_many(),
            self.is_counted(),
            group_by(&grouped)
        );
        Ok(Statement { sql, keys: keys.len(), numbers: 2, is_of_sums: false })
    }

    /// The tables of a statement: rows that count, pairs of a unit and a group, and pairs within the cap on groups. `extra` is what
    /// else is summed for each pair, with its name.
    fn tables(&self, extra: &[(String, String)]) -> Result<String, Refusal> {
        let of_pair = self.pair_names();
        let summed = extra.iter().map(|(what, name)| format!("{what} AS {name}"));
        let (base, pairs) = (self.name("rows"), self.name("pairs"));
        let counted = format!(
            "SELECT {} FROM {base}{}",
            list(of_pair.iter().cloned().chain(["COUNT(*) AS n".to_owned()]).chain(summed)),
            group_by(&of_pair)
        );
        let table = |name: &str, body: &str, times: Times| format!("{name} AS{} ({body})", times.words());
        let mut tables = vec![table(&base, &self.base()?, Times::Each), table(&pairs, &counted, Times::Once)];
        if self.caps_groups() {
            let units = self.name("units");
            let (of_unit, most) = (self.unit_names(), self.plan.caps.groups.get());
            let others = of_unit.iter().enumerate().map(|(at, unit)| format!("{unit} AS w{at}"));
            let same = (0..of_unit.len()).map(|at| format!("u{at} = w{at}"));
            let names = extra.iter().map(|(_, name)| name.clone());
            let shown = list(of_pair.iter().cloned().chain(["n".to_owned()]).chain(names));
            let joined = format!("{pairs} INNER JOIN {units} ON {}", same.collect::<Vec<_>>().join(" AND "));
            let rank = format!(
                "ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {}, {}) AS g",
                of_unit.join(", "),
                self.hash_of_pair(),
                self.key_names().join(", ")
            );
            let of_units =
                format!("SELECT {}, COUNT(*) AS m FROM {pairs}{}", list(others), group_by(&of_unit));
            let kept = format!(
                "SELECT {shown} FROM {joined} WHERE m <= {most} UNION ALL \
                 SELECT {shown} FROM (SELECT {shown}, {rank} FROM {joined} WHERE m > {most}) AS ranked WHERE g <= {most}"
            );
            tables.push(table(&units, &of_units, Times::Once));
            tables.push(table(&self.kept_name(), &kept, Times::Once));
        }
        Ok(format!("WITH {}", tables.join(", ")))
    }

    /// One more table: pairs with more rows than count, each with how many, and with its key.
    fn above(&self) -> String {
        let others = self.pair_names().into_iter().map(|name| format!("{name} AS o{name}"));
        format!(
            ", {} AS{} (SELECT {}, n, {} AS h FROM {} WHERE n > {})",
            self.name("above"),
            Times::Once.words(),
            list(others),
            self.dialect.first_bits(&self.hash_of_pair()),
            self.kept_name(),
            self.most_rows()
        )
    }

    /// Rows of pairs that have more than count, with their turned places as x.
    fn rows_of_many(&self) -> String {
        let (of_pair, inputs) = (self.pair_names(), self.input_names());
        let same: Vec<String> = of_pair.iter().map(|name| format!("{name} = o{name}")).collect();
        format!(
            "SELECT {}, n, {} AS x FROM {} INNER JOIN {} ON {}",
            list(self.key_names().into_iter().chain(inputs)),
            spread::turned(&self.place(), "n", "h"),
            self.name("rows"),
            self.name("above"),
            same.join(" AND "),
        )
    }

    /// The place of a row in its pair, by its integers in order; those that are missing stand first.
    pub(crate) fn place(&self) -> String {
        let numbers = self.plan.inputs.iter().enumerate();
        let order = numbers.map(|(at, input)| format!("COALESCE(q{at}, {})", input.grid.least - 1));
        format!("ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {})", self.pair_names().join(", "), list(order))
    }

    /// Whether a row with its turned place x counts, of n in its pair.
    pub(crate) fn is_counted(&self) -> String {
        spread::is_counted("x", "n", self.most_rows())
    }

    /// Rows of pairs that have at most as many as count.
    fn rows_of_few(&self) -> String {
        let of_pair = self.pair_names();
        let others = of_pair.iter().map(|name| format!("{name} AS o{name}"));
        let same: Vec<String> = of_pair.iter().map(|name| format!("{name} = o{name}")).collect();
        format!(
            "{} INNER JOIN (SELECT {} FROM {} WHERE n <= {}) AS others ON {}",
            self.name("rows"),
            list(others),
            self.kept_name(),
            self.most_rows(),
            same.join(" AND ")
        )
    }

    /// What a pair adds to a sum, where it does not matter which of its rows count, or all of them do.
    pub(crate) fn of_pair(&self, summand: Summand, at: usize, of_rows: &[usize]) -> String {
        match summand {
            Summand::Units => "1".to_owned(),
            // Which of the rows count is the same.
            Summand::Rows if of_rows.is_empty() => {
                let most = self.most_rows();
                format!("CASE WHEN n < {most} THEN n ELSE {most} END")
            }
            Summand::Rows => "n".to_owned(),
            Summand::Present(_) | Summand::Total(_) | Summand::Square(_) | Summand::Product(..) => {
                format!("s{at}")
            }
        }
    }

    /// What the rows of a pair add to a sum. One with more rows than count could pass 64 bits, and is not asked for.
    fn of_few_rows(&self, summand: Summand) -> String {
        match summand {
            Summand::Present(input) => format!("COUNT(q{input})"),
            other => {
                let total = self.dialect.bigint(&self.dialect.total(&self.of_row(other)));
                format!("CASE WHEN COUNT(*) <= {} THEN {total} END", self.most_rows())
            }
        }
    }

    /// What a row that counts adds to a sum.
    pub(crate) fn of_row(&self, summand: Summand) -> String {
        match summand {
            Summand::Rows => "1".to_owned(),
            Summand::Units => "CASE WHEN x = 0 THEN 1 ELSE 0 END".to_owned(),
            Summand::Present(input) => format!("CASE WHEN q{input} IS NULL THEN 0 ELSE 1 END"),
            Summand::Total(input) => format!("q{input}"),
            Summand::Square(input) => format!("{0} * {0}", self.centered(input)),
            Summand::Product(first, second) => {
                format!("{} * {}", self.centered(first), self.centered(second))
            }
        }
    }

    /// Twice an input less its least and most.
    fn centered(&self, input: usize) -> String {
        let grid = self.plan.inputs[input].grid;
        format!("(2 * q{input} - ({}))", grid.least + grid.most)
    }

    /// Whether a unit could be in more groups than may count.
    pub(crate) fn caps_groups(&self) -> bool {
        let all = self
            .plan
            .keys
            .iter()
            .try_fold(1u64, |all, key| Some(all.saturating_mul(key.public.as_ref()?.len() as u64)));
        !self.plan.keys.is_empty() && all.is_none_or(|all| all > self.plan.caps.groups.get())
    }

    /// The hash of a unit and a group, over the secret.
    pub(crate) fn hash_of_pair(&self) -> String {
        self.hash_of_unit("", self.key_names())
    }

    /// The hash of a unit and some texts, over the secret and what it is for.
    pub(crate) fn hash_of_unit(&self, purpose: &str, texts: Vec<String>) -> String {
        let units = self
            .unit_names()
            .into_iter()
            .enumerate()
            .map(|(at, name)| if self.is_whole_unit(at) { self.dialect.digits(&name) } else { name });
        let secret = self.dialect.text(&format!("{}{purpose}", self.secret.digits()));
        let joined: Vec<String> = std::iter::once(secret).chain(units).chain(texts).collect();
        self.dialect.sha256(&joined.join(&format!(" || {} || ", self.dialect.text(&self.secret.bar()))))
    }

    pub(crate) fn most_rows(&self) -> u64 {
        self.plan.caps.rows.get()
    }

    /// The table of pairs within the cap on groups.
    fn kept_name(&self) -> String {
        self.name(if self.caps_groups() { "kept" } else { "pairs" })
    }

    /// The name of a table of the statement: that of no table of the query.
    fn name(&self, what: &str) -> String {
        let mut name = format!("veracity_{what}");
        while self.plan.sources.iter().any(|source| source.table.is_called(&name)) {
            name.push('_');
        }
        name
    }

    pub(crate) fn key_names(&self) -> Vec<String> {
        (0..self.plan.keys.len()).map(|place| format!("k{place}")).collect()
    }

    /// Whole numbers of a row.
    pub(crate) fn input_names(&self) -> Vec<String> {
        (0..self.plan.inputs.len()).map(|place| format!("q{place}")).collect()
    }

    pub(crate) fn unit_names(&self) -> Vec<String> {
        let units = self.plan.sources[0].unit.len() + usize::from(self.plan.period.is_some());
        (0..units).map(|place| format!("u{place}")).collect()
    }

    /// A unit and a group.
    pub(crate) fn pair_names(&self) -> Vec<String> {
        self.unit_names().into_iter().chain(self.key_names()).collect()
    }
}

pub(crate) fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

pub(crate) fn group_by(columns: &[String]) -> String {
    if columns.is_empty() { String::new() } else { format!(" GROUP BY {}", columns.join(", ")) }
}

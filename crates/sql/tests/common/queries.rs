//! Random queries that the grammar allows. Some are refused all the same, for what they ask: an expression that may pass 1e30.

use super::{Dice, World, worlds::HOSTILE_TEXTS};

/// The columns that a query may name.
struct Scope<'a> {
    world: &'a World,
    numbers: Vec<(&'static str, &'static str)>,
    texts: Vec<(&'static str, &'static str)>,
    dice: &'a mut Dice,
}

/// A query about a world.
pub fn query(world: &World, dice: &mut Dice) -> String {
    let mut scope = Scope {
        world,
        numbers: vec![("p", "hours"), ("p", "score")],
        texts: vec![("p", "sex"), ("p", "edu"), ("p", "town")],
        dice,
    };
    let from = scope.from();
    let keys = scope.keys();
    let filter = if scope.dice.once_in(2) { format!(" WHERE {}", scope.predicate(2)) } else { String::new() };
    let aggregates: Vec<String> =
        (0..1 + scope.dice.below(4)).map(|at| format!("{} AS a{at}", scope.aggregate())).collect();
    let items: Vec<String> = keys.iter().cloned().chain(aggregates).collect();
    let grouped = if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", keys.join(", ")) };
    let shown = scope.shown(&keys);
    format!("SELECT {} FROM {from}{filter}{grouped}{shown}", items.join(", "))
}

/// A text in quotes.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Scope<'_> {
    fn column(&self, (alias, name): (&str, &str)) -> String {
        format!("{alias}.{}", self.world.names.quoted(name))
    }

    fn from(&mut self) -> String {
        let names = &self.world.names;
        let mut from = format!("{} AS p", names.quoted("people"));
        let joins = [0, 0, 0, 1, 1, 2][self.dice.below(6)];
        let visits_first = self.dice.once_in(2);
        for at in 0..joins {
            let kind = if self.dice.once_in(2) { "JOIN" } else { "LEFT JOIN" };
            if (at == 0) == visits_first {
                let mut on: Vec<String> = ["id", "day"][..self.world.units]
                    .iter()
                    .map(|unit| format!("p.{0} = v.{0}", names.quoted(unit)))
                    .collect();
                self.numbers.push(("v", "cost"));
                self.texts.extend([("v", "ward"), ("v", "doctor")]);
                if self.dice.once_in(3) {
                    on.push(self.predicate(1));
                }
                from += &format!(" {kind} {} AS v ON {}", names.quoted("visits"), on.join(" AND "));
            } else {
                self.numbers.push(("s", "size"));
                self.texts.extend([("s", "kind"), ("s", "code")]);
                let on = match self.dice.below(3) {
                    0 => self.predicate(1),
                    _ => format!("p.{} = s.{}", names.quoted("town"), names.quoted("code")),
                };
                from += &format!(
                    " {kind} {} AS s ON s.{} IS NOT NULL AND ({on})",
                    names.quoted("places"),
                    names.quoted("code")
                );
            }
        }
        from
    }

    fn keys(&mut self) -> Vec<String> {
        let mut texts = self.texts.clone();
        self.dice.shuffle(&mut texts);
        texts.truncate([0, 1, 1, 1, 2, 2][self.dice.below(6)]);
        texts.into_iter().map(|text| self.column(text)).collect()
    }

    fn aggregate(&mut self) -> String {
        match self.dice.below(14) {
            0 => "COUNT(*)".to_owned(),
            1 => {
                let unit = ["id", "day"][..self.world.units].iter();
                let unit: Vec<String> =
                    unit.map(|name| format!("p.{}", self.world.names.quoted(name))).collect();
                format!("COUNT(DISTINCT {})", unit.join(", "))
            }
            2 => {
                let text = *self.dice.pick(&self.texts);
                format!("COUNT({})", self.column(text))
            }
            3 => format!("COUNT({})", self.number(1)),
            4..=6 => format!("SUM({})", self.number(2)),
            7..=9 => format!("AVG({})", self.number(2)),
            10 => format!("VARIANCE({})", self.number(1)),
            11 => format!("STDDEV({})", self.number(0)),
            12 => format!("QUANTILE({}, 0.25)", self.number(0)),
            _ => format!("MEDIAN({})", self.number(1)),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 || self.dice.once_in(3) {
            return match self.dice.below(10) {
                0 => format!("{}", self.dice.below(5)),
                1 => format!("{:?}", 0.1 * self.dice.below(30) as f64),
                _ => {
                    let column = *self.dice.pick(&self.numbers);
                    self.column(column)
                }
            };
        }
        let inner = |scope: &mut Self| scope.number(depth - 1);
        match self.dice.below(8) {
            0 => format!("({} + {})", inner(self), inner(self)),
            1 => format!("({} - {})", inner(self), inner(self)),
            2 => format!("{} * {}", self.number(0), self.number(0)),
            3 => format!("(-{})", inner(self)),
            4 => format!("ABS({})", inner(self)),
            5 => format!("COALESCE({}, {})", inner(self), inner(self)),
            6 => format!("CASE WHEN {} THEN {} END", self.predicate(depth - 1), inner(self)),
            _ => {
                let other = if self.dice.once_in(4) { "NULL".to_owned() } else { inner(self) };
                format!("CASE WHEN {} THEN {} ELSE {other} END", self.predicate(depth - 1), inner(self))
            }
        }
    }

    fn predicate(&mut self, depth: usize) -> String {
        if depth > 0 && self.dice.once_in(2) {
            let (a, b) = (self.predicate(depth - 1), self.predicate(depth - 1));
            return match self.dice.below(3) {
                0 => format!("({a} AND {b})"),
                1 => format!("({a} OR {b})"),
                _ => format!("NOT ({a})"),
            };
        }
        let not = if self.dice.once_in(3) { "NOT " } else { "" };
        let text = *self.dice.pick(&self.texts);
        let text = self.column(text);
        match self.dice.below(9) {
            0 => {
                let sign = *self.dice.pick(&["=", "<>", "<", "<=", ">", ">="]);
                format!("{} {sign} {}", self.number(1), self.number(1))
            }
            1 => format!("{text} = {}", self.literal()),
            2 => format!("{} <> {text}", self.literal()),
            3 => {
                let other = *self.dice.pick(&self.texts);
                format!("{text} = {}", self.column(other))
            }
            4 => format!("{text} {not}IN ({}, {}, {})", self.literal(), self.literal(), self.literal()),
            5 => format!("{} {not}IN (0, 1, {:?})", self.number(0), self.dice.part()),
            6 => format!("{} {not}BETWEEN {} AND {}", self.number(0), self.number(0), self.number(0)),
            7 => format!("{text} IS {not}NULL"),
            _ => format!("{} IS {not}NULL", self.number(1)),
        }
    }

    fn literal(&mut self) -> String {
        literal(self.dice.pick::<&str>(&HOSTILE_TEXTS))
    }

    fn shown(&mut self, keys: &[String]) -> String {
        let mut shown = String::new();
        if self.dice.once_in(4) {
            shown += " HAVING a0 > 1 OR NOT a0 * 2 <= -3.5";
        }
        if self.dice.once_in(3) {
            let key = keys.first().map_or(String::new(), |key| format!(", {key}"));
            shown += &format!(" ORDER BY a0 DESC{key}");
        }
        if self.dice.once_in(4) {
            shown += " LIMIT 3";
        }
        shown
    }
}

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
    if scope.dice.once_in(8) {
        return scope.per_person_query();
    }
    let from = scope.from();
    let keys = scope.keys();
    let filter = match scope.dice.below(5) {
        0 | 1 => format!(" WHERE {}", scope.predicate(2)),
        2 if world.units == 1 => format!(" WHERE {} AND {}", scope.among(), scope.predicate(1)),
        _ => String::new(),
    };
    let aggregates: Vec<String> =
        (0..1 + scope.dice.below(4)).map(|at| format!("{} AS a{at}", scope.aggregate())).collect();
    // No column of a world has such a name.
    let named: Vec<String> =
        keys.iter().enumerate().map(|(at, key)| format!("{key} AS key_of_{at}")).collect();
    let spelled = |(at, key): (usize, &String), dice: &mut Dice| match dice.below(3) {
        0 => format!("{}", at + 1),
        1 => format!("key_of_{at}"),
        _ => key.clone(),
    };
    let grouped: Vec<String> = keys.iter().enumerate().map(|key| spelled(key, scope.dice)).collect();
    let levels = keys.iter().take(usize::from(scope.dice.once_in(4)));
    let levels: Vec<String> = levels.map(|key| format!("GROUPING({key}) AS level_of")).collect();
    let items: Vec<String> = named.into_iter().chain(aggregates).chain(levels).collect();
    let grouped =
        if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", scope.groups(&grouped)) };
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
        if self.dice.once_in(6) {
            let filter = self.predicate(1).replace("p.", "q.");
            let people = names.quoted("people");
            from = match self.dice.once_in(2) {
                true => format!("(SELECT * FROM {people} AS q WHERE {filter}) AS p"),
                false => {
                    let all = ["id", "day"][..self.world.units].iter().copied();
                    let all = all.chain(["hours", "score", "sex", "edu", "town", "seen"]);
                    let all: Vec<String> = all.map(|name| names.quoted(name)).collect();
                    format!("(SELECT {} FROM {people} AS q WHERE {filter}) AS p", all.join(", "))
                }
            };
        }
        let joins = [0, 0, 0, 1, 1, 2][self.dice.below(6)];
        if joins == 1 && self.dice.once_in(3) {
            return self.begin_with_the_other_side();
        }
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

    /// Keys as one grouping, or as several.
    fn groups(&mut self, keys: &[String]) -> String {
        let all = keys.join(", ");
        match (self.dice.below(8), keys) {
            (0, _) => format!("ROLLUP ({all})"),
            (1, _) => format!("CUBE ({all})"),
            (2, [_]) => format!("GROUPING SETS (({all}), ())"),
            (2, [first, ..]) => format!("GROUPING SETS (({all}), (), {first})"),
            (3, [first, others @ ..]) if !others.is_empty() => {
                format!("{first}, GROUPING SETS (({}), ())", others.join(", "))
            }
            _ => all,
        }
    }

    /// That a person is, or is not, among those of another query.
    fn among(&mut self) -> String {
        let names = &self.world.names;
        let (id, visits, cost) = (names.quoted("id"), names.quoted("visits"), names.quoted("cost"));
        let not = if self.dice.once_in(3) { "NOT " } else { "" };
        if self.dice.once_in(2) {
            let rest = match self.dice.once_in(2) {
                true => format!(" AND w.{cost} > 1"),
                false => String::new(),
            };
            return format!("{not}EXISTS (SELECT 1 FROM {visits} AS w WHERE w.{id} = p.{id}{rest})");
        }
        let filter = match self.dice.below(3) {
            0 => format!(
                " WHERE w.{cost} > {:?}",
                super::worlds::number(self.world.bounds["cost"], self.dice).clamp(-1e6, 1e6)
            ),
            1 => format!(
                " WHERE w.{} = {}",
                names.quoted("ward"),
                literal(self.dice.pick::<String>(&self.world.keys["ward"]))
            ),
            _ => String::new(),
        };
        let grouped = match self.dice.below(3) {
            0 => format!(" GROUP BY w.{id} HAVING COUNT(*) >= {}", 1 + self.dice.below(3)),
            _ => String::new(),
        };
        format!("p.{id} {not}IN (SELECT w.{id} FROM {visits} AS w{filter}{grouped})")
    }

    /// A query of one row for each person, perhaps joined to another.
    fn per_person_query(&mut self) -> String {
        let names = &self.world.names;
        let units: Vec<String> =
            ["id", "day"][..self.world.units].iter().map(|unit| names.quoted(unit)).collect();
        let (people, visits) = (names.quoted("people"), names.quoted("visits"));
        let (hours, cost) = (names.quoted("hours"), names.quoted("cost"));
        let (units, same): (String, Vec<String>) =
            (units.join(", "), units.iter().map(|unit| format!("p.{unit} = v.{unit}")).collect());
        let filter =
            if self.dice.once_in(2) { format!(" WHERE {}", self.predicate(1)) } else { String::new() };
        let of = self.number(1);
        let measures = [
            "COUNT(*) AS rows_of".to_owned(),
            format!("SUM({of}) AS total"),
            format!("AVG(p.{hours}) AS middle"),
            format!("MAX({}) AS most", self.number(1)),
            format!("COUNT(p.{hours}) AS there"),
        ];
        let inner =
            format!("SELECT {units}, {} FROM {people} AS p{filter} GROUP BY {units}", measures.join(", "));
        let joined = match self.dice.below(3) {
            0 => format!(
                " LEFT JOIN (SELECT {units}, MIN({cost}) AS least FROM {visits} GROUP BY {units}) v ON {}",
                same.join(" AND ")
            ),
            1 => format!(" JOIN {visits} AS v ON {}", same.join(" AND ")),
            _ => String::new(),
        };
        let keys =
            ["", "rows_of, ", "FLOOR(there / 2), ", "CASE WHEN rows_of > 1 THEN 'many' ELSE 'one' END, "];
        let key = *self.dice.pick(&keys);
        let aggregates = [
            "COUNT(*) AS n",
            "AVG(total) AS a",
            "SUM(rows_of) AS s",
            "AVG(middle) AS m",
            "SUM(most) AS t",
            "SUM(total * rows_of) AS u",
        ];
        let (one, other) = (self.dice.below(3), 3 + self.dice.below(3));
        let chosen = format!("{}, {}", aggregates[one], aggregates[other]);
        let grouped = if key.is_empty() { "" } else { " GROUP BY 1" };
        let outer = if self.dice.once_in(3) { " WHERE total > 0 OR there < 2" } else { "" };
        match self.dice.once_in(2) {
            true => format!("SELECT {key}{chosen} FROM ({inner}) AS p{joined}{outer}{grouped}"),
            false => {
                format!("WITH per AS ({inner}) SELECT {key}{chosen} FROM per AS p{joined}{outer}{grouped}")
            }
        }
    }

    /// A join that begins with the other table, or that is written with `USING`.
    fn begin_with_the_other_side(&mut self) -> String {
        let names = &self.world.names;
        let (people, visits, places) =
            (names.quoted("people"), names.quoted("visits"), names.quoted("places"));
        let units: Vec<String> =
            ["id", "day"][..self.world.units].iter().map(|unit| names.quoted(unit)).collect();
        let same: Vec<String> = units.iter().map(|unit| format!("v.{unit} = p.{unit}")).collect();
        let (same, using) = (same.join(" AND "), units.join(", "));
        let on = format!("p.{} = s.{}", names.quoted("town"), names.quoted("code"));
        match self.dice.below(5) {
            which @ (0 | 1) => {
                self.numbers.push(("v", "cost"));
                self.texts.extend([("v", "ward"), ("v", "doctor")]);
                match which {
                    0 => format!("{people} p LEFT JOIN {visits} v USING ({using})"),
                    _ => format!("{visits} AS v RIGHT JOIN {people} AS p ON {same}"),
                }
            }
            which => {
                self.numbers.push(("s", "size"));
                self.texts.extend([("s", "kind"), ("s", "code")]);
                let side = ["", "LEFT ", "RIGHT "][which - 2];
                format!("{places} s {side}JOIN {people} p ON {on}")
            }
        }
    }

    fn keys(&mut self) -> Vec<String> {
        let mut texts = self.texts.clone();
        self.dice.shuffle(&mut texts);
        texts.truncate([0, 1, 1, 1, 2, 2][self.dice.below(6)]);
        let mut keys: Vec<String> = texts.into_iter().map(|text| self.column(text)).collect();
        for key in &mut keys {
            match self.dice.below(8) {
                0 => *key = self.range(),
                1 => {
                    let unit = *self.dice.pick(&["year", "quarter", "month", "week", "day"]);
                    *key = format!("DATE_TRUNC('{unit}', {})", self.seen());
                }
                2 => *key = self.part_of_date(),
                3 => {
                    *key = format!(
                        "CASE WHEN {} THEN 'young' WHEN {} THEN {key} ELSE 'old' END",
                        self.predicate(1),
                        self.predicate(0)
                    )
                }
                4 => *key = format!("{}({key})", self.dice.pick(&["LOWER", "UPPER", "TRIM"])),
                _ => {}
            }
        }
        keys.sort();
        keys.dedup();
        keys
    }

    /// A number in ranges, of which there are few.
    fn range(&mut self) -> String {
        let column = *self.dice.pick(&self.numbers);
        let (lower, upper) = self.world.bounds[column.1];
        let width = (upper - lower) / (1.0 + self.dice.below(6) as f64);
        let floor = format!("FLOOR({} / {width:?})", self.column(column));
        match self.dice.below(3) {
            0 => format!("{floor} * 10"),
            1 => format!("GREATEST(-{floor}, 0)"),
            _ => floor,
        }
    }

    fn seen(&self) -> String {
        self.column(("p", "seen"))
    }

    fn part_of_date(&mut self) -> String {
        let part = *self.dice.pick(&["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW"]);
        format!("EXTRACT({part} FROM {})", self.seen())
    }

    fn date_literal(&mut self) -> String {
        let date = *self.dice.pick(&["2024-02-29", "2024-12-30", "1970-01-01", "1900-02-28", "2025-06-01"]);
        if self.dice.once_in(2) { format!("DATE '{date}'") } else { format!("'{date}'") }
    }

    /// A string that is made of others.
    fn made_text(&mut self, depth: usize) -> String {
        let column = *self.dice.pick(&self.texts);
        let column = self.column(column);
        if depth == 0 {
            return column;
        }
        match self.dice.below(6) {
            0 => format!("LOWER({})", self.made_text(depth - 1)),
            1 => format!("UPPER({})", self.made_text(depth - 1)),
            2 => format!("TRIM({})", self.made_text(depth - 1)),
            3 => format!("COALESCE({}, {})", self.made_text(depth - 1), self.literal()),
            4 => format!("CASE WHEN {} THEN {column} ELSE {} END", self.predicate(depth - 1), self.literal()),
            _ => column,
        }
    }

    fn pattern(&mut self) -> String {
        let parts = ["%", "_", "a", "B", "é", " ", "", "'", "日"];
        let pattern: String = (0..self.dice.below(5)).map(|_| *self.dice.pick(&parts)).collect();
        literal(&pattern)
    }

    fn aggregate(&mut self) -> String {
        let aggregate = self.plain_aggregate();
        if !aggregate.contains("DISTINCT") && self.dice.once_in(6) {
            return format!("{aggregate} FILTER (WHERE {})", self.predicate(1));
        }
        aggregate
    }

    fn plain_aggregate(&mut self) -> String {
        match self.dice.below(21) {
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
            13 => {
                let name =
                    *self.dice.pick(&["CORR", "COVAR_SAMP", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_COUNT"]);
                format!("{name}({}, {})", self.number(1), self.number(0))
            }
            // Of one column, so that several share a call.
            14 => format!("VAR_SAMP(p.{})", self.world.names.quoted("hours")),
            15 => format!("COUNT(p.{})", self.world.names.quoted("hours")),
            16 => format!("SUM(p.{})", self.world.names.quoted("hours")),
            17 => format!("100.0 * SUM({}) / COUNT(*)", self.number(1)),
            18 => format!("ROUND(AVG({}) - 2 * STDDEV({0}), 1)", self.number(0)),
            19 => "COUNT(*) * 1.0 / 365".to_owned(),
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
        match self.dice.below(14) {
            8 => format!("{} / {:?}", inner(self), [3.0, -0.1, 100.0, 1e20, 1e-20][self.dice.below(5)]),
            9 => format!("FLOOR({})", inner(self)),
            10 => format!("CEIL({})", inner(self)),
            11 => format!("LEAST({}, {})", inner(self), inner(self)),
            12 => format!("GREATEST({}, {})", inner(self), inner(self)),
            13 => match self.dice.below(3) {
                0 => self.part_of_date(),
                1 => format!("({} - {})", self.seen(), self.date_literal()),
                _ => format!("CAST({} AS {})", inner(self), self.dice.pick(&["DOUBLE", "INTEGER"])),
            },
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
        match self.dice.below(14) {
            9 => format!("{} {not}LIKE {}", self.made_text(1), self.pattern()),
            10 => format!("{} {not}ILIKE {}", self.made_text(1), self.pattern()),
            11 => {
                let sign = *self.dice.pick(&["=", "<>", "<", "<=", ">", ">="]);
                format!("{} {sign} {}", self.seen(), self.date_literal())
            }
            12 => format!("{} {not}BETWEEN {} AND {}", self.seen(), self.date_literal(), self.date_literal()),
            13 => format!("{} = {}", self.made_text(2), self.made_text(1)),
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

//! The grammar. It is the first wall: what it does not know cannot reach an engine.
//!
//! It is written by hand because it is meant to be small: `SELECT` … `FROM` … `JOIN` … `WHERE` … `GROUP BY` … `HAVING` …
//! `ORDER BY` … `LIMIT`, with expressions that cannot fail on any row. Words that SQL has and this does not are refused by name,
//! with what to write instead.

use crate::{
    ast::{Comparison, Direction, Expr, From, Item, JoinKind, Name, Operator, Select},
    lex::{Token, tokens},
};
use std::ops::Range;
use veracity_core::Refusal;

/// The deepest nesting of expressions.
const DEEPEST: usize = 64;
/// The most conditions in a row.
const LONGEST: usize = 200;
/// The most + − × of a query: each makes an expression one deeper.
const MOST_OPERATORS: usize = 500;

/// Words that end a list or begin a clause, and so are no aliases.
const RESERVED: [&str; 31] = [
    "select",
    "from",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "join",
    "inner",
    "left",
    "right",
    "full",
    "cross",
    "on",
    "and",
    "or",
    "not",
    "as",
    "by",
    "union",
    "intersect",
    "except",
    "with",
    "case",
    "when",
    "then",
    "else",
    "end",
    "natural",
    "using",
    "offset",
];

/// Words of SQL that are not spoken here, and what to write instead.
const FOREIGN: [(&str, &str); 24] = [
    ("union", "one query at a time"),
    ("intersect", "one query at a time"),
    ("except", "one query at a time"),
    ("with", "FROM a table of the catalog"),
    ("over", "an aggregate with GROUP BY; windows show raw rows"),
    ("like", "= or IN with texts"),
    ("ilike", "= or IN with texts"),
    ("similar", "= or IN with texts"),
    ("exists", "a JOIN on the person's column"),
    ("any", "IN with texts or numbers"),
    ("cast", "a column of the type that the catalog declares: a cast can fail on one row"),
    ("distinct", "GROUP BY, or COUNT(DISTINCT person)"),
    ("right", "LEFT JOIN, with the private table first"),
    ("full", "LEFT JOIN, with the private table first"),
    ("cross", "JOIN … ON"),
    ("natural", "JOIN … ON"),
    ("using", "JOIN … ON"),
    ("offset", "LIMIT alone"),
    ("filter", "CASE WHEN … THEN … END inside of the aggregate"),
    ("insert", "SELECT"),
    ("update", "SELECT"),
    ("delete", "SELECT"),
    ("drop", "SELECT"),
    ("create", "SELECT"),
];

/// Reads a query.
pub(crate) fn parse(query: &str) -> Result<Select, Refusal> {
    let (tokens, places) = tokens(query)?.into_iter().unzip();
    let mut parser = Parser { query, tokens, places, at: 0, depth: 0, operators: 0 };
    let select = parser.select()?;
    match parser.peek() {
        None => Ok(select),
        Some(_) => Err(parser.unexpected("the end of the query")),
    }
}

struct Parser<'a> {
    query: &'a str,
    tokens: Vec<Token>,
    places: Vec<Range<usize>>,
    at: usize,
    depth: usize,
    operators: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        matches!(self.tokens.get(self.at + ahead), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.is_word(0, word);
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    fn must_word(&mut self, word: &str) -> Result<(), Refusal> {
        if self.word(word) { Ok(()) } else { Err(self.unexpected(&word.to_uppercase())) }
    }

    fn must_sign(&mut self, sign: &str) -> Result<(), Refusal> {
        if self.sign(sign) { Ok(()) } else { Err(self.unexpected(sign)) }
    }

    /// What is refused here, by name where SQL knows it.
    fn unexpected(&self, expected: &str) -> Refusal {
        let Some(token) = self.peek() else {
            return Refusal::invalid(format!("query ends too early, expected {expected}"));
        };
        if let Token::Word(word) = token
            && let Some((_, instead)) = FOREIGN.iter().find(|(foreign, _)| word.eq_ignore_ascii_case(foreign))
        {
            return Refusal::invalid(format!("query has {}, expected {instead}", word.to_uppercase()));
        }
        match token {
            Token::Sign("/" | "%") => Refusal::invalid(
                "query divides, expected + - *: a division can fail on one row; multiply by a number, or take AVG",
            ),
            token => Refusal::invalid(format!("query has {} here, expected {expected}", token.shown())),
        }
    }

    fn select(&mut self) -> Result<Select, Refusal> {
        self.must_word("select")?;
        if self.is_word(0, "distinct") || self.is_word(0, "all") {
            return Err(self.unexpected("what to select"));
        }
        let items = self.list(Self::item)?;
        self.must_word("from")?;
        let from = self.tables()?;
        let filter = if self.word("where") { Some(self.expr()?) } else { None };
        let group_by = if self.word("group") {
            self.must_word("by")?;
            self.list(Self::expr)?
        } else {
            Vec::new()
        };
        let having = if self.word("having") { Some(self.expr()?) } else { None };
        let order_by = if self.word("order") {
            self.must_word("by")?;
            self.list(Self::ordering)?
        } else {
            Vec::new()
        };
        let limit = if self.word("limit") { Some(self.whole()?) } else { None };
        Ok(Select { items, from, filter, group_by, having, order_by, limit })
    }

    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T, Refusal>) -> Result<Vec<T>, Refusal> {
        let mut all = vec![one(self)?];
        while self.sign(",") {
            all.push(one(self)?);
        }
        Ok(all)
    }

    fn item(&mut self) -> Result<Item, Refusal> {
        if matches!(self.peek(), Some(Token::Sign("*"))) {
            return Err(Refusal::invalid(
                "query selects *, expected keys and aggregates: raw rows are never shown",
            ));
        }
        let from = self.at;
        let expr = self.expr()?;
        let written = self.places[from].start..self.places[self.at - 1].end;
        Ok(Item { expr, alias: self.alias()?, text: self.query[written].to_owned() })
    }

    fn alias(&mut self) -> Result<Option<String>, Refusal> {
        let said = self.word("as");
        match self.peek() {
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(Some(name))
            }
            Some(Token::Word(word))
                if !RESERVED.contains(&word.to_lowercase().as_str())
                    && !FOREIGN.iter().any(|(foreign, _)| word.eq_ignore_ascii_case(foreign)) =>
            {
                let word = word.clone();
                self.at += 1;
                Ok(Some(word))
            }
            _ if said => Err(self.unexpected("a name after AS")),
            _ => Ok(None),
        }
    }

    fn name(&mut self) -> Result<Name, Refusal> {
        let name = match self.peek() {
            Some(Token::Name(name)) => Name { text: name.clone(), quoted: true },
            Some(Token::Word(word)) if !RESERVED.contains(&word.to_lowercase().as_str()) => {
                Name { text: word.clone(), quoted: false }
            }
            _ => return Err(self.unexpected("a name")),
        };
        self.at += 1;
        Ok(name)
    }

    fn tables(&mut self) -> Result<Vec<From>, Refusal> {
        let mut all = vec![self.table(false)?];
        loop {
            let kind = if self.is_word(0, "left") {
                self.at += 1;
                let _ = self.word("outer");
                JoinKind::Left
            } else if self.is_word(0, "inner") {
                self.at += 1;
                JoinKind::Inner
            } else if self.is_word(0, "join") {
                JoinKind::Inner
            } else if matches!(self.peek(), Some(Token::Sign(","))) {
                return Err(Refusal::invalid("query lists several tables, expected JOIN … ON"));
            } else {
                return Ok(all);
            };
            self.must_word("join")?;
            let mut joined = self.table(true)?;
            self.must_word("on")?;
            joined.join = Some((kind, self.expr()?));
            all.push(joined);
        }
    }

    fn table(&mut self, joined: bool) -> Result<From, Refusal> {
        if matches!(self.peek(), Some(Token::Sign("("))) {
            let instead =
                if joined { "a table of the catalog to join" } else { "FROM a table of the catalog" };
            return Err(Refusal::invalid(format!("query has a subquery, expected {instead}")));
        }
        let table = self.name()?;
        if matches!(self.peek(), Some(Token::Sign("." | "("))) {
            return Err(Refusal::invalid(format!(
                "table {} has more than a name, expected one of the catalog",
                table.shown()
            )));
        }
        Ok(From { table, alias: self.alias()?, join: None })
    }

    fn ordering(&mut self) -> Result<(Expr, Direction), Refusal> {
        let expr = self.expr()?;
        let direction = match () {
            () if self.word("desc") => Direction::Descending,
            () => {
                let _ = self.word("asc");
                Direction::Ascending
            }
        };
        Ok((expr, direction))
    }

    fn whole(&mut self) -> Result<u64, Refusal> {
        match self.peek() {
            Some(Token::Number(number)) if number.fract() == 0.0 && *number >= 0.0 && *number <= 1e15 => {
                let number = *number as u64;
                self.at += 1;
                Ok(number)
            }
            _ => Err(self.unexpected("a whole number of rows")),
        }
    }

    /// Or, and, not, comparison, sum, product, sign, atom: from loose to tight.
    fn expr(&mut self) -> Result<Expr, Refusal> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Refusal::invalid(format!(
                "query is nested deeper than {DEEPEST}, expected fewer brackets"
            )));
        }
        let mut any = vec![self.conjunction()?];
        while self.word("or") {
            any.push(self.conjunction()?);
            if any.len() > LONGEST {
                return Err(too_long(LONGEST));
            }
        }
        self.depth -= 1;
        Ok(if any.len() == 1 { any.remove(0) } else { Expr::Or(any) })
    }

    fn conjunction(&mut self) -> Result<Expr, Refusal> {
        let mut all = vec![self.negation()?];
        while self.word("and") {
            all.push(self.negation()?);
            if all.len() > LONGEST {
                return Err(too_long(LONGEST));
            }
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Expr::And(all) })
    }

    fn negation(&mut self) -> Result<Expr, Refusal> {
        let mut negated = false;
        while self.word("not") {
            negated = !negated;
        }
        let expr = self.comparison()?;
        // NOT NOT x is x, also where x is unknown.
        Ok(if negated { Expr::Not(Box::new(expr)) } else { expr })
    }

    fn comparison(&mut self) -> Result<Expr, Refusal> {
        let left = self.sum()?;
        let negated = self.is_word(0, "not") && (self.is_word(1, "in") || self.is_word(1, "between"));
        self.at += usize::from(negated);
        if self.word("in") {
            self.must_sign("(")?;
            if self.is_word(0, "select") {
                return Err(Refusal::invalid(
                    "query has a subquery in IN, expected a list of texts or numbers",
                ));
            }
            let list = self.list(Self::sum)?;
            self.must_sign(")")?;
            return Ok(Expr::In { expr: Box::new(left), list, negated });
        }
        if self.word("between") {
            let low = Box::new(self.sum()?);
            self.must_word("and")?;
            return Ok(Expr::Between { expr: Box::new(left), low, high: Box::new(self.sum()?), negated });
        }
        if self.word("is") {
            let negated = self.word("not");
            self.must_word("null")?;
            return Ok(Expr::IsNull { expr: Box::new(left), negated });
        }
        let signs = [
            ("=", Comparison::Equal),
            ("<>", Comparison::Unequal),
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Less),
            (">", Comparison::More),
        ];
        for (sign, comparison) in signs {
            if self.sign(sign) {
                return Ok(Expr::Compare(comparison, Box::new(left), Box::new(self.sum()?)));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expr, Refusal> {
        let mut left = self.product()?;
        for _ in 0..DEEPEST {
            let operator = match () {
                () if self.sign("+") => Operator::Add,
                () if self.sign("-") => Operator::Subtract,
                () => return Ok(left),
            };
            left = self.arithmetic(operator, left, Self::product)?;
        }
        Err(too_long(DEEPEST))
    }

    fn arithmetic(
        &mut self,
        operator: Operator,
        left: Expr,
        right: fn(&mut Self) -> Result<Expr, Refusal>,
    ) -> Result<Expr, Refusal> {
        self.operators += 1;
        if self.operators > MOST_OPERATORS {
            return Err(too_long(MOST_OPERATORS));
        }
        Ok(Expr::Arithmetic(operator, Box::new(left), Box::new(right(self)?)))
    }

    fn product(&mut self) -> Result<Expr, Refusal> {
        let mut left = self.signed()?;
        let mut factors = 1;
        while self.sign("*") {
            left = self.arithmetic(Operator::Multiply, left, Self::signed)?;
            factors += 1;
            if factors > DEEPEST {
                return Err(too_long(DEEPEST));
            }
        }
        if matches!(self.peek(), Some(Token::Sign("/" | "%"))) {
            return Err(self.unexpected(""));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Expr, Refusal> {
        let mut negated = false;
        loop {
            match () {
                () if self.sign("-") => negated = !negated,
                () if self.sign("+") => {}
                () => break,
            }
        }
        let expr = self.atom()?;
        Ok(match (negated, expr) {
            (false, expr) => expr,
            (true, Expr::Number(number)) => Expr::Number(-number),
            (true, expr) => Expr::Negated(Box::new(expr)),
        })
    }

    fn atom(&mut self) -> Result<Expr, Refusal> {
        match self.peek() {
            Some(Token::Number(number)) => {
                let number = *number;
                self.at += 1;
                Ok(Expr::Number(number))
            }
            Some(Token::Text(text)) => {
                let text = text.clone();
                self.at += 1;
                Ok(Expr::Text(text))
            }
            Some(Token::Sign("(")) => {
                self.at += 1;
                if self.is_word(0, "select") {
                    return Err(Refusal::invalid(
                        "query has a subquery, expected columns, numbers and texts",
                    ));
                }
                let expr = self.expr()?;
                self.must_sign(")")?;
                Ok(expr)
            }
            Some(Token::Word(word)) => {
                let word = word.to_lowercase();
                match word.as_str() {
                    "null" => self.constant(Expr::Null),
                    "true" => self.constant(Expr::Boolean(true)),
                    "false" => self.constant(Expr::Boolean(false)),
                    "case" => self.case(),
                    _ if matches!(self.tokens.get(self.at + 1), Some(Token::Sign("("))) => self.call(),
                    _ => self.column(),
                }
            }
            Some(Token::Name(_)) => self.column(),
            _ => Err(self.unexpected("a column, a number, a text or an aggregate")),
        }
    }

    fn constant(&mut self, expr: Expr) -> Result<Expr, Refusal> {
        self.at += 1;
        Ok(expr)
    }

    fn column(&mut self) -> Result<Expr, Refusal> {
        let name = self.name()?;
        if !self.sign(".") {
            return Ok(Expr::Column(None, name));
        }
        Ok(Expr::Column(Some(name), self.name()?))
    }

    fn case(&mut self) -> Result<Expr, Refusal> {
        self.must_word("case")?;
        let mut branches = Vec::new();
        while self.word("when") {
            let condition = self.expr()?;
            self.must_word("then")?;
            branches.push((condition, self.expr()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = if self.word("else") { Some(Box::new(self.expr()?)) } else { None };
        self.must_word("end")?;
        Ok(Expr::Case { branches, otherwise })
    }

    fn call(&mut self) -> Result<Expr, Refusal> {
        if let Some(Token::Word(word)) = self.peek()
            && FOREIGN.iter().any(|(foreign, _)| word.eq_ignore_ascii_case(foreign))
        {
            return Err(self.unexpected(""));
        }
        let name = self.name()?.text.to_lowercase();
        self.must_sign("(")?;
        if name == "count" && self.sign("*") {
            self.must_sign(")")?;
            return self.plain(Expr::CountAll);
        }
        let distinct = self.word("distinct");
        if self.is_word(0, "select") {
            return Err(Refusal::invalid("query has a subquery, expected columns, numbers and texts"));
        }
        let arguments =
            if matches!(self.peek(), Some(Token::Sign(")"))) { Vec::new() } else { self.list(Self::expr)? };
        self.must_sign(")")?;
        self.plain(Expr::Call { name, distinct, arguments })
    }

    /// A call without what SQL allows behind it.
    fn plain(&mut self, call: Expr) -> Result<Expr, Refusal> {
        for word in ["over", "filter", "within"] {
            if self.is_word(0, word) {
                return Err(self.unexpected("nothing more of the aggregate"));
            }
        }
        Ok(call)
    }
}

fn too_long(most: usize) -> Refusal {
    Refusal::invalid(format!("query has an expression of more than {most} terms, expected fewer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_what_it_says() {
        let select = parse(
            "select sex, avg(hours * 1.5 - 2) AS worked from people p left join regions r on p.region = r.code \
             where not age between 18 and 65 or sex in ('Male') and r.code is not null \
             group by sex having count(*) > 10 order by worked desc, sex limit 5",
        )
        .unwrap();
        assert_eq!((select.items.len(), select.from.len(), select.limit), (2, 2, Some(5)));
        // AND binds tighter than OR, NOT tighter than both.
        let Some(Expr::Or(parts)) = select.filter else { panic!("no OR on top") };
        assert!(matches!(parts[..], [Expr::Not(_), Expr::And(_)]));
    }

    /// Everything that leaks, fails on a row or cannot be bounded is no sentence of the grammar.
    #[test]
    fn what_is_not_in_the_grammar_is_refused_with_what_to_write() {
        for (query, expected) in [
            ("select * from t", "raw rows are never shown"),
            ("select count(*) from (select * from t)", "subquery"),
            ("select count(*) from t union select 1 from t", "UNION"),
            ("with x as (select 1) select count(*) from x", "WITH"),
            ("select sum(a / b) from t", "divides"),
            ("select sum(a % b) from t", "divides"),
            ("select sum(cast(a as int)) from t", "CAST"),
            ("select count(*) over () from t", "OVER"),
            ("select count(*) from t where a in (select b from u)", "subquery"),
            ("select count(*) from t where exists (select 1 from t)", "EXISTS"),
            ("select count(*) from t where a like 'x%'", "LIKE"),
            ("select distinct a from t", "DISTINCT"),
            ("select count(*) from t, u", "JOIN"),
            ("select count(*) from t tablesample (10)", "expected"),
            ("select count(*) from t right join u on t.a = u.a", "LEFT JOIN"),
            ("select count(*) from s.t", "more than a name"),
            ("select count(*) from t limit 5 offset 2", "OFFSET"),
            ("select sum(a) filter (where a > 2) from t", "FILTER"),
            ("drop table t", "SELECT"),
            ("select count(*) from t; drop table t", "sign"),
            ("", "too early"),
        ] {
            let refusal = parse(query).unwrap_err().to_string();
            assert!(refusal.contains(expected), "{query}: {refusal}");
        }
        let deep = format!("select sum({}a{}) from t", "(".repeat(10_000), ")".repeat(10_000));
        assert!(parse(&deep).is_err());
        let long = format!("select count(*) from t where {}a = 1", "a = 1 and ".repeat(199));
        assert!(parse(&long).is_ok());
        for bad in ["a = 1 or ".repeat(300), "a + ".repeat(100), "a * ".repeat(100), "(".repeat(100)] {
            assert!(parse(&format!("select count(*) from t where {bad} a = 1")).is_err());
        }
    }
}

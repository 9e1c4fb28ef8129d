//! The grammar. It is the first wall: what it does not know cannot reach an engine.
//!
//! Spellings that mean the same become one here: `FILTER (WHERE …)` a `CASE`, `EXTRACT(YEAR FROM x)` the function `YEAR(x)`.
//!
//! It is written by hand because it is meant to be small: `SELECT` … `FROM` … `JOIN` … `WHERE` … `GROUP BY` … `HAVING` …
//! `ORDER BY` … `LIMIT`, with expressions that cannot fail on any row. Words that SQL has and this does not are refused by name,
//! with what to write instead.

use crate::sql::{
    ast::{Comparison, Direction, Expr, From, Item, Join, Name, On, Operator, Select, Side},
    lex::{Token, tokens},
};
use std::ops::Range;
use veracity_core::Refusal;

/// The deepest nesting of expressions.
const DEEPEST: usize = 64;
/// The most conditions in a row.
const LONGEST: usize = 200;
/// The most words and signs between CASE and WHEN.
const LONGEST_COMPARED: usize = 24;
/// The most + − × ÷ of a query: each makes an expression one deeper.
const MOST_OPERATORS: usize = 500;

/// The most queries that have a name.
const MOST_NAMED: usize = 8;

/// Words that end a list or begin a clause, and so are no aliases.
const RESERVED: [&str; 33] = [
    "select", "from", "where", "group", "having", "order", "limit", "join", "inner", "left", "right", "full",
    "cross", "on", "and", "or", "not", "as", "by", "union", "intersect", "except", "with", "case", "when",
    "then", "else", "end", "natural", "using", "offset", "like", "ilike",
];

/// Words of SQL that are not spoken here, and what to write instead.
const FOREIGN: [(&str, &str); 21] = [
    ("union", "one query at a time, because the caps of a person hold within one query"),
    ("intersect", "one query at a time"),
    ("except", "one query at a time"),
    ("with", "WITH at the beginning of the query"),
    ("sets", "one query for each of the GROUPING SETS, because each has its own groups, caps and noise"),
    ("over", "an aggregate with GROUP BY, because a window returns one row for each row of the table"),
    ("similar", "= or IN with strings"),
    ("exists", "person IN (SELECT person FROM … WHERE …), where person is the privacy ID"),
    ("any", "IN with strings or numbers"),
    ("cast", "a column of the type that the catalog declares, because a cast can fail on one row"),
    ("distinct", "GROUP BY, or COUNT(DISTINCT person)"),
    ("full", "LEFT JOIN, with the private table first"),
    ("cross", "JOIN … ON"),
    ("natural", "JOIN … ON"),
    ("offset", "LIMIT without OFFSET"),
    ("filter", "FILTER (WHERE …) right after an aggregate"),
    ("insert", "SELECT"),
    ("update", "SELECT"),
    ("delete", "SELECT"),
    ("drop", "SELECT"),
    ("create", "SELECT"),
];

/// Reads a query.
pub(crate) fn parse(query: &str) -> Result<Select, Refusal> {
    let (tokens, places) = tokens(query)?.into_iter().unzip();
    let mut parser = Parser { query, tokens, places, at: 0, depth: 0, inside: 0, operators: 0 };
    let named = parser.named_queries()?;
    let mut select = parser.select()?;
    put_in(&mut select, &named);
    select.named = named.into_iter().map(|(name, _)| name).collect();
    match parser.peek() {
        None => Ok(select),
        Some(_) => Err(parser.unexpected("the end of the query")),
    }
}

/// Puts queries in the place of the names that `WITH` gives them.
fn put_in(select: &mut Select, named: &[(Name, Select)]) {
    for from in &mut select.from {
        let found = named.iter().find(|(name, _)| from.query.is_none() && from.table.is(&name.text));
        if let Some((name, query)) = found {
            from.alias.get_or_insert_with(|| name.text.clone());
            from.query = Some(Box::new(query.clone()));
        }
    }
}

struct Parser<'a> {
    query: &'a str,
    tokens: Vec<Token>,
    places: Vec<Range<usize>>,
    at: usize,
    depth: usize,
    /// How many queries this one is inside of.
    inside: usize,
    operators: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        matches!(self.tokens.get(self.at + ahead), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn has_word(&self, places: Range<usize>, word: &str) -> bool {
        let is_word = |token: &Token| matches!(token, Token::Word(found) if found.eq_ignore_ascii_case(word));
        self.tokens[places].iter().any(is_word)
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
            Token::Sign("%") => Refusal::invalid(
                "the sign % is not supported, because engines disagree on it; write x - FLOOR(x / 7) * 7",
            ),
            token => Refusal::invalid(format!("query has {} here, expected {expected}", token.shown())),
        }
    }

    /// The queries of `WITH`, each with its name.
    fn named_queries(&mut self) -> Result<Vec<(Name, Select)>, Refusal> {
        if !self.word("with") {
            return Ok(Vec::new());
        }
        if self.is_word(0, "recursive") {
            return Err(Refusal::invalid("query has WITH RECURSIVE, which has no bound; use WITH"));
        }
        let mut named = Vec::new();
        loop {
            let name = self.name()?;
            self.must_word("as")?;
            self.must_sign("(")?;
            let query = self.inner_query()?;
            if named.iter().any(|(known, _): &(Name, Select)| known.is(&name.text))
                || named.len() == MOST_NAMED
            {
                return Err(Refusal::invalid(
                    "query has too many names in WITH, or one of them twice; use fewer",
                ));
            }
            named.push((name, query));
            if !self.sign(",") {
                return Ok(named);
            }
        }
    }

    /// A query inside of this one, with the bracket that closes it.
    fn inner_query(&mut self) -> Result<Select, Refusal> {
        self.inside += 1;
        if self.inside > 1 {
            return Err(Refusal::invalid(
                "query has a subquery inside of a subquery; use one, FROM a table of the catalog",
            ));
        }
        let select = self.select()?;
        self.must_sign(")")?;
        self.inside -= 1;
        Ok(select)
    }

    fn select(&mut self) -> Result<Select, Refusal> {
        self.must_word("select")?;
        let distinct = self.word("distinct");
        let items = self.list(Self::item)?;
        self.must_word("from")?;
        let from = self.tables()?;
        let filter = if self.word("where") { Some(self.expr()?) } else { None };
        let mut group_by = self.list_by("group", Self::expr)?;
        if distinct {
            if !group_by.is_empty() {
                return Err(Refusal::invalid("query has SELECT DISTINCT and GROUP BY; remove DISTINCT"));
            }
            group_by = items.iter().map(|item| item.expr.clone()).collect();
        }
        let having = if self.word("having") { Some(self.expr()?) } else { None };
        let order_by = self.list_by("order", Self::ordering)?;
        let limit = if self.word("limit") { Some(self.whole()?) } else { None };
        Ok(Select { named: Vec::new(), items, from, filter, group_by, having, order_by, limit })
    }

    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T, Refusal>) -> Result<Vec<T>, Refusal> {
        let mut all = vec![one(self)?];
        while self.sign(",") {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// The list of a clause such as `GROUP BY`; empty without it.
    fn list_by<T>(
        &mut self,
        clause: &str,
        one: fn(&mut Self) -> Result<T, Refusal>,
    ) -> Result<Vec<T>, Refusal> {
        if !self.word(clause) {
            return Ok(Vec::new());
        }
        self.must_word("by")?;
        self.list(one)
    }

    fn item(&mut self) -> Result<Item, Refusal> {
        if self.inside > 0 && self.sign("*") {
            return Ok(Item { expr: Expr::Star, alias: None, text: "*".to_owned() });
        }
        if matches!(self.peek(), Some(Token::Sign("*"))) {
            return Err(Refusal::invalid(
                "query selects *, but raw rows are never released; select keys and aggregates",
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
            let side = if self.word("left") {
                let _ = self.word("outer");
                Side::Left
            } else if self.word("right") {
                let _ = self.word("outer");
                Side::Right
            } else if self.word("inner") || self.is_word(0, "join") {
                Side::Neither
            } else if matches!(self.peek(), Some(Token::Sign(","))) {
                return Err(Refusal::invalid("query lists several tables; join them with JOIN … ON"));
            } else {
                return Ok(all);
            };
            self.must_word("join")?;
            let mut joined = self.table(true)?;
            let on = if self.word("using") {
                self.must_sign("(")?;
                let names = self.list(Self::name)?;
                self.must_sign(")")?;
                On::Using(names)
            } else {
                self.must_word("on")?;
                On::Condition(self.expr()?)
            };
            joined.join = Some(Join { side, on });
            all.push(joined);
        }
    }

    fn table(&mut self, joined: bool) -> Result<From, Refusal> {
        if self.sign("(") {
            if !self.is_word(0, "select") {
                return Err(Refusal::invalid(match joined {
                    true => "query has brackets around a join; write JOIN after JOIN",
                    false => "query has brackets around a table; write FROM a table of the catalog",
                }));
            }
            let query = Some(Box::new(self.inner_query()?));
            let table = Name { text: String::new(), quoted: true };
            return Ok(From { table, query, alias: self.alias()?, join: None });
        }
        let table = self.name()?;
        if matches!(self.peek(), Some(Token::Sign("." | "("))) {
            return Err(Refusal::invalid(format!(
                "table {} is not a plain name; use the name of a table in the catalog",
                table.shown()
            )));
        }
        Ok(From { table, query: None, alias: self.alias()?, join: None })
    }

    fn ordering(&mut self) -> Result<(Expr, Direction), Refusal> {
        let expr = self.expr()?;
        if self.word("desc") {
            return Ok((expr, Direction::Descending));
        }
        let _ = self.word("asc");
        Ok((expr, Direction::Ascending))
    }

    fn whole(&mut self) -> Result<u64, Refusal> {
        match self.peek() {
            Some(Token::Number(number)) if number.fract() == 0.0 && *number >= 0.0 && *number <= 1e15 => {
                let number = *number as u64;
                self.at += 1;
                Ok(number)
            }
            _ => Err(self.unexpected("an integer number of rows")),
        }
    }

    /// Or, and, not, comparison, sum, product, sign, atom: from loose to tight.
    fn expr(&mut self) -> Result<Expr, Refusal> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Refusal::invalid(format!(
                "query is nested deeper than {DEEPEST} levels; use fewer parentheses"
            )));
        }
        let any = self.chain("or", Expr::Or, |parser| parser.chain("and", Expr::And, Self::negation))?;
        self.depth -= 1;
        Ok(any)
    }

    /// Conditions with a word between them.
    fn chain(
        &mut self,
        word: &str,
        join: fn(Vec<Expr>) -> Expr,
        one: fn(&mut Self) -> Result<Expr, Refusal>,
    ) -> Result<Expr, Refusal> {
        let mut all = vec![one(self)?];
        while self.word(word) {
            all.push(one(self)?);
            if all.len() > LONGEST {
                return Err(too_long(LONGEST));
            }
        }
        Ok(if all.len() == 1 { all.remove(0) } else { join(all) })
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
        let negated = self.is_word(0, "not")
            && ["in", "between", "like", "ilike"].iter().any(|word| self.is_word(1, word));
        self.at += usize::from(negated);
        let any_case = self.is_word(0, "ilike");
        if any_case || self.is_word(0, "like") {
            self.at += 1;
            let like = self.like(left, any_case)?;
            return Ok(if negated { Expr::Not(Box::new(like)) } else { like });
        }
        if self.word("in") {
            self.must_sign("(")?;
            if self.is_word(0, "select") {
                let query = Box::new(self.inner_query()?);
                return Ok(Expr::InQuery { expr: Box::new(left), query, negated });
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

    /// The pattern after `LIKE`.
    fn like(&mut self, left: Expr, any_case: bool) -> Result<Expr, Refusal> {
        let Some(Token::Text(pattern)) = self.peek() else {
            return Err(self.unexpected("a pattern in single quotes after LIKE"));
        };
        let pattern = pattern.clone();
        self.at += 1;
        if self.is_word(0, "escape") {
            return Err(Refusal::invalid(
                "query has ESCAPE, which engines read differently; compare with = or IN",
            ));
        }
        Ok(Expr::Like { expr: Box::new(left), pattern, any_case })
    }

    fn sum(&mut self) -> Result<Expr, Refusal> {
        let mut left = self.product()?;
        for _ in 0..DEEPEST {
            let operator = match self.peek() {
                Some(Token::Sign("+")) => Operator::Add,
                Some(Token::Sign("-")) => Operator::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
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
        loop {
            let operator = match self.peek() {
                Some(Token::Sign("*")) => Operator::Multiply,
                Some(Token::Sign("/")) => Operator::Divide,
                _ => break,
            };
            self.at += 1;
            left = self.arithmetic(operator, left, Self::signed)?;
            factors += 1;
            if factors > DEEPEST {
                return Err(too_long(DEEPEST));
            }
        }
        if matches!(self.peek(), Some(Token::Sign("%"))) {
            return Err(self.unexpected(""));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Expr, Refusal> {
        let mut negated = false;
        while matches!(self.peek(), Some(Token::Sign("-" | "+"))) {
            negated ^= self.sign("-");
            let _ = self.sign("+");
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
            Some(&Token::Number(number)) => self.constant(Expr::Number(number)),
            Some(Token::Text(text)) => {
                let text = text.clone();
                self.constant(Expr::Text(text))
            }
            Some(Token::Sign("(")) => {
                self.at += 1;
                if self.is_word(0, "select") {
                    return Err(Refusal::invalid("query has a subquery; use columns, numbers and strings"));
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
                    "date" if matches!(self.tokens.get(self.at + 1), Some(Token::Text(_))) => {
                        self.at += 1;
                        let arguments = vec![self.atom()?];
                        Ok(Expr::Call { name: word, distinct: false, arguments })
                    }
                    "extract" if matches!(self.tokens.get(self.at + 1), Some(Token::Sign("("))) => {
                        self.extract()
                    }
                    "cast" if matches!(self.tokens.get(self.at + 1), Some(Token::Sign("("))) => self.cast(),
                    _ if matches!(self.tokens.get(self.at + 1), Some(Token::Sign("("))) => self.call(),
                    _ => self.column(),
                }
            }
            Some(Token::Name(_)) => self.column(),
            _ => Err(self.unexpected("a column, a number, a string or an aggregate")),
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
        let from = self.at;
        let compared = if self.is_word(0, "when") { None } else { Some(self.expr()?) };
        // It is written once for each branch.
        if self.at - from > LONGEST_COMPARED || self.has_word(from..self.at, "case") {
            return Err(Refusal::invalid(
                "the expression after CASE is too long; write CASE WHEN column = …",
            ));
        }
        let mut branches = Vec::new();
        while self.word("when") {
            let mut condition = self.expr()?;
            if let Some(compared) = &compared {
                let (left, right) = (Box::new(compared.clone()), Box::new(condition));
                condition = Expr::Compare(Comparison::Equal, left, right);
            }
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

    /// `EXTRACT(YEAR FROM x)`, as the function of that name.
    fn extract(&mut self) -> Result<Expr, Refusal> {
        self.at += 2;
        let name = match self.peek() {
            Some(Token::Word(word)) => word.to_lowercase(),
            _ => return Err(self.unexpected("a part of a date, such as YEAR")),
        };
        self.at += 1;
        self.must_word("from")?;
        let arguments = vec![self.expr()?];
        self.must_sign(")")?;
        Ok(Expr::Call { name, distinct: false, arguments })
    }

    /// `CAST(x AS DOUBLE)`: numbers are that already.
    fn cast(&mut self) -> Result<Expr, Refusal> {
        self.at += 2;
        let expr = self.expr()?;
        self.must_word("as")?;
        let is_float = ["double", "float", "real"].iter().any(|word| self.word(word));
        let _ = is_float && self.word("precision");
        if !is_float {
            return Err(Refusal::invalid(
                "query has CAST to a type other than DOUBLE; for an integer write FLOOR(x), because engines round \
                 differently, and declare the type of a column in the catalog, because a cast can fail on one row",
            ));
        }
        self.must_sign(")")?;
        Ok(Expr::Call { name: "double".to_owned(), distinct: false, arguments: vec![expr] })
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
            return Err(Refusal::invalid("query has a subquery; use columns, numbers and strings"));
        }
        let arguments =
            if matches!(self.peek(), Some(Token::Sign(")"))) { Vec::new() } else { self.list(Self::expr)? };
        self.must_sign(")")?;
        if matches!(name.as_str(), "percentile_cont" | "percentile_disc") && !distinct {
            return self.percentile(&arguments);
        }
        self.plain(Expr::Call { name, distinct, arguments })
    }

    /// A call such as `PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)`, with what SQL wants behind it: `QUANTILE(x, 0.5)`.
    fn percentile(&mut self, arguments: &[Expr]) -> Result<Expr, Refusal> {
        let [Expr::Number(rank)] = arguments else {
            return Err(Refusal::invalid(
                "a percentile has invalid arguments, expected PERCENTILE_CONT(rank) WITHIN GROUP (ORDER BY x)",
            ));
        };
        for word in ["within", "group"] {
            self.must_word(word)?;
        }
        self.must_sign("(")?;
        for word in ["order", "by"] {
            self.must_word(word)?;
        }
        let (of, direction) = self.ordering()?;
        self.must_sign(")")?;
        let rank = if direction == Direction::Descending { 1.0 - rank } else { *rank };
        let arguments = vec![of, Expr::Number(rank)];
        self.plain(Expr::Call { name: "quantile".to_owned(), distinct: false, arguments })
    }

    /// A call with its filter, and without what else SQL allows behind it.
    fn plain(&mut self, call: Expr) -> Result<Expr, Refusal> {
        let call = if self.is_word(0, "filter") { self.filtered(call)? } else { call };
        for word in ["over", "within"] {
            if self.is_word(0, word) {
                return Err(self.unexpected("nothing after the aggregate"));
            }
        }
        Ok(call)
    }

    /// `f(x) FILTER (WHERE c)` as `f(CASE WHEN c THEN x END)`: the same rows count, and x is missing on those where c does not hold.
    fn filtered(&mut self, call: Expr) -> Result<Expr, Refusal> {
        self.at += 1;
        self.must_sign("(")?;
        self.must_word("where")?;
        let condition = self.expr()?;
        self.must_sign(")")?;
        let kept = |x: Expr| Expr::Case { branches: vec![(condition, x)], otherwise: None };
        match call {
            Expr::CountAll => {
                let arguments = vec![kept(Expr::Number(1.0))];
                Ok(Expr::Call { name: "count".to_owned(), distinct: false, arguments })
            }
            Expr::Call { name, distinct: false, mut arguments } if !arguments.is_empty() => {
                arguments[0] = kept(arguments[0].clone());
                Ok(Expr::Call { name, distinct: false, arguments })
            }
            _ => Err(Refusal::invalid(
                "FILTER after COUNT(DISTINCT …) is not supported; put the condition into WHERE",
            )),
        }
    }
}

fn too_long(most: usize) -> Refusal {
    Refusal::invalid(format!("query has an expression of more than {most} terms; write a shorter one"))
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
            ("select * from t", "raw rows are never released"),
            ("select count(*) from (select * from (select * from t) u) v", "inside of a subquery"),
            ("select count(*) from t union select 1 from t", "UNION"),
            ("with recursive x as (select a from t) select count(*) from x", "RECURSIVE"),
            ("with x as (select a from t), x as (select a from t) select count(*) from x", "twice"),
            ("select count(*) from t with x as (select 1)", "WITH"),
            ("select sum(a % b) from t", "sign %"),
            ("select percentile_cont(a) within group (order by b) from t", "WITHIN GROUP"),
            ("select sum(cast(a as int)) from t", "CAST"),
            ("select count(*) over () from t", "OVER"),
            ("select count(*) from t where a = (select b from u)", "subquery"),
            ("select count(*) from t where exists (select 1 from t)", "EXISTS"),
            ("select count(*) from t where a like b", "pattern"),
            ("select count(*) from t where a like 'x' escape 'y'", "ESCAPE"),
            ("select distinct a from t group by a", "DISTINCT"),
            ("select count(*) from t, u", "JOIN"),
            ("select count(*) from t tablesample (10)", "expected"),
            ("select count(*) from t full join u on t.a = u.a", "LEFT JOIN"),
            ("select count(*) from s.t", "not a plain name"),
            ("select count(*) from t limit 5 offset 2", "OFFSET"),
            ("select count(distinct a) filter (where a > 2) from t", "FILTER"),
            ("select sum(a) from t filter (where a > 2)", "FILTER"),
            ("drop table t", "SELECT"),
            ("select count(*) from t; drop table t", "character"),
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

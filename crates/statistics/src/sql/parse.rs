//! The grammar. It is the first wall: what it does not know cannot reach an engine.
//!
//! Spellings that mean the same become one here: `FILTER (WHERE …)` a `CASE`, `EXTRACT(YEAR FROM x)` the function `YEAR(x)`.
//!
//! It is written by hand because it is meant to be small: `SELECT` … `FROM` … `JOIN` … `WHERE` … `GROUP BY` … `HAVING` …
//! `ORDER BY` … `LIMIT` (`parse/clauses.rs`), with expressions (`parse/expressions.rs`, `parse/calls.rs`) that cannot fail on any row.
//! Words that SQL has and this does not are refused by name, with what to write instead.

mod calls;
mod clauses;
mod expressions;

use crate::sql::{
    ast::{Name, Select},
    lex::{Token, tokens},
};
pub(crate) use clauses::{MOST_GROUPINGS, too_many_groupings};
use std::ops::Range;
use veracity_core::Refusal;

/// Words that end a list or begin a clause, and so are no aliases.
const RESERVED: [&str; 33] = [
    "select", "from", "where", "group", "having", "order", "limit", "join", "inner", "left", "right", "full",
    "cross", "on", "and", "or", "not", "as", "by", "union", "intersect", "except", "with", "case", "when",
    "then", "else", "end", "natural", "using", "offset", "like", "ilike",
];

/// Words of SQL that are not spoken here, and what to write instead.
const FOREIGN: [(&str, &str); 20] = [
    ("union", "one query at a time, because the caps of a person hold within one query"),
    ("intersect", "one query at a time"),
    ("except", "one query at a time"),
    ("with", "WITH at the beginning of the query"),
    ("over", "an aggregate with GROUP BY, because a window returns one row for each row of the table"),
    ("similar", "= or IN with strings"),
    ("exists", "EXISTS (SELECT …) in WHERE, alone or with AND"),
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
    clauses::put_in(&mut select, &named);
    select.named = named.into_iter().map(|(name, _)| name).collect();
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::ast::Expr;

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
            ("select sum(cast(a as varchar)) from t", "CAST"),
            ("select count(*) over () from t", "OVER"),
            ("select count(*) from t where a = (select b from u)", "subquery"),
            ("select count(*) from t group by rollup (a, cube (b, c))", "one inside of another"),
            ("select count(*) from t group by cube (a, b, c, d, e, f)", "at most 32 groupings"),
            ("select count(*) from t group by a with cube", "WITH"),
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

//! The clauses of a query: `WITH`, `SELECT`, `FROM`, `JOIN`, `GROUP BY` and those after it.

use super::{FOREIGN, Parser, RESERVED};
use crate::sql::{
    ast::{Direction, Expr, From, Item, Join, Name, On, Select, Side},
    lex::Token,
};
use veracity_core::Refusal;

/// The most queries that have a name.
const MOST_NAMED: usize = 8;
/// The most groupings of a query: `CUBE` of five keys.
pub(crate) const MOST_GROUPINGS: usize = 32;

/// Puts queries in the place of the names that `WITH` gives them.
pub(super) fn put_in(select: &mut Select, named: &[(Name, Select)]) {
    for from in &mut select.from {
        let found = named.iter().find(|(name, _)| from.query.is_none() && from.table.is(&name.text));
        if let Some((name, query)) = found {
            from.alias.get_or_insert_with(|| name.text.clone());
            from.query = Some(Box::new(query.clone()));
        }
    }
}

/// The sets of keys of one `ROLLUP`, `CUBE` or `GROUPING SETS`.
type Sets = Vec<Vec<Expr>>;

impl Parser<'_> {
    /// The queries of `WITH`, each with its name.
    pub(super) fn named_queries(&mut self) -> Result<Vec<(Name, Select)>, Refusal> {
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
    pub(super) fn inner_query(&mut self) -> Result<Select, Refusal> {
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

    pub(super) fn select(&mut self) -> Result<Select, Refusal> {
        self.must_word("select")?;
        let distinct = self.word("distinct");
        let items = self.list(Self::item)?;
        self.must_word("from")?;
        let from = self.tables()?;
        let filter = if self.word("where") { Some(self.expr()?) } else { None };
        let (mut group_by, grouping_sets) = self.groups()?;
        if distinct {
            if !(group_by.is_empty() && grouping_sets.is_empty()) {
                return Err(Refusal::invalid("query has SELECT DISTINCT and GROUP BY; remove DISTINCT"));
            }
            group_by = items.iter().map(|item| item.expr.clone()).collect();
        }
        let having = if self.word("having") { Some(self.expr()?) } else { None };
        let order_by = self.list_by("order", Self::ordering)?;
        let limit = if self.word("limit") { Some(self.whole()?) } else { None };
        Ok(Select {
            named: Vec::new(),
            items,
            from,
            filter,
            group_by,
            grouping_sets,
            having,
            order_by,
            limit,
        })
    }

    /// `GROUP BY`: keys, and the sets of `ROLLUP`, `CUBE` and `GROUPING SETS`.
    fn groups(&mut self) -> Result<(Vec<Expr>, Vec<Sets>), Refusal> {
        let (mut keys, mut all) = (Vec::new(), Vec::new());
        if !self.word("group") {
            return Ok((keys, all));
        }
        self.must_word("by")?;
        loop {
            match self.sets()? {
                Some(sets) => all.push(sets),
                None => keys.push(self.expr()?),
            }
            if !self.sign(",") {
                break;
            }
        }
        // As MySQL writes it.
        if self.is_word(0, "with") && self.is_word(1, "rollup") && all.is_empty() {
            self.at += 2;
            all.push(rollup(std::mem::take(&mut keys).into_iter().map(|key| vec![key]).collect()));
        }
        Ok((keys, all))
    }

    /// `ROLLUP (…)`, `CUBE (…)` or `GROUPING SETS (…)`, where one of them follows.
    fn sets(&mut self) -> Result<Option<Sets>, Refusal> {
        let follows =
            |parser: &Self, at: usize| matches!(parser.tokens.get(parser.at + at), Some(Token::Sign("(")));
        let is_sets = self.is_word(0, "grouping") && self.is_word(1, "sets") && follows(self, 2);
        let is_rollup = self.is_word(0, "rollup") && follows(self, 1);
        let is_cube = self.is_word(0, "cube") && follows(self, 1);
        if !(is_sets || is_rollup || is_cube) {
            return Ok(None);
        }
        self.at += if is_sets { 3 } else { 2 };
        let all = self.list(Self::set)?;
        self.must_sign(")")?;
        let sets = match (is_rollup, is_cube) {
            (true, _) => rollup(all),
            (_, true) => cube(&all)?,
            _ => all,
        };
        if sets.len() > MOST_GROUPINGS { Err(too_many_groupings()) } else { Ok(Some(sets)) }
    }

    /// One key, or several in brackets, or none.
    fn set(&mut self) -> Result<Vec<Expr>, Refusal> {
        if ["rollup", "cube", "grouping"].iter().any(|word| self.is_word(0, word)) {
            return Err(Refusal::invalid(
                "query has ROLLUP, CUBE or GROUPING SETS one inside of another; list the sets in GROUPING SETS",
            ));
        }
        let from = self.at;
        if self.sign("(") {
            if self.sign(")") {
                return Ok(Vec::new());
            }
            let all = self.list(Self::expr)?;
            self.must_sign(")")?;
            if matches!(self.peek(), Some(Token::Sign("," | ")"))) {
                return Ok(all);
            }
            // The brackets are a part of an expression.
            self.at = from;
        }
        Ok(vec![self.expr()?])
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
            return Ok(From { query, alias: self.alias()?, ..From::of(table) });
        }
        let table = self.name()?;
        if matches!(self.peek(), Some(Token::Sign("." | "("))) {
            return Err(Refusal::invalid(format!(
                "table {} is not a plain name; use the name of a table in the catalog",
                table.shown()
            )));
        }
        Ok(From { alias: self.alias()?, ..From::of(table) })
    }

    pub(super) fn ordering(&mut self) -> Result<(Expr, Direction), Refusal> {
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
}

/// All keys, all but the last, and so on to none.
fn rollup(all: Sets) -> Sets {
    (0..=all.len()).rev().map(|kept| all[..kept].concat()).collect()
}

/// All subsets, those with the first keys first.
fn cube(all: &[Vec<Expr>]) -> Result<Sets, Refusal> {
    let most = MOST_GROUPINGS.ilog2() as usize;
    if all.len() > most {
        return Err(too_many_groupings());
    }
    let of = |chosen: usize| {
        let is_in = move |at: &usize| chosen >> (all.len() - 1 - at) & 1 == 1;
        (0..all.len()).filter(is_in).flat_map(|at| all[at].clone()).collect()
    };
    Ok((0..1usize << all.len()).rev().map(of).collect())
}

/// The refusal of too many groupings.
pub(crate) fn too_many_groupings() -> Refusal {
    Refusal::invalid(format!(
        "query has too many groupings, expected at most {MOST_GROUPINGS} groupings; use fewer keys"
    ))
}

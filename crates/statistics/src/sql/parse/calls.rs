//! Calls of functions and aggregates, with the spellings that mean the same: `EXTRACT`, `CAST`, `WITHIN GROUP`, `FILTER`.

use super::{FOREIGN, Parser};
use crate::sql::{
    ast::{Direction, Expr},
    lex::Token,
};
use veracity_core::Refusal;

impl Parser<'_> {
    /// `EXTRACT(YEAR FROM x)`, as the function of that name.
    pub(super) fn extract(&mut self) -> Result<Expr, Refusal> {
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

    /// `CAST(x AS DOUBLE)`: numbers are that already. `CAST(x AS INTEGER)`: without what is behind the point.
    pub(super) fn cast(&mut self) -> Result<Expr, Refusal> {
        self.at += 2;
        let expr = self.expr()?;
        self.must_word("as")?;
        let is_float = ["double", "float", "real"].iter().any(|word| self.word(word));
        let _ = is_float && self.word("precision");
        let is_integer =
            !is_float && ["integer", "int", "bigint", "smallint"].iter().any(|word| self.word(word));
        if !(is_float || is_integer) {
            return Err(Refusal::invalid(
                "query has CAST to a type other than DOUBLE and INTEGER; declare the type of a column in the catalog, because a \
                 cast can fail on one row",
            ));
        }
        self.must_sign(")")?;
        let name = if is_float { "double" } else { "trunc" }.to_owned();
        Ok(Expr::Call { name, distinct: false, arguments: vec![expr] })
    }

    pub(super) fn call(&mut self) -> Result<Expr, Refusal> {
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

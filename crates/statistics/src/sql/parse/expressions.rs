//! Expressions, from loose to tight: `OR`, `AND`, `NOT`, comparisons, sums, products, signs, and what has no parts.

use super::Parser;
use crate::sql::{
    ast::{Comparison, Expr, Operator},
    lex::Token,
};
use veracity_core::Refusal;

/// The deepest nesting of expressions.
const DEEPEST: usize = 64;
/// The most conditions in a row.
const LONGEST: usize = 200;
/// The most words and signs between CASE and WHEN.
const LONGEST_COMPARED: usize = 24;
/// The most + − × ÷ of a query: each makes an expression one deeper.
const MOST_OPERATORS: usize = 500;

impl Parser<'_> {
    /// Or, and, not, comparison, sum, product, sign, atom: from loose to tight.
    pub(super) fn expr(&mut self) -> Result<Expr, Refusal> {
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
    pub(super) fn like(&mut self, left: Expr, any_case: bool) -> Result<Expr, Refusal> {
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

    pub(super) fn sum(&mut self) -> Result<Expr, Refusal> {
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

    pub(super) fn atom(&mut self) -> Result<Expr, Refusal> {
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
                    "exists" if matches!(self.tokens.get(self.at + 1), Some(Token::Sign("("))) => {
                        self.at += 2;
                        Ok(Expr::Exists(Box::new(self.inner_query()?)))
                    }
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

    pub(super) fn column(&mut self) -> Result<Expr, Refusal> {
        let name = self.name()?;
        if !self.sign(".") {
            return Ok(Expr::Column(None, name));
        }
        Ok(Expr::Column(Some(name), self.name()?))
    }

    pub(super) fn case(&mut self) -> Result<Expr, Refusal> {
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
}

fn too_long(most: usize) -> Refusal {
    Refusal::invalid(format!("query has an expression of more than {most} terms; write a shorter one"))
}

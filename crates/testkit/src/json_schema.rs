//! JSON Schema as far as `docs/schemas` uses it (draft 2020-12): is a value what a schema says?
//!
//! A keyword that is not known here, a pattern of another kind and a reference to nothing are errors of the schema, found when it
//! is read: a rule that is not understood must not pass for one that holds.

use serde_json::{Map, Value};
use std::{collections::BTreeMap, fs, path::Path};

/// Keywords that say nothing of a value.
const SILENT: [&str; 4] = ["$schema", "$defs", "title", "description"];

/// The schemas of a folder, by the names of their files.
#[derive(Debug)]
pub struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    /// Reads every `.json` of a folder, and refuses what this module does not understand.
    pub fn read(folder: &Path) -> Result<Schemas, String> {
        let shown = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(|error| shown(&error))? {
            let path = entry.map_err(|error| shown(&error))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with(".json") {
                let text = fs::read_to_string(&path).map_err(|error| shown(&error))?;
                files.insert(name, serde_json::from_str(&text).map_err(|error| shown(&error))?);
            }
        }
        Schemas::new(files)
    }

    /// Schemas by name, all of whose rules are understood.
    pub fn new(files: BTreeMap<String, Value>) -> Result<Schemas, String> {
        let all = Schemas(files);
        for (file, schema) in &all.0 {
            all.understand(file, schema).map_err(|why| format!("{file}: {why}"))?;
        }
        Ok(all)
    }

    /// The names of the files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// A schema as it is written.
    pub fn get(&self, file: &str) -> Option<&Value> {
        self.0.get(file)
    }

    /// Holds a value against the schema that a reference such as `claim-2.json` or `local-1.json#/$defs/report` names; an error
    /// says where in the value which rule is broken.
    pub fn check(&self, reference: &str, value: &Value) -> Result<(), String> {
        let (file, schema) = self.find("", reference)?;
        self.holds(file, schema, value, "$")
    }

    /// The schema that a reference in `file` names, and the file that it is in.
    fn find<'a>(&'a self, file: &'a str, reference: &'a str) -> Result<(&'a str, &'a Value), String> {
        let (named, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let file = if named.is_empty() { file } else { named };
        let found = self.0.get(file).and_then(|schema| schema.pointer(pointer));
        Ok((file, found.ok_or_else(|| format!("{reference} is a reference to nothing"))?))
    }

    /// Every rule of a schema, and of those in it, is one that `holds` knows.
    fn understand(&self, file: &str, schema: &Value) -> Result<(), String> {
        let rules = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(rules) => rules,
            _ => return Err("a schema is an object or a truth value".to_owned()),
        };
        for (keyword, rule) in rules {
            let inner: Vec<&Value> = match (keyword.as_str(), rule) {
                ("oneOf" | "anyOf", Value::Array(all)) => all.iter().collect(),
                ("properties" | "$defs", Value::Object(all)) => all.values().collect(),
                ("items" | "additionalProperties", one) => vec![one],
                ("$ref", Value::String(reference)) => self.find(file, reference).map(|_| Vec::new())?,
                ("type", rule) if types(rule).is_some() => Vec::new(),
                ("pattern", Value::String(pattern)) if digits(pattern).is_some() => Vec::new(),
                ("required", rule) if texts(rule).is_some() => Vec::new(),
                ("enum", Value::Array(_)) | ("const", _) => Vec::new(),
                ("minimum" | "maximum", Value::Number(_)) => Vec::new(),
                ("minItems" | "maxItems" | "minLength" | "maxLength", rule) if rule.is_u64() => Vec::new(),
                (silent, Value::String(_)) if SILENT.contains(&silent) => Vec::new(),
                _ => return Err(format!("{keyword}: {rule} is not understood")),
            };
            inner.into_iter().try_for_each(|schema| self.understand(file, schema))?;
        }
        Ok(())
    }

    fn holds(&self, file: &str, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        match schema {
            Value::Object(rules) => rules
                .iter()
                .try_for_each(|(keyword, rule)| self.rule(file, (keyword, rule), rules, value, place)),
            Value::Bool(true) => Ok(()),
            _ => Err(format!("{place} may not be there")),
        }
    }

    fn rule(
        &self,
        file: &str,
        (keyword, rule): (&str, &Value),
        rules: &Map<String, Value>,
        value: &Value,
        place: &str,
    ) -> Result<(), String> {
        let broken = || Err(format!("{place} breaks {keyword} {rule}"));
        let so = |holds: bool| if holds { Ok(()) } else { broken() };
        let each = |alternatives: &Value| -> Vec<Result<(), String>> {
            let all = alternatives.as_array().into_iter().flatten();
            all.map(|schema| self.holds(file, schema, value, place)).collect()
        };
        let limit = rule.as_u64().unwrap_or_default() as usize;
        match (keyword, value) {
            ("$ref", _) => {
                let (file, schema) = self.find(file, rule.as_str().unwrap_or_default())?;
                self.holds(file, schema, value, place)
            }
            ("type", _) => so(types(rule).is_some_and(|all| all.iter().any(|name| is_a(name, value)))),
            ("const", _) => so(same(rule, value)),
            ("enum", _) => so(rule.as_array().is_some_and(|all| all.iter().any(|one| same(one, value)))),
            ("oneOf", _) => match each(rule).iter().filter(|held| held.is_ok()).count() {
                1 => Ok(()),
                many => Err(format!("{place} is {many} of its alternatives, expected 1")),
            },
            ("anyOf", _) => so(each(rule).iter().any(Result::is_ok)),
            ("required", Value::Object(fields)) => {
                match texts(rule).into_iter().flatten().find(|name| !fields.contains_key(*name)) {
                    Some(name) => Err(format!("{place} has no {name}")),
                    None => Ok(()),
                }
            }
            ("properties", Value::Object(fields)) => {
                rule.as_object().into_iter().flatten().try_for_each(|(name, schema)| match fields.get(name) {
                    Some(field) => self.holds(file, schema, field, &format!("{place}.{name}")),
                    None => Ok(()),
                })
            }
            ("additionalProperties", Value::Object(fields)) => {
                let known = rules.get("properties").and_then(Value::as_object);
                let mut others =
                    fields.iter().filter(|(name, _)| !known.is_some_and(|known| known.contains_key(*name)));
                others.try_for_each(|(name, field)| self.holds(file, rule, field, &format!("{place}.{name}")))
            }
            ("items", Value::Array(items)) => (0..).zip(items).try_for_each(|(at, item): (usize, _)| {
                self.holds(file, rule, item, &format!("{place}[{at}]"))
            }),
            ("minItems", Value::Array(items)) => so(items.len() >= limit),
            ("maxItems", Value::Array(items)) => so(items.len() <= limit),
            ("minLength", Value::String(text)) => so(text.chars().count() >= limit),
            ("maxLength", Value::String(text)) => so(text.chars().count() <= limit),
            ("minimum", Value::Number(number)) => so(number.as_f64() >= rule.as_f64()),
            ("maximum", Value::Number(number)) => so(number.as_f64() <= rule.as_f64()),
            ("pattern", Value::String(text)) => so(rule.as_str().and_then(digits).is_some_and(|length| {
                is_hexadecimal(text) && length.is_none_or(|length| text.len() == length)
            })),
            // A rule about another type of value says nothing of this one; that all rules are known was checked before.
            _ => Ok(()),
        }
    }
}

/// The words of a list of words.
fn texts(rule: &Value) -> Option<Vec<&str>> {
    rule.as_array()?.iter().map(Value::as_str).collect()
}

/// The types that are allowed, all of which are known.
fn types(rule: &Value) -> Option<Vec<&str>> {
    let all = rule.as_str().map_or_else(|| texts(rule), |one| Some(vec![one]))?;
    let known = ["null", "boolean", "object", "array", "number", "integer", "string"];
    all.iter().all(|name| known.contains(name)).then_some(all)
}

fn is_a(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64() || value.as_f64().is_some_and(|x| x.fract() == 0.0),
        "string" => value.is_string(),
        _ => false,
    }
}

/// Equal as JSON has it: 1 and 1.0 are one number.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

/// Of a pattern for hexadecimal digits how many it asks for, if it asks for a number: the only patterns that there are.
fn digits(pattern: &str) -> Option<Option<usize>> {
    match pattern.strip_prefix("^[0-9a-f]")?.strip_suffix('$')? {
        "*" => Some(None),
        counted => counted.strip_prefix('{')?.strip_suffix('}')?.parse().ok().map(Some),
    }
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(schema: Value) -> Result<Schemas, String> {
        Schemas::new([("a.json".to_owned(), schema)].into())
    }

    /// The verdicts are those of the specification: JSON Schema 2020-12, Validation §6 and Core §10.
    #[test]
    fn each_rule_holds_and_breaks_where_the_specification_says() {
        for (schema, holds, breaks) in [
            (json!({"type": "integer"}), json!([1, 1.0, -3, 1e9]), json!([1.5, "1", null, [1]])),
            (json!({"type": ["number", "null"]}), json!([1.5, null]), json!([true, "x", {}])),
            (json!({"const": 1}), json!([1, 1.0]), json!([2, "1", true])),
            (json!({"const": false}), json!([false]), json!([0, null])),
            (json!({"enum": ["a", 1]}), json!(["a", 1.0]), json!(["b", true])),
            (json!({"minimum": 0, "maximum": 1}), json!([0, 0.5, 1, "no number"]), json!([-1e-9, 1.1])),
            (json!({"minLength": 1, "maxLength": 1}), json!(["a", "ä", 7]), json!(["", "ab"])),
            (
                json!({"pattern": "^[0-9a-f]{4}$"}),
                json!(["09af", 3]),
                json!(["09AF", "09a", "09aff", "09a\n"]),
            ),
            (json!({"pattern": "^[0-9a-f]*$"}), json!(["", "00"]), json!(["g", " "])),
            (json!({"items": {"type": "string"}}), json!([[], ["a"], {"b": 1}]), json!([["a", 1]])),
            (json!({"minItems": 1, "maxItems": 2}), json!([[1], [1, 2]]), json!([[], [1, 2, 3]])),
            (json!({"required": ["a"]}), json!([{"a": null}, {"a": 1, "b": 2}, []]), json!([{}, {"b": 1}])),
            (
                json!({"properties": {"a": {"type": "null"}}, "additionalProperties": false}),
                json!([{}, {"a": null}, 3]),
                json!([{"a": 1}, {"b": null}]),
            ),
            (json!({"additionalProperties": {"type": "string"}}), json!([{}, {"a": "x"}]), json!([{"a": 1}])),
            (json!({"anyOf": [{"type": "null"}, {"minimum": 3}]}), json!([null, 4, "x"]), json!([2])),
            (json!({"oneOf": [{"minimum": 3}, {"maximum": 5}]}), json!([2, 6]), json!([4, "x"])),
            (
                json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "array", "items": {"$ref": "a.json#/$defs/tree"}}}}),
                json!([[], [[], [[]]]]),
                json!([[[1]], 1]),
            ),
        ] {
            let schemas = one(schema.clone()).unwrap();
            for value in holds.as_array().unwrap() {
                assert_eq!(schemas.check("a.json", value), Ok(()), "{schema}");
            }
            for value in breaks.as_array().unwrap() {
                assert!(schemas.check("a.json", value).is_err(), "{schema} holds for {value}");
            }
        }
    }

    #[test]
    fn a_rule_that_is_not_understood_is_refused_wherever_it_is() {
        for rule in [
            json!({"patern": "x"}),
            json!({"pattern": "[a-z]+"}),
            json!({"type": "whole"}),
            json!({"type": 3}),
            json!({"$ref": "b.json"}),
            json!({"$ref": "#/$defs/none"}),
            json!({"format": "date"}),
            json!({"required": "a"}),
            json!({"minimum": "0"}),
            json!({"maxItems": -1}),
            json!({"enum": "a"}),
            json!(3),
        ] {
            for schema in [
                rule.clone(),
                json!({"properties": {"a": rule}}),
                json!({"$defs": {"a": {"items": rule}}}),
                json!({"oneOf": [{}, {"anyOf": [rule]}]}),
                json!({"additionalProperties": rule}),
            ] {
                assert!(one(schema.clone()).is_err(), "{schema}");
            }
        }
        assert!(one(json!({"properties": {"a": true, "b": false}})).is_ok());
        assert!(one(json!({})).unwrap().check("none.json", &json!(1)).is_err());
    }
}

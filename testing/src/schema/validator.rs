//! Finds the parts of a JSON value that contradict a JSON schema (draft 2020-12), for the keywords that
//! squall's schemas use. A schema with any other keyword, or with a reference that leads nowhere, is refused
//! when it is read, so no keyword is ever ignored.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords that only describe, and allow every value.
const NOTES: [&str; 4] = ["$schema", "$defs", "title", "description"];

/// Formats of numbers, whose bounds are also given by `minimum` and `maximum`.
const NUMBERS: [&str; 6] = ["double", "int64", "uint", "uint8", "uint32", "uint64"];

#[derive(Debug)]
pub struct Validator {
    schema: Value,
}

/// Whether an object may have keys that the schema does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    Allowed,
    Refused,
}

/// What was found in a value.
#[derive(Default)]
struct Found {
    /// Contradictions, each with its place.
    errors: Vec<String>,
    /// Keys of the value that the schema names.
    named: BTreeSet<String>,
}

impl Validator {
    /// # Panics
    /// If the schema has a keyword, type or format that this validator does not support.
    pub fn new(schema: Value) -> Validator {
        let validator = Validator { schema };
        validator.check_keywords(&validator.schema);
        validator
    }

    /// The contradictions between the value and the schema, each with its place.
    pub fn errors(&self, value: &Value, unknown: Unknown) -> Vec<String> {
        self.errors_at("", &self.schema, value, unknown)
    }

    /// Fails unless everything in this part of the schema is known.
    fn check_keywords(&self, schema: &Value) {
        let check = |schema| self.check_keywords(schema);
        for (keyword, argument) in object(schema) {
            match keyword.as_str() {
                "$ref" => drop(self.follow(argument)),
                "$defs" | "properties" => object(argument).values().for_each(check),
                "items" => check(argument),
                "anyOf" | "oneOf" => list(argument).iter().for_each(check),
                "required" => list(argument).iter().map(text).for_each(drop),
                "enum" => drop(list(argument)),
                "minLength" | "minItems" | "minimum" | "maximum" | "multipleOf" => {
                    number(argument);
                }
                "type" => types(argument).for_each(|name| {
                    is_of_type(&Value::Null, name);
                }),
                "format" => drop(has_format("", text(argument))),
                "const" => {}
                note if NOTES.contains(&note) => {}
                other => panic!("the schema has the keyword {other}, which is not supported"),
            }
        }
    }

    /// The contradictions between a part of the schema and `value`, which is at `place`.
    fn errors_at(
        &self,
        place: &str,
        schema: &Value,
        value: &Value,
        unknown: Unknown,
    ) -> Vec<String> {
        let mut found = Found::default();
        self.apply(place, schema, value, unknown, &mut found);
        if let (Unknown::Refused, Value::Object(map)) = (unknown, value) {
            let more = map.keys().filter(|key| !found.named.contains(*key));
            let more = more.map(|key| format!("{place}: unknown key {key}"));
            found.errors.extend(more);
        }
        found.errors
    }

    /// Adds to `found` what this part of the schema, which may be one of several about the value, says.
    fn apply(
        &self,
        place: &str,
        schema: &Value,
        value: &Value,
        unknown: Unknown,
        found: &mut Found,
    ) {
        for (keyword, argument) in object(schema) {
            let is_valid = match (keyword.as_str(), value) {
                ("$ref", _) => {
                    self.apply(place, self.follow(argument), value, unknown, found);
                    true
                }
                ("properties", Value::Object(map)) => {
                    for (key, schema) in object(argument) {
                        found.named.insert(key.clone());
                        if let Some(value) = map.get(key) {
                            let place = format!("{place}/{key}");
                            let errors = self.errors_at(&place, schema, value, unknown);
                            found.errors.extend(errors);
                        }
                    }
                    true
                }
                ("items", Value::Array(values)) => {
                    for (index, value) in values.iter().enumerate() {
                        let place = format!("{place}/{index}");
                        let errors = self.errors_at(&place, argument, value, unknown);
                        found.errors.extend(errors);
                    }
                    true
                }
                ("anyOf" | "oneOf", _) => {
                    let mut matches = 0;
                    for schema in list(argument) {
                        let mut inner = Found::default();
                        self.apply(place, schema, value, unknown, &mut inner);
                        if inner.errors.is_empty() {
                            matches += 1;
                            found.named.append(&mut inner.named);
                        }
                    }
                    matches == 1 || (keyword == "anyOf" && matches > 1)
                }
                ("required", Value::Object(map)) => {
                    list(argument).iter().all(|key| map.contains_key(text(key)))
                }
                ("type", _) => types(argument).any(|name| is_of_type(value, name)),
                ("const", _) => value == argument,
                ("enum", _) => list(argument).contains(value),
                ("format", Value::String(value)) => has_format(value, text(argument)),
                ("minLength", Value::String(text)) => {
                    text.chars().count() as f64 >= number(argument)
                }
                ("minItems", Value::Array(values)) => values.len() as f64 >= number(argument),
                ("minimum", Value::Number(_)) => number(value) >= number(argument),
                ("maximum", Value::Number(_)) => number(value) <= number(argument),
                ("multipleOf", Value::Number(_)) => number(value) % number(argument) == 0.0,
                _ => true,
            };
            if !is_valid {
                found
                    .errors
                    .push(format!("{place}: not {keyword} {argument}"));
            }
        }
    }

    /// The part of the schema that `$ref` names.
    fn follow(&self, reference: &Value) -> &Value {
        let reference = text(reference);
        let place = reference.strip_prefix('#');
        let part = place.and_then(|place| self.schema.pointer(place));
        part.unwrap_or_else(|| panic!("the schema has no {reference}"))
    }
}

/// Whether a text has this format.
fn has_format(text: &str, format: &str) -> bool {
    match format {
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        number if NUMBERS.contains(&number) => true,
        other => panic!("the schema has the format {other}, which is not supported"),
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("the schema has the type {other}, which is not supported"),
    }
}

/// The argument of `type`: a name, or a list of them.
fn types(argument: &Value) -> impl Iterator<Item = &str> {
    let names = match argument {
        Value::Array(names) => names.as_slice(),
        name => std::slice::from_ref(name),
    };
    names.iter().map(text)
}

#[track_caller]
fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object in the schema")
}

#[track_caller]
fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list in the schema")
}

#[track_caller]
fn text(value: &Value) -> &str {
    value.as_str().expect("a string in the schema")
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number in the schema")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Each keyword takes the first value and refuses the second.
    #[test]
    fn every_keyword_takes_and_refuses() {
        let cases = [
            (r#"{ "type": "null" }"#, "null", "false"),
            (r#"{ "type": "integer" }"#, "-2.0", "1.5"),
            (r#"{ "type": "number" }"#, "1.5", r#""1.5""#),
            (r#"{ "type": ["string", "boolean"] }"#, "true", "{}"),
            (r#"{ "const": "a" }"#, r#""a""#, r#""b""#),
            (r#"{ "enum": [1, "a"] }"#, r#""a""#, "2"),
            (
                r#"{ "format": "date-time" }"#,
                r#""2026-11-22T09:30:00.5Z""#,
                r#""today""#,
            ),
            (r#"{ "minLength": 2 }"#, r#""äö""#, r#""a""#),
            (r#"{ "minItems": 1 }"#, "[null]", "[]"),
            (r#"{ "minimum": 1 }"#, "1", "0.5"),
            (r#"{ "maximum": 35 }"#, "35", "36"),
            (r#"{ "multipleOf": 8 }"#, "16", "12"),
            (r#"{ "required": ["a"] }"#, r#"{ "a": 1 }"#, "{}"),
            (
                r#"{ "properties": { "a": { "const": 1 } } }"#,
                r#"{ "a": 1, "b": 2 }"#,
                r#"{ "a": 2 }"#,
            ),
            (r#"{ "items": { "type": "array" } }"#, "[[], []]", "[[], 1]"),
            (
                r#"{ "anyOf": [{ "type": "string" }, { "const": 1 }] }"#,
                "1",
                "2",
            ),
            (
                r#"{ "oneOf": [{ "minimum": 1 }, { "maximum": 5 }] }"#,
                "7",
                "3",
            ),
            (
                r##"{ "$ref": "#/$defs/a", "$defs": { "a": { "const": 1 } } }"##,
                "1",
                "2",
            ),
        ];
        for case in cases {
            let [schema, right, wrong] = [case.0, case.1, case.2]
                .map(|text| serde_json::from_str::<Value>(text).expect("JSON"));
            let validator = Validator::new(schema.clone());
            let errors = |value| validator.errors(value, Unknown::Allowed);
            assert_eq!(errors(&right), Vec::<String>::new(), "{schema}");
            assert_eq!(errors(&wrong).len(), 1, "{schema}: {wrong}");
        }
    }

    #[test]
    #[should_panic = "the keyword maxLength"]
    fn an_unsupported_keyword_is_refused() {
        Validator::new(json!({ "properties": { "a": { "maxLength": 1 } } }));
    }

    #[test]
    #[should_panic = "the type text"]
    fn an_unsupported_type_is_refused() {
        Validator::new(json!({ "items": { "type": "text" } }));
    }

    #[test]
    #[should_panic = "the format email"]
    fn an_unsupported_format_is_refused() {
        Validator::new(json!({ "items": { "format": "email" } }));
    }

    /// An object may be described by several parts of a schema.
    #[test]
    fn keys_are_known_if_a_part_that_applies_names_them() {
        let named = |key: &str, value: u8| json!({ "properties": { key: { "const": value } } });
        let validator = Validator::new(json!({
            "$defs": { "a": named("a", 1) },
            "$ref": "#/$defs/a",
            "anyOf": [named("b", 2), { "required": ["none"], "properties": { "c": {} } }],
        }));
        let errors = |value| validator.errors(&value, Unknown::Refused);
        assert_eq!(errors(json!({ "a": 1, "b": 2 })), [""; 0]);
        assert_eq!(errors(json!({ "a": 1, "c": 3 })), [": unknown key c"]);
    }

    #[test]
    #[should_panic = "has no #/$defs/a"]
    fn a_reference_that_leads_nowhere_is_refused() {
        Validator::new(json!({ "anyOf": [{ "$ref": "#/$defs/a" }] }));
    }
}

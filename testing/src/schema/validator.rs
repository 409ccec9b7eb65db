//! Finds the parts of a JSON value that contradict a JSON schema (draft 2020-12), for the keywords that
//! squall's schemas use. A schema with any other keyword, or with a reference that leads nowhere, is refused
//! when it is read, so no keyword is ever ignored.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::{Map, Value};

/// Keywords that only describe, and allow every value.
const NOTES: [&str; 4] = ["$schema", "$defs", "title", "description"];

/// A schema, and others that it refers to by their names.
#[derive(Debug)]
pub struct Validator {
    documents: BTreeMap<String, Value>,
}

/// The name of the schema that is not referred to.
const MAIN: &str = "";

/// Whether an object that lists what it requires may have keys that the schema does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    Allowed,
    Refused,
}

/// A part of the document `name`.
#[derive(Clone, Copy)]
struct Part<'a> {
    name: &'a str,
    schema: &'a Value,
}

impl Validator {
    /// # Panics
    /// If a schema has a keyword or type that this validator does not support.
    pub fn new(main: Value, others: Vec<(String, Value)>) -> Validator {
        let documents = others.into_iter().chain([(MAIN.to_owned(), main)]);
        let validator = Validator {
            documents: documents.collect(),
        };
        for (name, schema) in &validator.documents {
            validator.check_keywords(Part { name, schema });
        }
        validator
    }

    /// The contradictions between the value and the schema, each with its place.
    pub fn errors(&self, value: &Value, unknown: Unknown) -> Vec<String> {
        let mut errors = Vec::new();
        let schema = &self.documents[MAIN];
        let main = Part { name: MAIN, schema };
        self.add_errors(main, value, unknown, "", &mut errors);
        errors
    }

    /// Fails unless everything in this part is known.
    fn check_keywords(&self, part: Part) {
        for (keyword, argument) in object(part.schema) {
            let inner = |schema| self.check_keywords(part.with(schema));
            match keyword.as_str() {
                "$ref" => drop(self.follow(part, argument)),
                "$defs" | "properties" => object(argument).values().for_each(inner),
                "items" => inner(argument),
                "anyOf" | "oneOf" => list(argument).iter().for_each(inner),
                "required" => list(argument).iter().map(text).for_each(drop),
                "enum" => drop(list(argument)),
                "pattern" => drop(pattern(argument)),
                "minLength" | "minItems" | "minimum" | "exclusiveMinimum" | "maximum"
                | "multipleOf" => drop(number(argument)),
                "type" => types(argument).for_each(|name| {
                    is_of_type(&Value::Null, name);
                }),
                "const" => {}
                note if NOTES.contains(&note) => {}
                other => panic!("the schema has the keyword {other}, which is not supported"),
            }
        }
    }

    /// Adds to `errors` the contradictions between this part and `value`, which is at `place`.
    fn add_errors(
        &self,
        part: Part,
        value: &Value,
        unknown: Unknown,
        place: &str,
        errors: &mut Vec<String>,
    ) {
        let schema = object(part.schema);
        for (keyword, argument) in schema {
            let is_valid = match (keyword.as_str(), value) {
                ("$ref", _) => {
                    self.add_errors(self.follow(part, argument), value, unknown, place, errors);
                    true
                }
                ("properties", Value::Object(map)) => {
                    for (key, schema) in object(argument) {
                        if let Some(value) = map.get(key) {
                            let place = format!("{place}/{key}");
                            self.add_errors(part.with(schema), value, unknown, &place, errors);
                        }
                    }
                    true
                }
                ("items", Value::Array(values)) => {
                    for (index, value) in values.iter().enumerate() {
                        let place = format!("{place}/{index}");
                        self.add_errors(part.with(argument), value, unknown, &place, errors);
                    }
                    true
                }
                ("anyOf", _) => self.count_matches(part, argument, value, unknown) > 0,
                ("oneOf", _) => self.count_matches(part, argument, value, unknown) == 1,
                ("required", Value::Object(map)) => {
                    list(argument).iter().all(|key| map.contains_key(text(key)))
                }
                ("type", _) => types(argument).any(|name| is_of_type(value, name)),
                ("const", _) => value == argument,
                ("enum", _) => list(argument).contains(value),
                ("pattern", Value::String(text)) => pattern(argument).is_match(text),
                ("minLength", Value::String(text)) => {
                    text.chars().count() as f64 >= number(argument)
                }
                ("minItems", Value::Array(values)) => values.len() as f64 >= number(argument),
                ("minimum", Value::Number(_)) => number(value) >= number(argument),
                ("exclusiveMinimum", Value::Number(_)) => number(value) > number(argument),
                ("maximum", Value::Number(_)) => number(value) <= number(argument),
                ("multipleOf", Value::Number(_)) => number(value) % number(argument) == 0.0,
                _ => true,
            };
            if !is_valid {
                errors.push(format!("{place}: not {keyword} {argument}"));
            }
        }
        if let (Unknown::Refused, Value::Object(map), true) =
            (unknown, value, schema.contains_key("required"))
        {
            let named = schema.get("properties").map(object);
            let is_named = |key: &String| named.is_some_and(|named| named.contains_key(key));
            let more = map.keys().filter(|key| !is_named(key));
            errors.extend(more.map(|key| format!("{place}: unknown key {key}")));
        }
    }

    /// The number of these schemas that accept the value.
    fn count_matches(&self, part: Part, schemas: &Value, value: &Value, unknown: Unknown) -> usize {
        let takes = |schema: &&Value| {
            let mut errors = Vec::new();
            self.add_errors(part.with(schema), value, unknown, "", &mut errors);
            errors.is_empty()
        };
        list(schemas).iter().filter(takes).count()
    }

    /// The part that `$ref` names: a whole document, or a place in one.
    fn follow<'a>(&'a self, part: Part<'a>, reference: &'a Value) -> Part<'a> {
        let reference = text(reference);
        let (name, place) = reference.split_once('#').unwrap_or((reference, ""));
        let name = if name.is_empty() { part.name } else { name };
        let schema = self.documents.get(name);
        let schema = schema.and_then(|document| document.pointer(place));
        let schema = schema.unwrap_or_else(|| panic!("the schema has no {reference}"));
        Part { name, schema }
    }
}

impl<'a> Part<'a> {
    fn with(self, schema: &'a Value) -> Part<'a> {
        Part { schema, ..self }
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

fn pattern(argument: &Value) -> Regex {
    Regex::new(text(argument)).expect("a regular expression")
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

    fn validator(schema: Value) -> Validator {
        let other = json!({ "type": "string", "minLength": 2 });
        Validator::new(schema, vec![("other.json".to_owned(), other)])
    }

    /// Each keyword takes the first value and refuses the second.
    #[test]
    fn every_keyword_takes_and_refuses() {
        let cases = [
            (json!({ "type": "null" }), json!(null), json!(false)),
            (json!({ "type": "integer" }), json!(-2.0), json!(1.5)),
            (json!({ "type": "number" }), json!(1.5), json!("1.5")),
            (
                json!({ "type": ["string", "boolean"] }),
                json!(true),
                json!({}),
            ),
            (json!({ "const": "a" }), json!("a"), json!("b")),
            (json!({ "enum": [1, "a"] }), json!("a"), json!(2)),
            (json!({ "pattern": "^[0-9]+$" }), json!("12"), json!("1a")),
            (json!({ "minLength": 2 }), json!("äö"), json!("a")),
            (json!({ "minItems": 1 }), json!([null]), json!([])),
            (json!({ "minimum": 1 }), json!(1), json!(0.5)),
            (json!({ "exclusiveMinimum": 0 }), json!(0.1), json!(0)),
            (json!({ "maximum": 35 }), json!(35), json!(36)),
            (json!({ "multipleOf": 8 }), json!(16), json!(12)),
            (json!({ "required": ["a"] }), json!({ "a": 1 }), json!({})),
            (
                json!({ "properties": { "a": { "const": 1 } } }),
                json!({ "a": 1, "b": 2 }),
                json!({ "a": 2 }),
            ),
            (
                json!({ "items": { "type": "array" } }),
                json!([[], []]),
                json!([[], 1]),
            ),
            (
                json!({ "anyOf": [{ "type": "string" }, { "const": 1 }] }),
                json!(1),
                json!(2),
            ),
            (
                json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 5 }] }),
                json!(7),
                json!(3),
            ),
            (json!({ "$ref": "other.json" }), json!("ab"), json!("a")),
            (
                json!({ "$ref": "#/$defs/a", "$defs": { "a": { "const": 1 } } }),
                json!(1),
                json!(2),
            ),
        ];
        for (schema, right, wrong) in cases {
            let validator = validator(schema.clone());
            let errors = |value| validator.errors(value, Unknown::Allowed);
            assert_eq!(errors(&right), Vec::<String>::new(), "{schema}");
            assert_eq!(errors(&wrong).len(), 1, "{schema}: {wrong}");
        }
    }

    #[test]
    #[should_panic = "the keyword maxLength"]
    fn an_unsupported_keyword_is_refused() {
        validator(json!({ "properties": { "a": { "maxLength": 1 } } }));
    }

    #[test]
    #[should_panic = "the type text"]
    fn an_unsupported_type_is_refused() {
        validator(json!({ "items": { "type": "text" } }));
    }

    #[test]
    #[should_panic = "has no #/$defs/a"]
    fn a_reference_that_leads_nowhere_is_refused() {
        validator(json!({ "anyOf": [{ "$ref": "#/$defs/a" }] }));
    }
}

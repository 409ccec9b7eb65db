//! Schemas of JSON reports, against reports: values are as the schema says, every key of a report is described, and every
//! key that is described comes.
//!
//! It knows the keywords of JSON schema (draft 2020-12) that squall's schemas use, and panics at any other. Readers must
//! accept new keys, which these schemas therefore allow; here they are refused, to find keys without a description.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use squall_tool_base::schema::JsonSchema;

/// Keywords that describe, and allow every value.
const NOTES: [&str; 4] = ["$schema", "$defs", "title", "description"];

/// Keywords of which a part of a schema must have one: without them it allows any value.
const KINDS: [&str; 6] = ["type", "$ref", "anyOf", "oneOf", "const", "enum"];

/// Formats of numbers, whose bounds are also given by `minimum` and `maximum`.
const NUMBERS: [&str; 6] = ["double", "int64", "uint", "uint8", "uint32", "uint64"];

#[derive(Debug)]
pub struct Schema(Value);

/// What was found at a place in a value.
#[derive(Default)]
struct Found {
    /// Contradictions, each with its place.
    errors: Vec<String>,
    /// Keys of the value here that the schema names.
    named: BTreeSet<String>,
    /// Every key here and within, and `key: value` where the schema names the value.
    seen: Vec<String>,
}

impl Schema {
    /// The schema of `T`, as `squall schemas` writes it.
    pub fn derive<T: JsonSchema>() -> Schema {
        Schema(squall_tool_base::schema::derive::<T>().to_value())
    }

    pub fn takes(&self, value: &Value) -> bool {
        self.look_at("", &self.0, value).errors.is_empty()
    }

    /// Fails unless the schema describes exactly what is in `values`, and requires every key but those in `optional`.
    /// Returns how many keys the values have.
    #[track_caller]
    pub fn check(&self, values: &[Value], optional: &[&str]) -> usize {
        let found = values.iter().map(|value| self.look_at("", &self.0, value));
        let (mut faults, mut seen) = (Vec::new(), Vec::new());
        for found in found {
            faults.extend(found.errors);
            seen.extend(found.seen);
        }
        let mut named = BTreeSet::new();
        name_all(&self.0, optional, &mut named, &mut faults);
        let absent = named.iter().filter(|name| !seen.contains(name));
        faults.extend(absent.map(|name| format!("in no value: {name}")));
        for value in values {
            faults.extend(self.missing_keys_taken(value, optional));
        }
        assert!(faults.is_empty(), "{faults:#?}");
        seen.len()
    }

    /// Keys not in `optional` without which the schema takes the value, too.
    fn missing_keys_taken(&self, value: &Value, optional: &[&str]) -> Vec<String> {
        let mut keys = BTreeMap::new();
        keys_of_each_kind(value, ["", ""], &mut keys);
        let is_taken_without = |pointer: &String| {
            let (place, key) = pointer.rsplit_once('/').expect("a key");
            let mut less = value.clone();
            let map = less.pointer_mut(place).and_then(Value::as_object_mut);
            map.expect("an object").remove(key);
            !optional.contains(&key) && self.takes(&less)
        };
        let taken = keys.into_values().filter(is_taken_without);
        taken.map(|key| format!("taken without {key}")).collect()
    }

    fn look_at(&self, place: &str, schema: &Value, value: &Value) -> Found {
        let mut found = Found::default();
        self.apply(place, schema, value, &mut found);
        let keys = value.as_object().into_iter().flat_map(Map::keys);
        let unknown = keys.filter(|key| !found.named.contains(*key));
        let unknown: Vec<_> = unknown
            .map(|key| format!("{place}: unknown key {key}"))
            .collect();
        found.errors.extend(unknown);
        found
    }

    /// Adds to `found` what this part of the schema, which may be one of several about the value, says.
    fn apply(&self, place: &str, schema: &Value, value: &Value, found: &mut Found) {
        let look_within = |found: &mut Found, key: &str, schema: &Value, value: &Value| {
            let within = self.look_at(&format!("{place}/{key}"), schema, value);
            found.errors.extend(within.errors);
            found.seen.extend(within.seen);
        };
        let keywords = object(schema);
        assert!(
            KINDS.iter().any(|kind| keywords.contains_key(*kind)),
            "{place}: no kind: {schema}"
        );
        for (keyword, argument) in keywords {
            let is_valid = match (keyword.as_str(), value) {
                ("$ref", _) => {
                    let path = text(argument).strip_prefix('#');
                    let part = path.and_then(|path| self.0.pointer(path)).expect("a part");
                    self.apply(place, part, value, found);
                    true
                }
                ("properties", Value::Object(map)) => {
                    for (key, schema) in object(argument) {
                        let Some(value) = map.get(key) else { continue };
                        found.named.insert(key.clone());
                        found.seen.push(key.clone());
                        found.seen.extend(constant(key, schema));
                        look_within(found, key, schema, value);
                    }
                    true
                }
                ("items", Value::Array(values)) => {
                    for (index, value) in values.iter().enumerate() {
                        look_within(found, &index.to_string(), argument, value);
                    }
                    true
                }
                ("anyOf" | "oneOf", _) => {
                    let mut matches = 0;
                    for schema in list(argument) {
                        let mut one = Found::default();
                        self.apply(place, schema, value, &mut one);
                        if one.errors.is_empty() {
                            matches += 1;
                            found.named.append(&mut one.named);
                            found.seen.append(&mut one.seen);
                        }
                    }
                    matches == 1 || (keyword == "anyOf" && matches > 1)
                }
                ("required", Value::Object(map)) => {
                    list(argument).iter().all(|key| map.contains_key(text(key)))
                }
                ("type", _) => match argument {
                    Value::Array(names) => names.iter().any(|name| is_of_type(value, text(name))),
                    name => is_of_type(value, text(name)),
                },
                ("const", _) => value == argument,
                ("enum", _) => list(argument).contains(value),
                ("format", Value::String(value)) if argument == "date-time" => {
                    value.parse::<jiff::Timestamp>().is_ok()
                }
                ("format", Value::Number(_)) if NUMBERS.contains(&text(argument)) => true,
                ("minLength", Value::String(text)) => {
                    text.chars().count() as f64 >= number(argument)
                }
                ("minItems", Value::Array(values)) => values.len() as f64 >= number(argument),
                ("minimum", Value::Number(_)) => number(value) >= number(argument),
                ("maximum", Value::Number(_)) => number(value) <= number(argument),
                ("multipleOf", Value::Number(_)) => number(value) % number(argument) == 0.0,
                // They say nothing about values of other kinds.
                (
                    "properties" | "items" | "required" | "format" | "minLength" | "minItems"
                    | "minimum" | "maximum" | "multipleOf",
                    _,
                ) => true,
                (note, _) if NOTES.contains(&note) => true,
                (other, _) => panic!("{place}: the keyword {other} is not known"),
            };
            if !is_valid {
                found
                    .errors
                    .push(format!("{place}: not {keyword} {argument}"));
            }
        }
    }
}

/// The value that the schema names for a key.
fn constant(key: &str, schema: &Value) -> Option<String> {
    schema.get("const").map(|value| format!("{key}: {value}"))
}

/// Collects every key that a schema names, and every value that it names for one; tells of keys that it requires and
/// that are in `optional`, or the other way round.
fn name_all(
    schema: &Value,
    optional: &[&str],
    named: &mut BTreeSet<String>,
    faults: &mut Vec<String>,
) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let required = schema.get("required").map_or(&[][..], list);
        for (key, schema) in properties {
            named.insert(key.clone());
            named.extend(constant(key, schema));
            if required.iter().any(|one| one == key) == optional.contains(&key.as_str()) {
                faults.push(format!(
                    "required by the schema but optional in the test, or the reverse: {key}"
                ));
            }
        }
    }
    let parts: Vec<&Value> = match schema {
        Value::Object(map) => map.values().collect(),
        Value::Array(values) => values.iter().collect(),
        _ => Vec::new(),
    };
    for part in parts {
        name_all(part, optional, named, faults);
    }
}

/// Collects JSON pointers to the keys in a value; of similar elements of a list, to the first's.
fn keys_of_each_kind(value: &Value, [at, kind]: [&str; 2], keys: &mut BTreeMap<String, String>) {
    let mut look_within = |name: &str, kind_of_it: &str, part: &Value| {
        let [at, kind] = [format!("{at}/{name}"), format!("{kind}/{kind_of_it}")];
        if value.is_object() && !keys.contains_key(&kind) {
            keys.insert(kind.clone(), at.clone());
        }
        keys_of_each_kind(part, [&at, &kind], keys);
    };
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, part)| look_within(key, key, part)),
        Value::Array(parts) => (0..)
            .zip(parts)
            .for_each(|(index, part): (usize, _)| look_within(&index.to_string(), "*", part)),
        _ => {}
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
        other => panic!("the type {other} is not known"),
    }
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object in the schema")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list in the schema")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string in the schema")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schema, a value that it takes, and one that it refuses.
    const CASES: &str = r##"
        { "type": "null" } | null | false
        { "type": "integer" } | -2.0 | 1.5
        { "type": ["string", "boolean"] } | true | {}
        { "const": "a" } | "a" | "b"
        { "enum": [1, "a"] } | "a" | 2
        { "type": "string", "format": "date-time" } | "2026-11-22T09:30:00.5Z" | "today"
        { "type": "string", "minLength": 2 } | "äö" | "a"
        { "type": "array", "minItems": 1 } | [1] | []
        { "type": "number", "minimum": 1 } | 1 | 0.5
        { "type": "number", "maximum": 35 } | 35 | 36
        { "type": "number", "multipleOf": 8 } | 16 | 12
        { "type": "array", "items": { "type": "array" } } | [[]] | [1]
        { "anyOf": [{ "type": "string" }, { "const": 1 }] } | 1 | 2
        { "oneOf": [{ "enum": [1, 2] }, { "enum": [2, 3] }] } | 1 | 2
        { "$ref": "#/$defs/a", "$defs": { "a": { "const": 1 } } } | 1 | 2"##;

    #[test]
    fn every_keyword_takes_and_refuses() {
        for case in CASES.lines().skip(1) {
            let mut parts = case
                .split(" | ")
                .map(|text| serde_json::from_str(text).expect(case));
            let [schema, right, wrong] = [(); 3].map(|()| parts.next().expect("a part"));
            let schema = Schema(schema);
            assert!(schema.takes(&right) && !schema.takes(&wrong), "{case}");
        }
    }

    const SCHEMA: &str = r##"{ "type": "object", "required": ["name", "parts"],
        "properties": { "name": { "type": "string" },
                        "parts": { "type": "array", "items": { "$ref": "#/$defs/part" } } },
        "$defs": { "part": { "type": "object", "required": ["size"],
            "properties": { "size": { "type": "integer" }, "note": { "type": "string" } } } } }"##;

    const VALUE: &str = r#"{ "name": "a", "parts": [{ "size": 1 }, { "size": 2, "note": "b" }] }"#;

    /// What `check` says of the value, once `change.0` is `change.1` in the schema or else in the value.
    fn fault(change: (&str, &str)) -> Result<usize, String> {
        let [schema, value] = [SCHEMA, VALUE].map(|text| text.replace(change.0, change.1));
        let value = if schema == SCHEMA {
            value
        } else {
            VALUE.into()
        };
        let [schema, value] =
            [schema, value].map(|text| serde_json::from_str(&text).expect("JSON"));
        let checked = std::panic::catch_unwind(|| Schema(schema).check(&[value], &["note"]));
        checked.map_err(|panic| *panic.downcast::<String>().expect("text"))
    }

    #[test]
    fn what_the_schema_does_not_describe_exactly_is_found() {
        assert_eq!(fault(("", "")), Ok(5));
        let const_b = r#""anyOf": [{ "type": "object" }, { "const": 1, "properties": { "name": { "const": "b" } } }], "$defs""#;
        let either = r##"{ "anyOf": [{ "$ref": "#/$defs/part" }, { "type": "object" }] }"##;
        for (change, expected) in [
            (
                (r#""note": "b""#, r#""more": 1"#),
                "/parts/1: unknown key more",
            ),
            (
                (r#"["size"]"#, "[]"),
                "required by the schema but optional in the test, or the reverse: size",
            ),
            (
                (r##"{ "$ref": "#/$defs/part" }"##, either),
                "taken without /parts/0/size",
            ),
            (
                (r#"["size"]"#, r#"["size", "note"]"#),
                "/parts/0: not required",
            ),
            (
                (r#"{ "type": "string" } } }"#, "{} } }"),
                "/parts/1/note: no kind",
            ),
            (
                (r#""name": {"#, r#""other": {}, "name": {"#),
                "in no value: other",
            ),
            ((r#""$defs""#, const_b), r#"in no value: name: \"b\""#),
            (
                (r#""required""#, r#""maxProperties": 9, "required""#),
                "maxProperties is not known",
            ),
        ] {
            let found = fault(change).expect_err(expected);
            assert!(found.contains(expected), "{expected}: {found}");
        }
    }
}

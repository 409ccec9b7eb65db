//! Schemas of JSON reports, against reports.
//!
//! Readers must accept new keys, so schemas allow them. To find keys that a schema does not name, the
//! tests refuse them.

mod validator;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use squall_tools::schema::JsonSchema;
use validator::{Unknown, Validator};

#[derive(Debug)]
pub struct Schema {
    schema: Value,
    validator: Validator,
}

impl Schema {
    /// The schema of `T`, as `squall schemas` writes it.
    pub fn derive<T: JsonSchema>() -> Schema {
        Schema::new(squall_tools::schema::derive::<T>().to_value())
    }

    fn new(schema: Value) -> Schema {
        Schema {
            validator: Validator::new(schema.clone()),
            schema,
        }
    }

    pub fn takes(&self, value: &Value) -> bool {
        self.validator.errors(value, Unknown::Allowed).is_empty()
    }

    /// The parts of the value that the schema does not describe.
    fn problems(&self, value: &Value) -> Vec<String> {
        self.validator.errors(value, Unknown::Refused)
    }

    /// Fails unless the schema describes exactly what is in `values`; keys in `optional` may be absent.
    /// Returns how many keys it removed as a check.
    pub fn check(&self, values: &[Value], optional: &[&str]) -> usize {
        let mut keys = BTreeSet::new();
        let mut removed = 0;
        for value in values {
            let problems = self.problems(value);
            assert!(problems.is_empty(), "{problems:?}: {value}");
            for pointer in pointers(value) {
                self.check_wrong_kind(value, &pointer);
                self.check_additional_key(value, &pointer);
                removed += usize::from(self.check_missing_key(value, &pointer, optional));
                let key = pointer.rsplit('/').next().unwrap_or_default();
                let constant = value.pointer(&pointer).map(|at| constant(key, at));
                keys.extend(constant.into_iter().chain([key.to_owned()]));
            }
        }
        let mut named = BTreeSet::new();
        properties(&self.schema, &mut named);
        let absent: Vec<_> = named.difference(&keys).collect();
        assert!(absent.is_empty(), "in no value: {absent:?}");
        removed
    }

    fn check_wrong_kind(&self, value: &Value, pointer: &str) {
        let wrong = with_change(value, pointer, |at| {
            *at = match at {
                Value::Object(_) => json!([]),
                _ => json!({}),
            }
        });
        assert!(!self.takes(&wrong), "wrong: {pointer}: {value}");
    }

    fn check_additional_key(&self, value: &Value, pointer: &str) {
        if !value.pointer(pointer).is_some_and(Value::is_object) {
            return;
        }
        let more = with_change(value, pointer, |at| at["unknown"] = json!(1));
        assert!(self.takes(&more), "more: {pointer}: {value}");
        assert!(!self.problems(&more).is_empty(), "more: {pointer}: {value}");
    }

    /// Whether the value at `pointer` belongs to a key, so that it could be removed.
    fn check_missing_key(&self, value: &Value, pointer: &str, optional: &[&str]) -> bool {
        let Some((parent, key)) = pointer.rsplit_once('/') else {
            return false;
        };
        if !value.pointer(parent).is_some_and(Value::is_object) {
            return false;
        }
        let less = with_change(value, parent, |at| {
            at.as_object_mut().and_then(|map| map.remove(key));
        });
        let may_be_absent = optional.contains(&key);
        assert_eq!(self.takes(&less), may_be_absent, "less: {pointer}: {value}");
        true
    }
}

/// The name of a key that has this value.
fn constant(key: &str, value: &Value) -> String {
    format!("{key}: {value}")
}

/// Collects every key that a schema names, and every value that it names for one.
fn properties(value: &Value, named: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Object(properties)) = map.get("properties") {
                named.extend(properties.keys().cloned());
                let constants = properties.iter().filter_map(|(key, schema)| {
                    let value = schema.get("const")?;
                    Some(constant(key, value))
                });
                named.extend(constants);
            }
            map.values().for_each(|value| properties(value, named));
        }
        Value::Array(values) => values.iter().for_each(|value| properties(value, named)),
        _ => {}
    }
}

/// `value` with a change at `pointer`.
fn with_change(value: &Value, pointer: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut value = value.clone();
    change(value.pointer_mut(pointer).expect("a place of it"));
    value
}

/// JSON pointers to everything in a value. Of similar elements of a list, only to the first.
fn pointers(value: &Value) -> Vec<String> {
    fn collect(value: &Value, pointer: &str, kind: &str, seen: &mut Vec<(String, String)>) {
        if seen.iter().all(|(known, _)| known != kind) {
            seen.push((kind.into(), pointer.into()));
        }
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                let (pointer, kind) = (format!("{pointer}/{key}"), format!("{kind}/{key}"));
                collect(value, &pointer, &kind, seen);
            }),
            Value::Array(values) => values.iter().enumerate().for_each(|(index, value)| {
                let (pointer, kind) = (format!("{pointer}/{index}"), format!("{kind}/*"));
                collect(value, &pointer, &kind, seen);
            }),
            _ => {}
        }
    }
    let mut seen = Vec::new();
    collect(value, "", "", &mut seen);
    seen.into_iter().map(|(_, pointer)| pointer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r##"{ "type": "object", "required": ["name", "parts"],
        "properties": { "name": { "type": "string" },
                        "parts": { "type": "array", "items": { "$ref": "#/$defs/part" } } },
        "$defs": { "part": { "type": "object", "required": ["size"],
            "properties": { "size": { "type": "integer" }, "note": { "type": "string" } } } } }"##;

    /// Checks `value` against `SCHEMA`, `change`d.
    fn check(change: (&str, &str), value: Value) -> usize {
        assert!(SCHEMA.contains(change.0));
        let schema = SCHEMA.replace(change.0, change.1);
        let schema = serde_json::from_str(&schema).expect("JSON");
        Schema::new(schema).check(&[value], &["note"])
    }

    fn value() -> Value {
        json!({ "name": "a", "parts": [{ "size": 1 }, { "size": 2, "note": "b" }] })
    }

    #[test]
    fn a_schema_that_describes_the_value_exactly_passes() {
        assert_eq!(check(("", ""), value()), 4);
    }

    #[test]
    #[should_panic = "unknown"]
    fn an_unknown_key_is_found() {
        let mut value = value();
        value["parts"][1]["unknown"] = json!(1);
        check(("", ""), value);
    }

    #[test]
    #[should_panic = "less: /parts/0/size"]
    fn a_key_that_the_schema_does_not_require_is_found() {
        check((r#""required": ["size"]"#, r#""required": []"#), value());
    }

    #[test]
    #[should_panic = "less: /parts/0/note"]
    fn a_required_key_that_may_be_absent_is_found() {
        let mut value = value();
        value["parts"][0]["note"] = json!("c");
        value["parts"][1] = value["parts"][0].clone();
        check((r#"["size"]"#, r#"["size", "note"]"#), value);
    }

    #[test]
    #[should_panic = "wrong: /parts/1/note"]
    fn a_missing_type_is_found() {
        check((r#"{ "type": "string" } } }"#, "{} } }"), value());
    }

    #[test]
    #[should_panic = r#"in no value: ["other"]"#]
    fn a_key_that_is_in_no_value_is_found() {
        check((r#""name": {"#, r#""other": {}, "name": {"#), value());
    }

    #[test]
    #[should_panic = r#"in no value: ["name: \"b\""]"#]
    fn a_constant_that_is_in_no_value_is_found() {
        let either = r#""anyOf": [{}, { "properties": { "name": { "const": "b" } } }], "$defs""#;
        check((r#""$defs""#, either), value());
    }
}

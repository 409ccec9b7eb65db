//! Checks published schemas against the data they describe: they name every key and no other, and
//! notice keys that are missing or have a wrong type.
//!
//! Readers must accept new keys, so schemas allow them. To find keys that a schema does not name, the
//! tests refuse them.

mod validator;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use validator::{Unknown, Validator};

#[derive(Debug)]
pub struct Schema {
    schema: Value,
    validator: Validator,
}

impl Schema {
    pub fn new(text: &str) -> Schema {
        Schema::with(text, &[])
    }

    /// A schema that refers to `others` by their names.
    pub fn with(text: &str, others: &[(&str, &str)]) -> Schema {
        let schema = parse(text);
        let others = others.iter();
        let others = others.map(|(name, text)| ((*name).to_owned(), parse(text)));
        Schema {
            validator: Validator::new(schema.clone(), others.collect()),
            schema,
        }
    }

    pub fn takes(&self, value: &Value) -> bool {
        self.validator.errors(value, Unknown::Allowed).is_empty()
    }

    /// What of the value the schema does not describe.
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
            for place in places(value) {
                self.notices_a_wrong_kind(value, &place);
                self.notices_a_key_more(value, &place);
                removed += usize::from(self.notices_a_key_less(value, &place, optional));
                keys.extend(place.rsplit('/').next().map(str::to_owned));
            }
        }
        let mut named = BTreeSet::new();
        properties(&self.schema, &mut named);
        let absent: Vec<_> = named.difference(&keys).collect();
        assert!(absent.is_empty(), "in no value: {absent:?}");
        removed
    }

    fn notices_a_wrong_kind(&self, value: &Value, place: &str) {
        let wrong = with(value, place, |at| {
            *at = match at {
                Value::Object(_) => json!([]),
                _ => json!({}),
            }
        });
        assert!(!self.takes(&wrong), "wrong: {place}: {value}");
    }

    fn notices_a_key_more(&self, value: &Value, place: &str) {
        if !value.pointer(place).is_some_and(Value::is_object) {
            return;
        }
        let more = with(value, place, |at| at["unknown"] = json!(1));
        assert!(self.takes(&more), "more: {place}: {value}");
        assert!(!self.problems(&more).is_empty(), "more: {place}: {value}");
    }

    /// Whether the value at `place` belongs to a key, so that it could be removed.
    fn notices_a_key_less(&self, value: &Value, place: &str, optional: &[&str]) -> bool {
        let Some((parent, key)) = place.rsplit_once('/') else {
            return false;
        };
        if !value.pointer(parent).is_some_and(Value::is_object) {
            return false;
        }
        let less = with(value, parent, |at| {
            at.as_object_mut().and_then(|map| map.remove(key));
        });
        let may_be_absent = optional.contains(&key);
        assert_eq!(self.takes(&less), may_be_absent, "less: {place}: {value}");
        true
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Collects every key that a schema names.
fn properties(value: &Value, named: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Object(properties)) = map.get("properties") {
                named.extend(properties.keys().cloned());
            }
            map.values().for_each(|value| properties(value, named));
        }
        Value::Array(values) => values.iter().for_each(|value| properties(value, named)),
        _ => {}
    }
}

/// `value` with what is at `place` changed.
fn with(value: &Value, place: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut value = value.clone();
    change(value.pointer_mut(place).expect("a place of it"));
    value
}

/// JSON pointers to everything in a value. Of similar elements of a list, only to the first.
fn places(value: &Value) -> Vec<String> {
    fn collect(value: &Value, place: &str, kind: &str, seen: &mut Vec<(String, String)>) {
        if seen.iter().all(|(known, _)| known != kind) {
            seen.push((kind.into(), place.into()));
        }
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                let (place, kind) = (format!("{place}/{key}"), format!("{kind}/{key}"));
                collect(value, &place, &kind, seen);
            }),
            Value::Array(values) => values.iter().enumerate().for_each(|(index, value)| {
                let (place, kind) = (format!("{place}/{index}"), format!("{kind}/*"));
                collect(value, &place, &kind, seen);
            }),
            _ => {}
        }
    }
    let mut seen = Vec::new();
    collect(value, "", "", &mut seen);
    seen.into_iter().map(|(_, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INNER: &str = r#"{ "type": "object", "required": ["size"],
        "properties": { "size": { "type": "integer" }, "note": { "type": "string" } } }"#;

    /// Checks a schema of objects with a list of `INNER`, `change`d.
    fn check(change: (&str, &str), value: Value) -> usize {
        let outer = r#"{ "type": "object", "required": ["name", "parts"],
            "properties": { "name": { "type": "string" },
                            "parts": { "type": "array", "items": { "$ref": "inner.json" } } } }"#;
        assert!((outer.to_owned() + INNER).contains(change.0));
        let outer = outer.replace(change.0, change.1);
        let inner = INNER.replace(change.0, change.1);
        Schema::with(&outer, &[("inner.json", &inner)]).check(&[value], &["note"])
    }

    fn value() -> Value {
        json!({ "name": "a", "parts": [{ "size": 1 }, { "size": 2, "note": "b" }] })
    }

    #[test]
    fn a_schema_that_describes_exactly_what_is() {
        assert_eq!(check(("", ""), value()), 4);
    }

    #[test]
    #[should_panic = "unknown"]
    fn a_key_that_it_does_not_know() {
        let mut value = value();
        value["parts"][1]["unknown"] = json!(1);
        check(("", ""), value);
    }

    #[test]
    #[should_panic = "less: /parts/0/size"]
    fn a_key_that_it_does_not_require() {
        check((r#""required": ["size"]"#, r#""required": []"#), value());
    }

    #[test]
    #[should_panic = "less: /parts/0/note"]
    fn a_key_that_it_requires_and_may_be_absent() {
        let mut value = value();
        value["parts"][0]["note"] = json!("c");
        value["parts"][1] = value["parts"][0].clone();
        check((r#"["size"]"#, r#"["size", "note"]"#), value);
    }

    #[test]
    #[should_panic = "wrong: /parts/1/note"]
    fn a_kind_that_it_does_not_name() {
        check((r#"{ "type": "string" } } }"#, "{} } }"), value());
    }

    #[test]
    #[should_panic = r#"in no value: ["other"]"#]
    fn a_key_that_is_in_no_value() {
        check((r#""name": {"#, r#""other": {}, "name": {"#), value());
    }
}

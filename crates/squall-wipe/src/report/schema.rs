//! Schemas against what they describe, for tests: all of it is in them, nothing else, and what is
//! missing or of a wrong kind is noticed.

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::{Value, json};

/// Fails unless `schema` describes exactly what is in `values`; keys in `optional` may be absent.
pub fn check(schema: &str, values: &[Value], optional: &[&str]) {
    let schema: Value = serde_json::from_str(schema).expect("JSON");
    jsonschema::meta::validate(&schema).expect("a schema");
    let open = jsonschema::validator_for(&schema).expect("a schema");
    let closed = jsonschema::validator_for(&closed(schema.clone())).expect("a schema");
    let mut keys = BTreeSet::new();
    for value in values {
        let problems: Vec<_> = closed
            .iter_errors(value)
            .map(|error| error.to_string())
            .collect();
        assert!(problems.is_empty(), "{problems:?}: {value}");
        for place in places(value) {
            changes(&open, &closed, value, &place, optional);
            keys.extend(place.rsplit('/').next().map(str::to_owned));
        }
    }
    let mut named = BTreeSet::new();
    properties(&schema, &mut named);
    let absent: Vec<_> = named.difference(&keys).collect();
    assert!(absent.is_empty(), "in no value: {absent:?}");
}

/// A key more, a key less, and a wrong kind at `place` of `value`.
fn changes(open: &Validator, closed: &Validator, value: &Value, place: &str, optional: &[&str]) {
    let with = |place: &str, change: &dyn Fn(&mut Value)| {
        let mut value = value.clone();
        change(value.pointer_mut(place).expect("a place of it"));
        value
    };
    let at = value.pointer(place).expect("a place of it");
    let wrong = match at {
        Value::Object(_) => json!([]),
        _ => json!({}),
    };
    assert!(
        !open.is_valid(&with(place, &|at| *at = wrong.clone())),
        "wrong: {place}"
    );
    if at.is_object() {
        let more = with(place, &|at| at["unknown"] = json!(1));
        assert!(
            open.is_valid(&more) && !closed.is_valid(&more),
            "more: {place}"
        );
    }
    let Some((parent, key)) = place.rsplit_once('/') else {
        return;
    };
    if value.pointer(parent).is_some_and(Value::is_object) {
        let less = with(parent, &|at| {
            drop(at.as_object_mut().map(|map| map.remove(key)))
        });
        assert_eq!(
            open.is_valid(&less),
            optional.contains(&key),
            "less: {place}"
        );
    }
}

/// The same schema, which takes no keys that it does not know.
fn closed(mut schema: Value) -> Value {
    fn close(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.values_mut().for_each(close);
                if map.contains_key("required") {
                    map.insert("additionalProperties".into(), json!(false));
                }
            }
            Value::Array(values) => values.iter_mut().for_each(close),
            _ => {}
        }
    }
    close(&mut schema);
    schema
}

/// Every key that a schema names.
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

/// Pointers to everything in a value; to the first only of things that stand in the same list.
fn places(value: &Value) -> Vec<String> {
    fn collect(value: &Value, place: String, all: &mut Vec<String>) {
        match value {
            Value::Object(map) => map
                .iter()
                .for_each(|(key, value)| collect(value, format!("{place}/{key}"), all)),
            Value::Array(values) => values
                .iter()
                .take(1)
                .for_each(|value| collect(value, format!("{place}/0"), all)),
            _ => {}
        }
        all.push(place);
    }
    let mut all = Vec::new();
    collect(value, String::new(), &mut all);
    all
}

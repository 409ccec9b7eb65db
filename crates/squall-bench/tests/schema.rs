//! The schema of `--json`: it takes a report, and nothing that lacks a key or has one of a wrong
//! kind; it knows every key, and no other.

mod common;

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use common::fixture;

const SCHEMA: &str = include_str!("../schema/report.schema.json");

/// Keys that may be left out.
const OPTIONAL: [&str; 3] = ["discarded", "failures", "profiles"];

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("JSON")
}

fn report() -> Value {
    serde_json::to_value(fixture()).expect("JSON")
}

fn validator(schema: &Value) -> Validator {
    jsonschema::meta::validate(schema).expect("a schema");
    jsonschema::validator_for(schema).expect("a schema")
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

#[test]
fn it_knows_every_key_of_a_report() {
    let closed = validator(&closed(schema()));
    let problems: Vec<_> = closed
        .iter_errors(&report())
        .map(|error| error.to_string())
        .collect();
    assert!(problems.is_empty(), "{problems:?}");
    for place in places(&report()) {
        let more = with(&place, |value| {
            let Some(map) = value.as_object_mut() else {
                return;
            };
            map.insert("unknown".into(), json!(1));
        });
        let is_object = report().pointer(&place).is_some_and(Value::is_object);
        assert_eq!(closed.is_valid(&more), !is_object, "{place}");
        // New keys may be added: readers of the published schema are to bear them.
        assert!(validator(&schema()).is_valid(&more), "{place}");
    }
}

/// What the schema names is in the report, which has every key.
#[test]
fn it_knows_no_other_key() {
    let mut named = BTreeSet::new();
    fn properties(value: &Value, named: &mut BTreeSet<String>) {
        let Some(map) = value.as_object() else { return };
        if let Some(Value::Object(properties)) = map.get("properties") {
            named.extend(properties.keys().cloned());
        }
        map.values().for_each(|value| properties(value, named));
    }
    properties(&schema(), &mut named);
    let places = places(&report());
    let keys = places.iter().filter_map(|place| place.rsplit('/').next());
    let keys: BTreeSet<String> = keys.map(Into::into).collect();
    let absent: Vec<_> = named.difference(&keys).collect();
    assert!(absent.is_empty(), "{absent:?}");
}

#[test]
fn a_key_that_is_missing_is_noticed() {
    let validator = validator(&schema());
    let mut removed = 0;
    for place in places(&report()) {
        let Some((parent, key)) = place.rsplit_once('/') else {
            continue;
        };
        if !report().pointer(parent).is_some_and(Value::is_object) {
            continue;
        }
        let less = with(parent, |value| {
            value
                .as_object_mut()
                .and_then(|map: &mut Map<_, _>| map.remove(key));
        });
        assert_eq!(
            validator.is_valid(&less),
            OPTIONAL.contains(&key),
            "{place}"
        );
        removed += 1;
    }
    assert!(removed > 50, "{removed}");
}

#[test]
fn a_wrong_type_is_noticed() {
    let validator = validator(&schema());
    for place in places(&report()) {
        let wrong = match report().pointer(&place) {
            Some(Value::Object(_)) => json!([]),
            _ => json!({}),
        };
        let report = with(&place, |value| *value = wrong);
        assert!(!validator.is_valid(&report), "{place}");
    }
}

#[test]
fn values_that_cannot_be_are_noticed() {
    let validator = validator(&schema());
    for (place, wrong) in [
        ("/schema", json!(2)),
        ("/date", json!("22 November 2026")),
        ("/effort", json!("huge")),
        ("/machine/cpus", json!(0)),
        ("/sources/0/group", json!("kernels")),
        ("/sources/0/state", json!("unknown")),
        ("/workloads/0/name", json!("letters")),
        ("/workloads/0/series/0/points/0/ns/median", json!(-1.0)),
        ("/workloads/0/series/0/points/0/ns/samples", json!([])),
        ("/workloads/0/series/0/points/0/at", json!(1.5)),
    ] {
        let report = with(place, |value| *value = wrong.clone());
        assert!(!validator.is_valid(&report), "{place}: {wrong}");
    }
}

/// The report with what is at `place` changed.
fn with(place: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut report = report();
    change(report.pointer_mut(place).expect("a place of the report"));
    report
}

/// Pointers to everything in a report; to the first only of things that stand in the same list.
fn places(report: &Value) -> Vec<String> {
    fn collect(value: &Value, place: &str, kind: &str, seen: &mut Vec<(String, String)>) {
        if seen.iter().all(|(known, _)| known != kind) {
            seen.push((kind.into(), place.into()));
        }
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                collect(
                    value,
                    &format!("{place}/{key}"),
                    &format!("{kind}/{key}"),
                    seen,
                );
            }),
            Value::Array(values) => values.iter().enumerate().for_each(|(index, value)| {
                collect(
                    value,
                    &format!("{place}/{index}"),
                    &format!("{kind}/*"),
                    seen,
                );
            }),
            _ => {}
        }
    }
    let mut seen = Vec::new();
    collect(report, "", "", &mut seen);
    seen.into_iter().map(|(_, place)| place).collect()
}

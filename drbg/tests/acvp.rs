//! The ACVP example with a sample that NIST published.

use serde_json::{Value, json};

use crate::common::answers;
use crate::suite::{Test, tests};

#[allow(dead_code, reason = "its main is not called")]
#[path = "../examples/acvp.rs"]
mod example;

const PROMPT: &str = include_str!("../vectors/acvp/prompt.json");
const EXPECTED: &str = include_str!("../vectors/acvp/expectedResults.json");

fn parse(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

fn respond(prompt: &Value) -> Result<Value, String> {
    example::respond(&prompt.to_string()).map(|response| parse(&response))
}

fn the_published_sample_is_answered() {
    let (prompt, expected) = (parse(PROMPT), parse(EXPECTED));
    let groups = expected["testGroups"].as_array().expect("groups");
    let tests = groups
        .iter()
        .map(|group| group["tests"].as_array().expect("tests").len());
    assert_eq!(tests.collect::<Vec<_>>(), [2; 8]);
    assert_eq!(respond(&prompt), Ok(expected.clone()));
    let version = json!({ "acvVersion": "1.0" });
    assert_eq!(
        respond(&json!([version, prompt])),
        Ok(json!([version, expected]))
    );
}

/// The sample with another `value` at a JSON pointer.
fn with(pointer: &str, value: Value) -> Value {
    let mut prompt = parse(PROMPT);
    *prompt.pointer_mut(pointer).expect(pointer) = value;
    prompt
}

/// The control: each input counts.
fn an_input_that_is_changed_changes_the_response() {
    let expected = parse(EXPECTED);
    for group in 0..8 {
        let has_nonce = parse(PROMPT)["testGroups"][group]["derFunc"] == true;
        let resists = parse(PROMPT)["testGroups"][group]["predResistance"] == true;
        let fields = ["entropyInput", "nonce", "persoString"].into_iter();
        let fields = fields.filter(|&field| has_nonce || field != "nonce");
        let others = ["additionalInput", "entropyInput"]
            .iter()
            .flat_map(|field| {
                (0..if resists { 2 } else { 3 }).map(move |i| format!("otherInput/{i}/{field}"))
            });
        // Without prediction resistance, a request has no entropy input.
        let others = others
            .filter(|field| resists || !field.ends_with("/entropyInput") || field.contains("/0/"));
        for field in fields.map(String::from).chain(others) {
            let pointer = format!("/testGroups/{group}/tests/1/{field}");
            let prompt = parse(PROMPT);
            let digits = prompt
                .pointer(&pointer)
                .and_then(Value::as_str)
                .expect("hex");
            let changed = answers::changed(digits);
            let response = respond(&with(&pointer, changed.into())).expect("a response");
            for (at, other) in [(0, true), (1, false)] {
                let test = format!("/testGroups/{group}/tests/{at}");
                let is_same = response.pointer(&test) == expected.pointer(&test);
                assert_eq!(is_same, other, "{pointer}");
            }
        }
    }
}

fn a_prompt_that_cannot_be_answered_gives_one_line() {
    let first = "/testGroups/0/tests/0";
    let cases = [
        (
            "/algorithm",
            json!("hashDRBG"),
            "algorithm is \"hashDRBG\", and not \"ctrDRBG\"",
        ),
        (
            "/revision",
            json!(null),
            "revision is null, and not \"1.0\"",
        ),
        ("/testGroups", json!({}), "testGroups is no array"),
        (
            "/testGroups/0/mode",
            json!("TDES"),
            "tgId 1: mode is \"TDES\", and neither \"AES-128\" nor \"AES-256\"",
        ),
        (
            "/testGroups/0/returnedBitsLen",
            json!(4097),
            "tgId 1: tcId 1: returnedBitsLen is no multiple of 8 up to 2^19",
        ),
        (
            "/testGroups/0/returnedBitsLen",
            json!((1 << 19) + 8),
            "tgId 1: tcId 1: returnedBitsLen is no multiple of 8 up to 2^19",
        ),
        (
            "/testGroups/0/predResistance",
            json!("yes"),
            "tgId 1: tcId 1: predResistance is neither true nor false",
        ),
        (
            &format!("{first}/nonce"),
            json!("0+"),
            "tgId 1: tcId 1: nonce is not whole bytes in hex",
        ),
        (
            &format!("{first}/nonce"),
            json!("012"),
            "tgId 1: tcId 1: nonce is not whole bytes in hex",
        ),
        (
            &format!("{first}/nonce"),
            json!(12),
            "tgId 1: tcId 1: nonce is not whole bytes in hex",
        ),
        (
            &format!("{first}/entropyInput"),
            json!("00"),
            "tgId 1: tcId 1: entropy input of 1 bytes: at least 16 are required",
        ),
        (
            "/testGroups/0/derFunc",
            json!(false),
            "tgId 1: tcId 1: there is a nonce, but no derivation function",
        ),
        (
            &format!("{first}/otherInput/1/intendedUse"),
            json!("generated"),
            "tgId 1: tcId 1: intendedUse is \"generated\", and neither \"reSeed\" nor \"generate\"",
        ),
        (
            &format!("{first}/otherInput"),
            json!([]),
            "tgId 1: tcId 1: otherInput has no \"generate\"",
        ),
        (
            &format!("{first}/otherInput/1/entropyInput"),
            json!(""),
            "tgId 1: tcId 1: entropy input of 0 bytes: at least 16 are required",
        ),
    ];
    for (pointer, value, why) in cases {
        assert_eq!(respond(&with(pointer, value)), Err(why.to_string()));
    }
    assert_eq!(respond(&json!([])), Err("an empty array".to_string()));
    let not_json = example::respond("{\n").unwrap_err();
    assert!(
        not_json.starts_with("not JSON: ") && !not_json.contains('\n'),
        "{not_json}"
    );
}

pub const TESTS: &[Test<fn()>] = tests![
    the_published_sample_is_answered,
    an_input_that_is_changed_changes_the_response,
    a_prompt_that_cannot_be_answered_gives_one_line,
];

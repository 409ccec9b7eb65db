//! Answers NIST's ACVP: a prompt for `ctrDRBG`, revision `1.0`, on standard input, the response on standard output.
//!
//! ```text
//! cargo run -p squall-drbg --example acvp < prompt.json > response.json
//! ```
//!
//! It reads a vector set as the protocol (draft-vassilev-acvp-drbg) sends it, with the array and `acvVersion` around it or
//! without. Modes are AES-128 and AES-256; a prompt that asks for anything else, or that is damaged, gives one line on
//! standard error and exit code 1.

use std::io::{Read, Write};
use std::process::ExitCode;

use serde_json::{Value, json};
use squall_drbg::{Aes128, Aes256, Cipher, CtrDrbg, CtrDrbgDf, Error, MAX_REQUEST};

fn main() -> ExitCode {
    let mut prompt = String::new();
    let response = std::io::stdin()
        .read_to_string(&mut prompt)
        .map_err(|e| format!("standard input: {e}"))
        .and_then(|_| respond(&prompt))
        .and_then(|response| {
            writeln!(std::io::stdout(), "{response}").map_err(|e| format!("standard output: {e}"))
        });
    match response {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("acvp: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The response to a prompt, or what is wrong with it in one line.
pub fn respond(prompt: &str) -> Result<String, String> {
    let mut json: Value = serde_json::from_str(prompt).map_err(|e| format!("not JSON: {e}"))?;
    let vector_set = match &mut json {
        Value::Array(with_version) => with_version.last_mut().ok_or("an empty array")?,
        object => object,
    };
    *vector_set = vector_set_response(vector_set)?;
    Ok(format!("{json:#}"))
}

fn vector_set_response(set: &Value) -> Result<Value, String> {
    for (field, supported) in [("algorithm", "ctrDRBG"), ("revision", "1.0")] {
        if set[field] != supported {
            return Err(format!(
                "{field} is {}, and not \"{supported}\"",
                set[field]
            ));
        }
    }
    let mut response = json!({ "testGroups": each(set, "testGroups", "tgId", group_response)? });
    for field in ["vsId", "algorithm", "revision", "isSample"] {
        if let Some(value) = set.get(field) {
            response[field] = value.clone();
        }
    }
    Ok(response)
}

fn group_response(group: &Value) -> Result<Value, String> {
    let answer = match group["mode"].as_str() {
        Some("AES-128") => answer::<Aes128>,
        Some("AES-256") => answer::<Aes256>,
        _ => {
            return Err(format!(
                "mode is {}, and neither \"AES-128\" nor \"AES-256\"",
                group["mode"]
            ));
        }
    };
    let tests = each(group, "tests", "tcId", |test| answer(group, test))?;
    Ok(json!({ "tests": tests }))
}

/// The output of the last request of a test.
fn answer<C: Cipher>(group: &Value, test: &Value) -> Result<Value, String> {
    let bits = group["returnedBitsLen"].as_u64();
    let len = bits.filter(|bits| bits % 8 == 0 && bits / 8 <= MAX_REQUEST as u64);
    let len = len.ok_or("returnedBitsLen is no multiple of 8 up to 2^19")? as usize / 8;
    let prediction_resistance = boolean(group, "predResistance")?;
    let mut drbg = Drbg::<C>::instantiate(boolean(group, "derFunc")?, test)?;
    let mut out = None;
    for step in array(test, "otherInput")? {
        let (entropy, additional) = (
            bytes(step, "entropyInput")?,
            bytes(step, "additionalInput")?,
        );
        match step["intendedUse"].as_str() {
            Some("reSeed") => drbg
                .reseed(&entropy, &additional)
                .map_err(|e| e.to_string())?,
            Some("generate") => {
                let out = out.insert(vec![0; len]);
                if prediction_resistance {
                    drbg.generate_with_prediction_resistance(out, &entropy, &additional)
                } else {
                    drbg.generate(out, &additional)
                }
                .map_err(|e| e.to_string())?;
            }
            _ => {
                return Err(format!(
                    "intendedUse is {}, and neither \"reSeed\" nor \"generate\"",
                    step["intendedUse"]
                ));
            }
        }
    }
    let out = out.ok_or("otherInput has no \"generate\"")?;
    let hex: String = out.iter().map(|byte| format!("{byte:02X}")).collect();
    Ok(json!({ "returnedBits": hex }))
}

/// CTR_DRBG with and without derivation function.
enum Drbg<C: Cipher> {
    Df(CtrDrbgDf<C>),
    NoDf(CtrDrbg<C>),
}

impl<C: Cipher> Drbg<C> {
    fn instantiate(derivation_function: bool, test: &Value) -> Result<Self, String> {
        let [entropy, nonce, personalization] = [
            bytes(test, "entropyInput")?,
            bytes(test, "nonce")?,
            bytes(test, "persoString")?,
        ];
        if derivation_function {
            CtrDrbgDf::instantiate(&entropy, &nonce, &personalization).map(Drbg::Df)
        } else if nonce.is_empty() {
            CtrDrbg::instantiate(&entropy, &personalization).map(Drbg::NoDf)
        } else {
            return Err("there is a nonce, but no derivation function".into());
        }
        .map_err(|e| e.to_string())
    }

    fn reseed(&mut self, entropy: &[u8], additional: &[u8]) -> Result<(), Error> {
        match self {
            Drbg::Df(drbg) => drbg.reseed(entropy, additional),
            Drbg::NoDf(drbg) => drbg.reseed(entropy, additional),
        }
    }

    fn generate(&mut self, out: &mut [u8], additional: &[u8]) -> Result<(), Error> {
        match self {
            Drbg::Df(drbg) => drbg.generate(out, additional),
            Drbg::NoDf(drbg) => drbg.generate(out, additional),
        }
    }

    fn generate_with_prediction_resistance(
        &mut self,
        out: &mut [u8],
        entropy: &[u8],
        additional: &[u8],
    ) -> Result<(), Error> {
        match self {
            Drbg::Df(drbg) => drbg.generate_with_prediction_resistance(out, entropy, additional),
            Drbg::NoDf(drbg) => drbg.generate_with_prediction_resistance(out, entropy, additional),
        }
    }
}

/// The results of `work` on each object of an array. Each gets the object's `id`, and an error names it.
fn each(
    object: &Value,
    field: &str,
    id: &str,
    work: impl Fn(&Value) -> Result<Value, String>,
) -> Result<Vec<Value>, String> {
    let result = |entry: &Value| {
        let mut result = work(entry).map_err(|why| format!("{id} {}: {why}", entry[id]))?;
        result[id] = entry[id].clone();
        Ok(result)
    };
    array(object, field)?.iter().map(result).collect()
}

fn array<'a>(object: &'a Value, field: &str) -> Result<&'a Vec<Value>, String> {
    let array = object[field].as_array();
    array.ok_or_else(|| format!("{field} is no array"))
}

fn boolean(object: &Value, field: &str) -> Result<bool, String> {
    let boolean = object[field].as_bool();
    boolean.ok_or_else(|| format!("{field} is neither true nor false"))
}

/// The bytes of a hexadecimal field; none if it is absent.
fn bytes(object: &Value, field: &str) -> Result<Vec<u8>, String> {
    let digits = match &object[field] {
        Value::Null => "",
        value => value.as_str().unwrap_or("not hex"),
    };
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(format!("{field} is not whole bytes in hex"));
    }
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex digits");
    Ok((0..digits.len()).step_by(2).map(byte).collect())
}

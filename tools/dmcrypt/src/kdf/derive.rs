//! The derivations, by the code of RustCrypto.

use argon2::{Algorithm, Argon2, Params, Version};
use pbkdf2::sha2::{Sha256, Sha512};
use squall_tools::Failure;

use super::costs::Costs;

/// A function that derives a key from a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The default of LUKS2 (RFC 9106).
    Argon2id,
    /// The default of LUKS1 (RFC 8018).
    Pbkdf2Sha256,
    /// The same with a longer digest.
    Pbkdf2Sha512,
}

impl Function {
    /// All of them.
    pub const ALL: [Function; 3] = [
        Function::Argon2id,
        Function::Pbkdf2Sha256,
        Function::Pbkdf2Sha512,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Function::Argon2id => "argon2id",
            Function::Pbkdf2Sha256 => "pbkdf2-sha256",
            Function::Pbkdf2Sha512 => "pbkdf2-sha512",
        }
    }

    /// Derives `key`.
    ///
    /// # Errors
    /// There is too little memory, or Argon2 does not have these costs.
    pub fn derive(
        self,
        passphrase: &[u8],
        salt: &[u8],
        costs: Costs,
        key: &mut [u8],
    ) -> Result<(), Failure> {
        match self {
            Function::Argon2id => return argon2id(passphrase, salt, costs, key),
            Function::Pbkdf2Sha256 => {
                pbkdf2::pbkdf2_hmac::<Sha256>(passphrase, salt, costs.iterations, key);
            }
            Function::Pbkdf2Sha512 => {
                pbkdf2::pbkdf2_hmac::<Sha512>(passphrase, salt, costs.iterations, key);
            }
        }
        Ok(())
    }
}

fn argon2id(passphrase: &[u8], salt: &[u8], costs: Costs, key: &mut [u8]) -> Result<(), Failure> {
    let Costs {
        iterations,
        memory_kib,
        threads,
    } = costs;
    let memory_kib = memory_kib.unwrap_or(0);
    Params::new(memory_kib, iterations, threads, Some(key.len()))
        .and_then(|params| {
            let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
            argon2.hash_password_into(passphrase, salt, key)
        })
        .map_err(|error| {
            Failure::Runtime(format!(
                "argon2id with {} MiB of memory: {error}",
                memory_kib >> 10
            ))
        })
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    fn derived(
        function: Function,
        [passphrase, salt]: [&str; 2],
        costs: Costs,
        len: usize,
    ) -> String {
        let mut key = vec![0; len];
        let derived = function.derive(passphrase.as_bytes(), salt.as_bytes(), costs, &mut key);
        derived.expect("a key");
        HEXLOWER.encode(&key)
    }

    /// RFC 7914, section 11, for SHA-256; what Python's hashlib derives for SHA-512.
    #[test]
    fn pbkdf2_is_the_standards() {
        let costs = |iterations| Costs {
            iterations,
            memory_kib: None,
            threads: 1,
        };
        let found = derived(Function::Pbkdf2Sha256, ["passwd", "salt"], costs(1), 64);
        assert_eq!(
            found,
            "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
             49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"
        );
        let found = derived(Function::Pbkdf2Sha512, ["passwd", "salt"], costs(1000), 32);
        assert_eq!(
            found,
            "9b24b69e88dfa45d31e06a6dd20bc963268c0a94924677f76d4b2f02e5a105a7"
        );
    }

    /// What the reference implementation of Argon2 derives, which cryptsetup uses, with one thread and
    /// with four.
    #[test]
    fn argon2id_is_the_references() {
        let text = ["passphrase", "0123456789abcdef0123456789abcdef"];
        let costs = |threads| Costs {
            iterations: 4,
            memory_kib: Some(256),
            threads,
        };
        assert_eq!(
            derived(Function::Argon2id, text, costs(4), 32),
            "23cedff19ec4c1c5aaeffc80d970dbe4667a3a54220717a8fe1d575fb775cea9"
        );
        assert_eq!(
            derived(Function::Argon2id, text, costs(1), 64),
            "7a78ea00765300eb92cc44ac09cf9143c4d1d5d00dbaddf330d790cf2e8bced9\
             e0202804a3c02efd57bd85da8f1ce54dcc02a37207f908f977406d8429b998ff"
        );
    }

    #[test]
    fn impossible_costs_are_refused() {
        let costs = Costs {
            iterations: 4,
            memory_kib: Some(1),
            threads: 4,
        };
        let refused = Function::Argon2id.derive(b"passphrase", &[0; 32], costs, &mut [0; 32]);
        let text = refused.expect_err("too little memory").into_text();
        assert!(
            text.starts_with("argon2id with 0 MiB of memory: "),
            "{text}"
        );
    }
}

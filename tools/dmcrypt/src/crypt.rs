//! Tables of dm-crypt: a specification and a key over a device.

use data_encoding::HEXLOWER;
use squall_drives::Number;
use zeroize::Zeroizing;

use crate::mapper::Table;
use crate::model::Options;
use crate::spec::Spec;

const TARGET: &str = "crypt";

/// A random key in the hexadecimal digits that a table has, wiped when dropped.
pub struct Key(Zeroizing<String>);

impl Key {
    pub fn draw(len: usize) -> Key {
        let mut bytes = Zeroizing::new(vec![0; len]);
        squall::fill(&mut bytes);
        let mut digits = Zeroizing::new(String::with_capacity(2 * len));
        HEXLOWER.encode_append(&bytes, &mut digits);
        Key(digits)
    }

    /// The digits of the first `len` bytes; a key of no bytes is written `-`.
    fn digits(&self, len: usize) -> &str {
        match len {
            0 => "-",
            len => &self.0[..2 * len],
        }
    }
}

/// The table of `spec` with the first bytes of `key`, over the first `sectors` (of 512 bytes each) of
/// the device `below`.
pub fn table(spec: &Spec, options: Options, key: &Key, below: Number, sectors: u64) -> Table {
    let key = key.digits(spec.key_len());
    let mut parameters = Zeroizing::new(String::with_capacity(512 + key.len()));
    parameters.push_str(&spec.in_table());
    parameters.push(' ');
    parameters.push_str(key);
    parameters.push_str(&format!(" 0 {below} 0"));
    let options = optional_parameters(spec, options);
    if !options.is_empty() {
        parameters.push_str(&format!(" {} {}", options.len(), options.join(" ")));
    }
    Table {
        target: TARGET,
        sectors,
        parameters,
    }
}

fn optional_parameters(spec: &Spec, options: Options) -> Vec<String> {
    let mut words: Vec<String> = options.flags().map(str::to_owned).collect();
    if options.sector_size != 512 {
        words.push(format!("sector_size:{}", options.sector_size));
    }
    if spec.integrity.is_some() {
        words.push(format!("integrity:{}:aead", spec.metadata_len()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_documented_format() {
        let spec = |text: &str| text.parse::<Spec>().unwrap();
        let plain = spec("aes-cbc-essiv:sha256 128");
        let key = Key(Zeroizing::new("00112233445566778899aabbccddeeff".repeat(2)));
        let below = "1:0".parse().expect("a number");
        let of = |spec: &Spec, options| table(spec, options, &key, below, 8).parameters.to_string();
        let parameters = |options| of(&plain, options);
        let begin = "aes-cbc-essiv:sha256 00112233445566778899aabbccddeeff 0 1:0 0";
        assert_eq!(parameters(Options::PLAIN), begin);
        let mut direct = Options::PLAIN;
        (direct.sector_size, direct.no_workqueues) = (4096, true);
        let words = "3 no_read_workqueue no_write_workqueue sector_size:4096";
        assert_eq!(parameters(direct), format!("{begin} {words}"));
        let mut queued = Options::PLAIN;
        queued.same_cpu = true;
        assert_eq!(parameters(queued), format!("{begin} 1 same_cpu_crypt"));
        let gcm =
            "capi:gcm(aes)-random 00112233445566778899aabbccddeeff 0 1:0 0 1 integrity:28:aead";
        assert_eq!(of(&spec("aes-gcm-random 128 aead"), Options::PLAIN), gcm);
    }

    #[test]
    fn an_empty_key_is_a_dash() {
        let key = Key::draw(0);
        assert_eq!(key.digits(0), "-");
        let one = Key::draw(32);
        assert_eq!(one.digits(16).len(), 32);
        assert_ne!(one.digits(32), Key::draw(32).digits(32));
    }
}

//! Explains in a line why OpenSSL does not use squall, and what to do.

use std::path::Path;

use squall_tools::failure::cause;

use super::libcrypto::Libcrypto;

/// The variable with the path of OpenSSL's configuration, config(5).
const VARIABLE: &str = "OPENSSL_CONF";

const LINES: &str = "the lines that squall openssl-conf prints";

/// The configuration file that OpenSSL reads in this environment.
pub fn configuration(libcrypto: &Libcrypto) -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| libcrypto.configuration())
}

/// The reason and the advice; `error` is OpenSSL's error from the attempt to draw.
pub fn explain(libcrypto: &Libcrypto, error: Option<String>) -> String {
    let file = configuration(libcrypto);
    let named = std::env::var_os(VARIABLE).is_some();
    let text = match std::fs::read(Path::new(&file)) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) if named => {
            return format!(
                "{VARIABLE} names {file}: {}: write {LINES} there, or name another",
                cause(&error)
            );
        }
        Err(_) => String::new(),
    };
    // A missing file is no error unless the variable names it.
    let is_read = !text.is_empty();
    if let Err(why) = libcrypto.load_configuration(&file)
        && is_read
    {
        return format!("{file}: OpenSSL says: {why}");
    }
    if let Some(why) = provider_paths(&text).find_map(|path| libcrypto.load_provider(&path).err()) {
        return format!("{file}: OpenSSL cannot load the provider: {why}");
    }
    if let Some(error) = error {
        return format!("OpenSSL says: {error}");
    }
    match (text.contains("squall"), named) {
        (false, false) => format!(
            "{VARIABLE} is not set, and {file} does not mention squall: set it to a file with \
             {LINES}"
        ),
        (false, true) => {
            format!("{file}, which {VARIABLE} names, does not mention squall: add {LINES}")
        }
        (true, _) => {
            format!("{file} loads, but its random section does not name squall: use {LINES}")
        }
    }
}

/// The paths of squall's provider in lines with `module`, written as by [`super::quote`].
fn provider_paths(text: &str) -> impl Iterator<Item = String> {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let is_ours = name.trim() == "module" && value.contains("squall");
        is_ours.then(|| unquote(value.trim()))
    };
    text.lines().filter_map(value)
}

fn unquote(value: &str) -> String {
    let mut chars = value.chars();
    std::iter::from_fn(|| match chars.next() {
        Some('\\') => chars.next(),
        next => next,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_providers() {
        let text = "module = /a/fips.so\n module= /a\\$b/squall.so\n# squall\nx = squall\n";
        let found: Vec<_> = provider_paths(text).collect();
        assert_eq!(found, ["/a$b/squall.so"]);
    }
}

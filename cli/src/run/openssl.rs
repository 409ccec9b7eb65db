//! `squall openssl-conf`: prints the lines of openssl.cnf that make OpenSSL use squall, or checks
//! whether they took effect.

mod check;
mod libcrypto;

use std::path::Path;

use squall_tool_base::{Failure, output};

use super::args::OpensslConfArguments;
use squall_tool_base::places::{self, PROVIDER};

/// The lines, with `{module}` in place of the provider's path. The file is a link to the provider's
/// own copy, because a published crate contains only files in its own folder.
const FRAGMENT: &str = include_str!("openssl/fragment.cnf");

/// Prints the lines, or checks which generators OpenSSL has in this environment.
pub fn openssl_conf(options: &OpensslConfArguments) -> Result<(), Failure> {
    if options.check {
        return check::check();
    }
    let module = places::find(PROVIDER, options.module.as_deref())?;
    output::print(&FRAGMENT.replace("{module}", &quote(&module)?))
}

/// Quotes a path as a value of openssl.cnf, config(5).
fn quote(path: &Path) -> Result<String, Failure> {
    let cannot_hold = || {
        Failure::Usage(format!(
            "{}: openssl.cnf cannot hold this path: copy the provider to another path, and name it \
             with {}",
            path.display(),
            PROVIDER.option
        ))
    };
    let text = path.to_str().ok_or_else(cannot_hold)?;
    if text.contains(char::is_control) || text.ends_with(char::is_whitespace) {
        return Err(cannot_hold());
    }
    let mut value = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '$' | '#' | '"' | '\'' | '`') {
            value.push('\\');
        }
        value.push(c);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_as_values_of_openssl_cnf() {
        let value = |path: &str| quote(Path::new(path)).map_err(Failure::into_text);
        assert_eq!(value("/usr/lib/squall.so").unwrap(), "/usr/lib/squall.so");
        assert_eq!(value("/a b/$c#d").unwrap(), "/a b/\\$c\\#d");
        for path in ["/a\nb", "/a "] {
            assert!(value(path).unwrap_err().contains("--module"));
        }
    }
}

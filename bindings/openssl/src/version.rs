//! Tells which versions of OpenSSL the provider supports.

use core::ffi::CStr;

/// The first major version with providers.
const FIRST: u32 = 3;

/// Whether `version`, such as `3.0.22` or `4.0.0-beta1`, has this interface. Text of another form is
/// not supported.
pub fn is_supported(version: &CStr) -> bool {
    let Ok(version) = version.to_str() else {
        return false;
    };
    let mut numbers = version.split(['.', '-', '+']).map(str::parse::<u32>);
    matches!(
        (numbers.next(), numbers.next(), numbers.next()),
        (Some(Ok(major)), Some(Ok(_)), Some(Ok(_))) if major >= FIRST
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_with_providers_are_supported() {
        for version in [
            c"3.0.0",
            c"3.0.22",
            c"3.5.0",
            c"3.6.0-dev",
            c"4.0.0",
            c"10.0.1+x",
        ] {
            assert!(is_supported(version), "{version:?}");
        }
    }

    #[test]
    fn all_other_versions_are_unsupported() {
        for version in [
            c"1.1.1",
            c"1.1.1w",
            c"2.9.0",
            c"",
            c"3",
            c"3.0",
            c"three",
            c"3.x.0",
            c"-3.0.0",
            c"LibreSSL 3.0.0",
            c"\xff.0.0",
        ] {
            assert!(!is_supported(version), "{version:?}");
        }
    }
}

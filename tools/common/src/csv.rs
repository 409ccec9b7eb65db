//! Writes comma-separated values for spreadsheets.

use serde::Serialize;

use crate::Failure;

/// The CSV text of `lines`, whose fields are the columns. The first line has the column names; missing
/// values are empty.
///
/// # Errors
/// A line cannot be written.
pub fn text(lines: impl IntoIterator<Item = impl Serialize>) -> Result<String, Failure> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.serialize(line).map_err(failure)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| failure(error.into_error()))?;
    String::from_utf8(bytes).map_err(failure)
}

fn failure(error: impl std::fmt::Display) -> Failure {
    Failure::Runtime(format!("CSV: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Line {
        name: &'static str,
        count: Option<u32>,
    }

    #[test]
    fn columns_have_the_names_of_fields() {
        let lines = [("a, b", Some(7)), ("c", None)].map(|(name, count)| Line { name, count });
        let text = text(lines).expect("it is written");
        assert_eq!(text, "name,count\n\"a, b\",7\nc,\n");
    }
}

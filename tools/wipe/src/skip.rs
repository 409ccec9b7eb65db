//! The dialog in which the user skips a drive: `s`, the drive's number, Enter.

/// The key that opens the dialog.
const OPEN: u8 = b's';

/// The dialog; closed by default.
#[derive(Debug, Default)]
pub struct SkipDialog {
    /// What was typed so far; `None` while the dialog is closed.
    typed: Option<String>,
}

impl SkipDialog {
    /// The question, with what was typed; `None` while the dialog is closed.
    pub fn question(&self) -> Option<String> {
        let typed = self.typed.as_ref()?;
        Some(format!(
            "skip which drive? number and Enter, Esc for none: {typed}"
        ))
    }

    pub fn is_open(&self) -> bool {
        self.typed.is_some()
    }

    /// Takes a key. Returns the number that was chosen, counted from 1.
    pub fn take(&mut self, key: u8) -> Option<usize> {
        let Some(typed) = &mut self.typed else {
            self.typed = (key == OPEN).then(String::new);
            return None;
        };
        match key {
            b'0'..=b'9' if typed.len() < 4 => typed.push(key.into()),
            0x08 | 0x7f => drop(typed.pop()),
            b'\r' | b'\n' => return self.typed.take()?.parse().ok(),
            // Any other key is no number, and perhaps the end of a key's sequence.
            _ => self.typed = None,
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &str) -> (Option<usize>, Option<String>) {
        let mut dialog = SkipDialog::default();
        let chosen = keys.bytes().filter_map(|key| dialog.take(key)).next();
        (chosen, dialog.question())
    }

    #[test]
    fn a_number_after_s_and_before_enter() {
        assert_eq!(typed("2\r"), (None, None));
        assert_eq!(typed("s12\n"), (Some(12), None));
        assert_eq!(typed("s13\x7f2\r"), (Some(12), None));
        assert_eq!(typed("s\r"), (None, None));
        for cancelled in ["s1\x1b", "s1q", "s\x1b[A", "s1s"] {
            assert_eq!(typed(cancelled), (None, None), "{cancelled:?}");
            assert_eq!(typed(&format!("{cancelled}\r")), (None, None));
        }
        let (_, question) = typed("s1");
        assert!(question.unwrap().ends_with(": 1"));
    }
}

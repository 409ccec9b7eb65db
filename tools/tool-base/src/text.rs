//! Text that may come from anywhere, made safe to print.

/// `text` as one line with control characters escaped, because file names may contain any.
pub fn in_a_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_debug())
        } else {
            line.push(c)
        }
    }
    line
}

/// `text` as one word for a shell, quoted if it must be.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,+=@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

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

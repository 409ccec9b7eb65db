//! The frame of the commands' pages: one HTML file each, without scripts and external resources, for
//! phones, dark mode and paper.

pub mod figures;
pub mod svg;

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page/style.css");

/// A page with this title and content. `style` has the page's own CSS rules, which follow the common
/// ones unescaped.
pub fn page(title: &str, style: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Without this, browsers request an icon.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body { main { (content) } }
        }
    };
    page.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_content_are_text_and_rules_come_last() {
        let text = "</title><script>";
        let page = page(text, ".own{}", &html! { p { (text) } });
        assert_eq!(page.matches("&lt;/title&gt;&lt;script&gt;").count(), 2);
        assert!(!page.contains("<script"));
        assert!(page.find(".own{}") > page.find("@media print"));
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    }
}

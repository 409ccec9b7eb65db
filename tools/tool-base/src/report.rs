//! What a run found, as one document with two writers: text for a terminal, and a page.
//!
//! A tool says which parts its document has, above all tables with their columns and rows, and which plots.
//! The other two forms of a report need no document: JSON is the data itself, and CSV has a line for each
//! figure; see [`crate::reports`].

mod html;
pub mod plots;
mod text;

use plots::Figure;

/// A report for people.
pub struct Document {
    /// The title of the page.
    pub title: String,
    /// The command that made it.
    pub command: &'static str,
    /// What it is about.
    pub heading: &'static str,
    /// What was measured, and where, or what it is a record of, in a line.
    pub machine: String,
    /// When: RFC 3339, and for people.
    pub date: [String; 2],
    /// What is to be doubted, each after a word for it; it comes before everything else.
    pub warnings: Vec<(&'static str, String)>,
    /// What to do. A page begins with it; a terminal, whose last lines are read first, ends with it.
    pub advice: Vec<Part>,
    pub parts: Vec<Part>,
    /// The version of what made it.
    pub footer: String,
}

/// A part of a document.
pub enum Part {
    Section(Section),
    Verdict(Verdict),
    /// Lines to sign on, with the name if it is known; only pages have them, and on paper what follows begins a sheet.
    Signature(Option<String>),
    /// A doubt about what follows, after a word for it.
    Warning(&'static str, String),
    /// The most important sentences.
    Advice(String),
    /// A paragraph.
    Note(String),
    /// Sentences, each with the number of the source that it comes from, if any.
    Items(Vec<(String, Option<usize>)>),
    /// The sources that items name, from number 1 on.
    Sources(Vec<String>),
    /// Facts by their names.
    Facts(Vec<(String, String)>),
    /// A line to copy, which is never wrapped, after its purpose.
    Copy(String, String),
    Table(Table),
    /// Parts that a page folds away below this line.
    Folded(&'static str, Vec<Part>),
    /// Plots, which only pages have.
    Plots(Vec<Figure>),
    /// Parts that only a page has room for.
    OnPage(Vec<Part>),
    /// Parts that a page does not need.
    OnTerminal(Vec<Part>),
}

/// What became of what the document is about.
pub struct Verdict {
    pub grade: Grade,
    /// The verdict in a word or a few.
    pub word: String,
    /// What it means.
    pub sentences: Vec<String>,
}

/// How good a verdict is, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    Good,
    Doubtful,
    Bad,
}

/// Parts with a heading.
pub struct Section {
    /// The name of its place in the page.
    pub id: String,
    pub heading: String,
    pub parts: Vec<Part>,
}

/// A table.
#[derive(Default)]
pub struct Table {
    pub columns: Vec<Column>,
    /// Rows in groups, each perhaps with a title, which pages show; terminals leave gaps between larger groups.
    pub groups: Vec<(Option<&'static str>, Vec<Vec<Cell>>)>,
    /// The number of columns that are repeated where a terminal is too narrow for all of them.
    pub heads: usize,
    /// Whether terminals show what stands below figures; pages always do.
    pub has_details: bool,
}

/// A column.
pub struct Column {
    /// Its title; a new line begins where a narrow column needs one.
    pub title: String,
    pub kind: Kind,
    pub medium: Medium,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Names, which are never wrapped.
    Name,
    /// Figures.
    Number,
    /// Sentences, which are wrapped.
    Prose,
}

/// Where a column is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    Both,
    Page,
    Terminal,
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub text: String,
    /// Details, a line each.
    pub below: Vec<String>,
    /// Why it is to be doubted, in a word or two.
    pub doubt: Option<&'static str>,
    /// Whether it is the best in its column.
    pub is_best: bool,
}

impl Section {
    /// A section as a part.
    pub fn part(id: &str, heading: &str, parts: Vec<Part>) -> Part {
        let (id, heading) = (id.to_owned(), heading.to_owned());
        Part::Section(Section { id, heading, parts })
    }
}

impl Column {
    pub fn new(title: &str, kind: Kind) -> Column {
        let (title, medium) = (title.to_owned(), Medium::Both);
        Column {
            title,
            kind,
            medium,
        }
    }

    /// The same column, shown on this medium alone.
    pub fn only_on(self, medium: Medium) -> Column {
        Column { medium, ..self }
    }
}

impl Cell {
    pub fn new(text: impl Into<String>) -> Cell {
        let text = text.into();
        Cell {
            text,
            ..Cell::default()
        }
    }

    /// The same cell with details below it.
    pub fn with(self, below: impl IntoIterator<Item = String>) -> Cell {
        let below = below.into_iter().collect();
        Cell { below, ..self }
    }
}

impl Part {
    /// Sentences without sources.
    pub fn items(sentences: impl IntoIterator<Item = String>) -> Part {
        let without = |sentence| (sentence, None);
        Part::Items(sentences.into_iter().map(without).collect())
    }
}

impl Document {
    /// The text for a terminal of this width; `None` wraps nothing. Only lines to copy and long names are wider.
    pub fn text(&self, width: Option<usize>) -> String {
        text::write(self, width)
    }

    /// One file of HTML. All text is escaped.
    pub fn page(&self) -> String {
        html::write(self)
    }
}

#[cfg(test)]
mod tests {
    use super::plots::{Bars, Curve, Curves, Figure, Plot};
    use super::*;
    use crate::measure::Spread;

    /// A name that tries to break HTML and the terminal.
    const HOSTILE: &str = "<script>\"'</style>&\x1b[2J\n";

    fn table() -> Table {
        let row = |name: &str, figure: &str, is_best| {
            let figure = Cell {
                is_best,
                ..Cell::new(figure).with(["2 ×".to_owned()])
            };
            let doubt = (!is_best).then_some("insecure");
            let name = Cell {
                doubt,
                ..Cell::new(name)
            };
            vec![name, figure.clone(), figure, Cell::new("p"), Cell::new("t")]
        };
        let groups = [
            ("first", "one", "5 ns", true),
            ("second", "two", "10 ns", false),
        ];
        Table {
            columns: vec![
                Column::new("name", Kind::Name),
                Column::new("at\n1", Kind::Number),
                Column::new("at\n2", Kind::Number),
                Column::new("page", Kind::Name).only_on(Medium::Page),
                Column::new("term", Kind::Number).only_on(Medium::Terminal),
            ],
            groups: groups
                .map(|(title, name, figure, is_best)| {
                    (Some(title), vec![row(name, figure, is_best)])
                })
                .into(),
            heads: 1,
            has_details: false,
        }
    }

    fn document(parts: Vec<Part>) -> Document {
        Document {
            title: "title".into(),
            command: "squall test",
            heading: "Heading",
            machine: "a machine".into(),
            date: ["2026-11-22T10:15:30Z", "2026-11-22"].map(str::to_owned),
            warnings: vec![("Doubt", "of all".into())],
            advice: vec![Part::Advice("Do this.".into())],
            parts,
            footer: "squall 0".into(),
        }
    }

    fn every_part() -> Vec<Part> {
        let item = ("others".to_owned(), Some(1));
        let verdict = Verdict {
            grade: Grade::Doubtful,
            word: "Stopped".into(),
            sentences: vec!["Half of it is done.".into()],
        };
        vec![
            Part::Verdict(verdict),
            Part::Facts(vec![
                ("CPU".into(), "fast".into()),
                ("CPUs".into(), "2".into()),
            ]),
            Section::part(
                "all",
                "All",
                vec![Part::Note("A note.".into()), Part::Table(table())],
            ),
            Part::Warning("Emulated", "slow".into()),
            Part::OnPage(vec![
                Part::Items(vec![item]),
                Part::Sources(vec!["a book".into()]),
            ]),
            Part::OnTerminal(vec![Part::items(["it broke".to_owned()])]),
            Part::Folded("More", vec![Part::Note("more".into())]),
            Part::Copy("Run".into(), "squall".into()),
            Part::Signature(Some("A. Name".into())),
        ]
    }

    #[test]
    fn text_has_every_part_and_the_advice_last() {
        let expected = "DOUBT: of all\na machine\nStopped\nHalf of it is done.\nCPU: fast; CPUs: 2\n\nAll\nA note.\n\
                        name         at     at term\n              1      2\n\
                        one       5 ns*  5 ns*    t\n\
                        two      10 ns  10 ns     t\ninsecure\n\
                        EMULATED: slow\n- it broke\nmore\n\nRun:\nsquall\n\nDo this.\n";
        assert_eq!(document(every_part()).text(None), expected);
    }

    /// Details of figures stand below them, and tables that are too wide are divided.
    #[test]
    fn a_narrow_terminal_has_several_tables() {
        let table = Table {
            has_details: true,
            ..table()
        };
        let text = document(vec![Part::Table(table)]).text(Some(20));
        assert!(
            text.contains("one       5 ns*\n            2 ×\n"),
            "{text}"
        );
        assert_eq!(text.matches("name ").count(), 3, "{text}");
        assert_eq!(text.matches(" ns").count(), 4, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 20),
            "{text}"
        );
    }

    #[test]
    fn sentences_in_tables_are_wrapped_and_names_are_not() {
        let table = Table {
            columns: vec![Column::new("", Kind::Name), Column::new("why", Kind::Prose)],
            groups: vec![(
                None,
                vec![vec![Cell::new("a-b-c-d-e"), Cell::new("it is too slow")]],
            )],
            ..Table::default()
        };
        let text = document(vec![Part::Table(table)]).text(Some(20));
        assert!(
            text.contains("a-b-c-d-e it is too\n          slow\n"),
            "{text}"
        );
    }

    #[test]
    fn a_page_has_every_part_and_the_advice_first() {
        let page = document(every_part()).page();
        let parts = [
            "<p class=\"kicker\">squall test</p><h1>Heading</h1>",
            "<time datetime=\"2026-11-22T10:15:30Z\">2026-11-22</time>",
            "<p class=\"warning\"><strong>Doubt. </strong>of all</p>",
            "<p class=\"advice\">Do this.</p>",
            "<div class=\"verdict doubtful\"><span class=\"mark\" aria-hidden=\"true\">!</span><div>\
             <p class=\"word\">Stopped</p><p>Half of it is done.</p></div></div>",
            "<dl class=\"facts\"><div><dt>CPU</dt><dd>fast</dd></div>",
            "<section><h2 id=\"all\">All</h2><p class=\"note\">A note.</p>",
            "<table class=\"figures\" aria-labelledby=\"all\">",
            "<th class=\"number\" scope=\"col\">at 1</th>",
            "<th class=\"name\" scope=\"col\">page</th></tr></thead>",
            "<th scope=\"rowgroup\" colspan=\"4\"><span>first</span></th>",
            "<tr><th scope=\"row\">one</th><td class=\"number best\"><span class=\"star\" aria-hidden=\"true\">★ \
             </span><span class=\"hidden\">best: </span>5 ns<small>2 ×</small></td>",
            "<th scope=\"row\">two<small class=\"doubt\">insecure</small></th><td class=\"number\">10 ns",
            "<strong>Emulated. </strong>slow",
            "<li>others <a href=\"#source-1\">[1]</a></li>",
            "<li id=\"source-1\">a book</li>",
            "<details><summary>More</summary>",
            "<p class=\"copy\">Run:</p><pre tabindex=\"0\"><code>squall</code></pre>",
            "<div><dt>Name</dt><dd>A. Name</dd></div><div><dt>Date</dt><dd></dd></div>",
            "<footer><p class=\"note\">squall 0</p></footer>",
        ];
        let mut rest = page.as_str();
        for part in parts {
            let found = rest.split_once(part);
            rest = found
                .unwrap_or_else(|| panic!("{part} is missing or comes too early: {page}"))
                .1;
        }
        assert!(!page.contains("it broke") && !page.contains(">term<"));
    }

    fn figure(plots: Vec<Plot>) -> Vec<Part> {
        let figure = Figure {
            heading: "Speed".into(),
            plots,
            others: "The others",
        };
        vec![Part::Plots(vec![figure])]
    }

    fn bars(name: &str) -> Plot {
        let ratio = Spread {
            low: 0.4,
            median: 0.5,
            high: 0.6,
        };
        Plot::Bars(Bars {
            axis: "percent",
            bars: vec!["read", "write"],
            rows: vec![(name.into(), vec![Some(ratio), None])],
        })
    }

    #[test]
    fn plots_have_legends_labels_and_axes() {
        let curve = |name: &str, look, is_dashed| Curve {
            name: name.into(),
            look,
            is_dashed,
            points: vec![(1.0, 10.0), (64.0, 1000.0)],
        };
        let curves = Plot::Curves(Curves {
            name: "bytes",
            across: |value| format!("{value:.0} B"),
            up: |value| format!("{value:.0} ns"),
            curves: vec![curve("ours", 0, false), curve("theirs", 1, true)],
        });
        let empty = Plot::Bars(Bars {
            axis: "none",
            bars: Vec::new(),
            rows: Vec::new(),
        });
        let page = document(figure(vec![curves, bars("aes"), empty])).page();
        for part in [
            "<h3>Speed</h3>",
            "<span class=\"marker c0\" aria-hidden=\"true\">●</span><span>ours</span>",
            "<span class=\"marker c1\" aria-hidden=\"true\">╌○╌</span><span>theirs</span>",
            "aria-label=\"Speed, a plot of ours\"",
            "<summary>The others</summary>",
            "aria-label=\"Speed, a plot of aes\"",
            "<span>write</span>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(page.matches("<svg").count(), 2);
        for label in ["bytes", "1 B", "64 B", "100 ns", "aes", "40 %", "percent"] {
            let is_there = page.lines().any(|line| line.trim() == label);
            assert!(is_there, "{label}: {page}");
        }
    }

    /// Names come from elsewhere: they stay text, whatever is in them.
    #[test]
    fn hostile_names_stay_text() {
        let mut parts = every_part();
        let text = || HOSTILE.to_owned();
        parts.extend([
            Section::part("x", HOSTILE, vec![Part::Note(text()), Part::Advice(text())]),
            Part::Facts(vec![(text(), text())]),
            Part::items([text()]),
            Part::Copy(text(), text()),
        ]);
        let mut hostile = table();
        hostile.groups[0].1[0][0] = Cell::new(HOSTILE).with([text()]);
        parts.push(Part::Table(hostile));
        parts.extend(figure(vec![bars(HOSTILE)]));
        let mut document = document(parts);
        document.title = text();
        let page = document.page();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
        assert!(!page.contains("<script>") && page.matches("</style>").count() == 1);
        assert!(page.matches("&lt;script&gt;").count() > 10);
        assert!(!document.text(Some(80)).contains('\x1b'));
    }
}

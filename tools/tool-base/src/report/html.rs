//! A document as a page: one HTML file, without scripts and external resources, for phones, dark mode and paper.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::plots::Figure;
use super::{Cell, Column, Document, Grade, Kind, Medium, Part, Section, Table, Verdict};
use crate::report::plots;

const STYLE: &str = include_str!("style.css");

pub fn write(document: &Document) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Without this, browsers request an icon.
                link rel="icon" href="data:,";
                title { (document.title) }
                style { (PreEscaped(STYLE)) (PreEscaped(plots::style())) }
            }
            body { main { (content(document)) } }
        }
    };
    page.into_string()
}

fn content(document: &Document) -> Markup {
    html! {
        header {
            p.kicker { (document.command) }
            h1 { (document.heading) }
            p.note { (document.machine) " · " time datetime=(document.date[0]) { (document.date[1]) } }
        }
        @for (word, sentence) in &document.warnings { (warning(word, sentence)) }
        (parts("", &document.advice))
        (parts("", &document.parts))
        footer { p.note { (document.footer) } }
    }
}

/// Parts of the section with this id.
fn parts(id: &str, parts: &[Part]) -> Markup {
    html! { @for it in parts { (part(id, it)) } }
}

fn part(id: &str, part: &Part) -> Markup {
    match part {
        Part::Section(Section { id, heading, parts }) => html! {
            section { h2 id=(id) { (heading) } (self::parts(id, parts)) }
        },
        Part::Verdict(it) => verdict(it),
        Part::Signature(name) => html! {
            dl.lines {
                div { dt { "Name" } dd { @if let Some(name) = name { (name) } } }
                div { dt { "Date" } dd {} }
                div { dt { "Signature" } dd {} }
            }
        },
        Part::Warning(word, sentence) => warning(word, sentence),
        Part::Advice(sentence) => html! { p.advice { (sentence) } },
        Part::Note(sentence) => html! { p.note { (sentence) } },
        Part::Items(items) => html! {
            ul.note {
                @for (item, source) in items {
                    li {
                        (item)
                        @if let Some(number) = source {
                            " " a href={ "#source-" (number) } { "[" (number) "]" }
                        }
                    }
                }
            }
        },
        Part::Sources(sources) => html! {
            ol.note {
                @for (number, source) in (1..).zip(sources) {
                    li id=(format!("source-{number}")) { (source) }
                }
            }
        },
        Part::Facts(facts) => html! {
            dl.facts { @for (name, fact) in facts { div { dt { (name) } dd { (fact) } } } }
        },
        Part::Copy(what, line) => html! {
            p.copy { (what) ":" }
            pre tabindex="0" { code { (line) } }
        },
        Part::Table(it) => table(id, it),
        Part::Folded(summary, parts) => html! {
            details { summary { (summary) } (self::parts(id, parts)) }
        },
        Part::Plots(plots) => html! { div.plots { @for it in plots { (figure(it)) } } },
        Part::OnPage(parts) => self::parts(id, parts),
        Part::OnTerminal(_) => html! {},
    }
}

fn warning(word: &str, sentence: &str) -> Markup {
    html! { p.warning { strong { (word) ". " } (sentence) } }
}

fn verdict(verdict: &Verdict) -> Markup {
    let (class, mark) = match verdict.grade {
        Grade::Good => ("good", "✓"),
        Grade::Doubtful => ("doubtful", "!"),
        Grade::Bad => ("bad", "✗"),
    };
    html! {
        div.verdict.(class) {
            span.mark aria-hidden="true" { (mark) }
            div {
                p.word { (verdict.word) }
                @for sentence in &verdict.sentences { p { (sentence) } }
            }
        }
    }
}

/// A table, whose name is the heading with this id.
fn table(id: &str, table: &Table) -> Markup {
    let is_shown = |(_, column): &(usize, &Column)| column.medium != Medium::Terminal;
    let shown = table.columns.iter().enumerate().filter(is_shown);
    let shown: Vec<(usize, &Column)> = shown.collect();
    let is_of_figures = shown.iter().all(|(_, column)| column.kind != Kind::Prose);
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby=(id) {
            table.figures[is_of_figures] aria-labelledby=(id) {
                thead {
                    tr {
                        @for (_, column) in &shown {
                            th.(class(column.kind)) scope="col" { (column.title.replace('\n', " ")) }
                        }
                    }
                }
                @for (title, rows) in &table.groups {
                    tbody {
                        @if let Some(title) = title {
                            tr.group { th scope="rowgroup" colspan=(shown.len()) { span { (title) } } }
                        }
                        @for row in rows { (self::row(&shown, row)) }
                    }
                }
            }
        }
    }
}

fn row(shown: &[(usize, &Column)], row: &[Cell]) -> Markup {
    html! {
        tr {
            @for (place, (index, column)) in shown.iter().enumerate() {
                @if place == 0 {
                    th scope="row" { (cell(&row[*index])) }
                } @else {
                    td.(class(column.kind)).best[row[*index].is_best] { (cell(&row[*index])) }
                }
            }
        }
    }
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Name => "name",
        Kind::Number => "number",
        Kind::Prose => "prose",
    }
}

fn cell(cell: &Cell) -> Markup {
    html! {
        @if cell.is_best { span.star aria-hidden="true" { "★ " } span.hidden { "best: " } }
        (cell.text)
        @for line in &cell.below { small { (line) } }
        @if let Some(doubt) = cell.doubt { small.doubt { (doubt) } }
    }
}

/// A figure with its first plot; the others are folded away below it.
fn figure(figure: &Figure) -> Markup {
    let plots = figure.plots.iter().filter_map(|plot| {
        let label = format!("{}, a plot of {}", figure.heading, plot.names().join(", "));
        let svg = plot.svg()?;
        Some(html! {
            ul.names {
                @for (colour, marker, name) in plot.legend() {
                    li {
                        span.marker.(format!("c{colour}")) aria-hidden="true" { (marker) }
                        span { (name) }
                    }
                }
            }
            div.drawing role="img" aria-label=(label) { (PreEscaped(svg)) }
        })
    });
    let plots: Vec<Markup> = plots.collect();
    let Some((first, others)) = plots.split_first() else {
        return html! {};
    };
    html! {
        figure {
            figcaption { h3 { (figure.heading) } }
            (first)
            @if !others.is_empty() {
                details { summary { (figure.others) } @for plot in others { (plot) } }
            }
        }
    }
}

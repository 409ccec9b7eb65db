//! Figures that others published.

use squall_bench::report::published::{DOCUMENTS, FIGURES, Value};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    every_document_has_figures,
    times_and_rates_are_of_the_same_figure,
];

fn every_document_has_figures() {
    for document in DOCUMENTS {
        assert!(FIGURES.iter().any(|figure| figure.document == document));
    }
}

fn times_and_rates_are_of_the_same_figure() {
    assert_eq!(Value::Rate(2e9).ns(16), Some(8.0));
    assert_eq!(Value::Ns(8.0).rate(16), Some(2e9));
    assert_eq!(Value::Ns(8.0).ns(0), Some(8.0));
    assert_eq!(Value::Rate(2e9).ns(0), None);
    assert_eq!(Value::Ns(8.0).rate(0), None);
}

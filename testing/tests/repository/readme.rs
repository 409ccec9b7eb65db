//! README's example is the compiled example `readme`.

const README: &str = include_str!("../../../README.md");
const EXAMPLE: &str = include_str!("../../../squall/examples/readme.rs");

#[test]
fn the_example_of_readme_is_compiled() {
    let (_, program) = EXAMPLE
        .split_once("\n\n")
        .expect("a head comment and a program");
    assert!(README.contains(&format!("```rust\n{program}```")));
}

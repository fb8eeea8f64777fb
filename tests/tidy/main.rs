//! The house rules that one crate can't enforce by itself: who may use whom (DESIGN.md §1), which foreign crate
//! stands where, sizes, names, and what may not be written. Every finding names the line and what to do.

mod arrows;
mod banned;
mod scan;
mod sizes;

use scan::{Source, sources};

/// What a rule found: `file:line: what is wrong; what to do`.
type Findings = Vec<String>;

fn hold(rule: &str, check: impl Fn(&Source) -> Findings, folders: &[&str]) {
    let findings: Findings =
        folders.iter().flat_map(|folder| sources(folder)).flat_map(|s| check(&s)).collect();
    assert!(findings.is_empty(), "\n{rule}:\n{}\n", findings.join("\n"));
}

#[test]
fn modules_use_only_what_lies_below_them() {
    hold("dependencies point one way (the table in tests/tidy/arrows.rs)", arrows::arrows, &["src"]);
}

#[test]
fn every_module_is_in_the_table() {
    hold("every module has its place (the table in tests/tidy/arrows.rs)", arrows::placed, &["src"]);
}

#[test]
fn foreign_crates_stay_in_their_folders() {
    hold("foreign types stay in their folder", arrows::foreign, &["src"]);
}

#[test]
fn files_and_functions_are_short() {
    let findings = sizes::check(&["src", "tests", "benches", "examples"]);
    assert!(findings.is_empty(), "\nfiles of 500 lines, functions of 70:\n{}\n", findings.join("\n"));
}

#[test]
fn unsafe_code_says_why_it_is_sound() {
    hold(
        "every unsafe block and impl has its SAFETY comment",
        banned::unsafe_without_reason,
        &["src", "tests", "benches"],
    );
}

#[test]
fn names_say_what_things_are() {
    hold("names that say nothing", banned::names, &["src", "tests", "benches"]);
}

#[test]
fn nothing_is_left_undone_or_hidden() {
    hold("unfinished or hidden code", banned::unfinished, &["src", "tests", "benches"]);
}

#[test]
fn users_can_not_cause_a_panic() {
    hold("unwrap and expect outside tests", banned::unwraps, &["src"]);
}

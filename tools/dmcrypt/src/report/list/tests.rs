use super::*;
use crate::candidates::{authenticated, model};
use crate::report::fixture;
use crate::report::tests::missing;

/// The list of a kernel like Debian's.
fn debian() -> List {
    let mut accepted = model::accepted();
    accepted.extend(authenticated(&accepted));
    accepted.sort();
    List {
        tried: 96_103,
        accepted: accepted.into_iter().map(Entry::of).collect(),
        ..fixture::list()
    }
}

#[test]
fn a_wide_terminal() {
    insta::assert_snapshot!("wide", text(&debian(), Some(120)));
}

#[test]
fn a_narrow_terminal() {
    let list = List {
        is_complete: false,
        ..debian()
    };
    let narrow = text(&list, Some(72));
    assert!(narrow.starts_with("INCOMPLETE: the run was interrupted, "));
    assert!(missing(&text(&list, None), &narrow).is_empty(), "{narrow}");
    let is_too_wide = |line: &&str| line.chars().count() > 72;
    assert_eq!(narrow.lines().find(is_too_wide), None);
}

#[test]
fn thousands_are_told_in_a_few_screens() {
    let list = debian();
    assert!(list.accepted.len() > 2000, "{}", list.accepted.len());
    let lines = text(&list, Some(120)).lines().count();
    assert!(lines < 200, "{lines}");
}

#[test]
fn every_specification_is_in_one_group() {
    let list = debian();
    let not_secure = list
        .accepted
        .iter()
        .filter(|entry| entry.verdict != Verdict::Secure);
    let counted = by_reason(not_secure.clone())
        .iter()
        .map(|(_, specs)| specs.len())
        .sum::<usize>();
    assert_eq!(counted, not_secure.count());
    let secure: Vec<&Spec> = list
        .accepted
        .iter()
        .filter(|entry| entry.verdict == Verdict::Secure)
        .map(|entry| &entry.spec)
        .collect();
    let plain = secure.iter().filter(|spec| spec.integrity.is_none());
    let rows = rows(plain.clone().copied());
    let told = rows
        .iter()
        .map(|(row, digests)| row.key_bits.len() * digests.len());
    assert_eq!(told.sum::<usize>(), plain.count());
}

#[test]
fn a_machine_without_anything_secure_says_so() {
    let mut list = debian();
    list.accepted
        .retain(|entry| entry.verdict == Verdict::Insecure);
    assert!(text(&list, None).contains("Nothing that this kernel accepts is."));
    list.accepted.clear();
    assert!(text(&list, None).contains("0 specifications accepted"));
}

#[test]
fn a_kernel_without_dm_integrity_is_told() {
    let mut list = debian();
    assert!(text(&list, None).contains("\nSecure and authenticated, over dm-integrity\n"));
    list.has_integrity = false;
    list.accepted.retain(|entry| entry.spec.integrity.is_none());
    let text = text(&list, None);
    assert!(text.contains("Nothing authenticated: "), "{text}");
    assert!(!text.contains("over dm-integrity\n"));
}

#[test]
fn an_emulated_machine_says_so_first() {
    for is_emulated in [false, true] {
        let mut list = debian();
        list.machine.is_emulated = is_emulated;
        assert_eq!(text(&list, None).starts_with("EMULATED"), is_emulated);
    }
}

#[test]
fn a_line_a_specification() {
    let list = debian();
    let csv = csv(&list).unwrap();
    assert_eq!(csv.lines().count(), list.accepted.len() + 1);
    let find = |start: &str| csv.lines().find(|line| line.starts_with(start)).unwrap();
    assert_eq!(
        csv.lines().next().unwrap(),
        "specification,cipher,mode,iv,digest,key_bits,integrity,verdict,rules,reason,source,same_as"
    );
    assert_eq!(
        find("aes-xts-plain64,"),
        "aes-xts-plain64,aes,xts,plain64,,256,,secure,,,,"
    );
    assert!(find("aes-ecb-benbi,").ends_with(",aes-ecb-null 128"));
    assert!(
        find("blowfish-cbc-plain,")
            .contains(",insecure,predictable-iv short-block short-key plain,")
    );
}

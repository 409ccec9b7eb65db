use super::*;

fn read(text: &str) -> Spec {
    text.parse().unwrap()
}

fn read_all(texts: &[&str]) -> Vec<Spec> {
    texts.iter().map(|text| read(text)).collect()
}

#[test]
fn ecb_ignores_the_name_of_its_iv() {
    for iv in ["plain64", "tcw", "essiv:sha256"] {
        let spec = read(&format!("aes-ecb-{iv} 256"));
        assert_eq!(equivalent(&spec), Some(read("aes-ecb-null 256")));
    }
    assert_eq!(equivalent(&read("aes-ecb-null 256")), None);
}

#[test]
fn what_differs_is_not_the_same() {
    for spec in [
        "aes-xts-plain 512",
        "capi:cts(cbc(aes))-plain64 256",
        "aes-cbc-null 128",
    ] {
        assert_eq!(equivalent(&read(spec)), None, "{spec}");
    }
}

#[test]
fn digests_stand_behind_sha256() {
    let specs = read_all(&[
        "aes-cbc-essiv:blake2b-256 256",
        "aes-cbc-essiv:sha256 256",
        "aes-cbc-essiv:sha256 128",
        "aes-cbc-essiv:md5 256",
        "aes-cbc-plain64 256",
    ]);
    let [_, long, weak, plain] = &groups(&specs)[..] else {
        panic!("{:?}", groups(&specs));
    };
    assert_eq!(plain, &(read("aes-cbc-plain64 256"), vec![]));
    let behind = read_all(&["aes-cbc-essiv:blake2b-256 256"]);
    assert_eq!(long, &(read("aes-cbc-essiv:sha256 256"), behind));
    assert_eq!(weak, &(read("aes-cbc-essiv:md5 256"), vec![]));
}

/// A secure specification never stands for one that is not.
#[test]
fn all_of_a_group_have_one_verdict() {
    let specs = read_all(&[
        "serpent-cbc-essiv:md5 128",
        "serpent-cbc-essiv:sha3-256 128",
    ]);
    assert_eq!(groups(&specs).len(), 2);
    let verdict = |spec: &Spec| rules::judge(spec).0;
    for (measured, behind) in groups(&crate::candidates::model::accepted()) {
        assert!(behind.iter().all(|it| verdict(it) == verdict(&measured)));
    }
}

#[test]
fn what_means_the_same_is_measured_once() {
    let specs = read_all(&[
        "aes-ecb-benbi 256",
        "aes-ecb-null 256",
        "aes-ecb-plain 256",
        "aes-ecb-null 256",
    ]);
    let [(measured, behind)] = &groups(&specs)[..] else {
        panic!();
    };
    assert_eq!(measured, &read("aes-ecb-null 256"));
    assert_eq!(
        behind,
        &read_all(&["aes-ecb-benbi 256", "aes-ecb-plain 256"])
    );
}

#[test]
fn every_specification_is_in_one_group() {
    let specs = crate::candidates::model::accepted();
    let all = groups(&specs);
    let members = all
        .iter()
        .map(|(_, behind)| 1 + behind.len())
        .sum::<usize>();
    assert_eq!(members, specs.len());
    assert!(all.len() < specs.len() / 2);
    assert_eq!(groups(&[]), []);
}

/// Another length is measured if the next longer one is missing or has a worse verdict.
#[test]
fn a_length_that_aes_does_not_have_is_not_measured_by_itself() {
    let specs = read_all(&[
        "serpent-xts-plain64 288",
        "serpent-xts-plain64 384",
        "serpent-xts-plain64 416",
        "cast6-cbc-essiv:blake2b-160 160",
        "cast6-cbc-essiv:sha256 192",
    ]);
    let all = groups(&specs);
    let group = |text: &str| all.iter().find(|(first, _)| *first == read(text));
    assert_eq!(all.len(), 3);
    let behind = |text: &str| group(text).expect("it is measured").1.clone();
    assert_eq!(
        behind("serpent-xts-plain64 384"),
        read_all(&["serpent-xts-plain64 288"])
    );
    assert_eq!(behind("serpent-xts-plain64 416"), []);
    assert_eq!(
        behind("cast6-cbc-essiv:sha256 192"),
        read_all(&["cast6-cbc-essiv:blake2b-160 160"])
    );
}

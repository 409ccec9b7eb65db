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
        assert_eq!(same_as(&spec), Some(read("aes-ecb-null 256")));
    }
    assert_eq!(same_as(&read("aes-ecb-null 256")), None);
}

#[test]
fn what_differs_is_not_the_same() {
    for spec in [
        "aes-xts-plain 512",
        "capi:cts(cbc(aes))-plain64 256",
        "aes-cbc-null 128",
    ] {
        assert_eq!(same_as(&read(spec)), None, "{spec}");
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
    let [_, long, plain] = &alike(&specs)[..] else {
        panic!("{:?}", alike(&specs));
    };
    assert_eq!(plain, &(read("aes-cbc-plain64 256"), vec![]));
    let behind = read_all(&["aes-cbc-essiv:blake2b-256 256", "aes-cbc-essiv:md5 256"]);
    assert_eq!(long, &(read("aes-cbc-essiv:sha256 256"), behind));
}

/// SHA-256 makes an IV of a key under which there is a better one no better.
#[test]
fn the_best_verdict_is_measured() {
    let specs = read_all(&[
        "serpent-cbc-essiv:md5 128",
        "serpent-cbc-essiv:sha3-256 128",
    ]);
    let [(measured, behind)] = &alike(&specs)[..] else {
        panic!();
    };
    assert_eq!(measured.iv, Iv::essiv("sha3-256"));
    assert_eq!(behind[0].iv, Iv::essiv("md5"));
}

#[test]
fn what_means_the_same_is_measured_once() {
    let specs = read_all(&[
        "aes-ecb-benbi 256",
        "aes-ecb-null 256",
        "aes-ecb-plain 256",
        "aes-ecb-null 256",
    ]);
    let [(measured, behind)] = &alike(&specs)[..] else {
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
    let groups = alike(&specs);
    let members = groups
        .iter()
        .map(|(_, behind)| 1 + behind.len())
        .sum::<usize>();
    assert_eq!(members, specs.len());
    assert!(groups.len() < specs.len() / 2);
    assert_eq!(alike(&[]), []);
}

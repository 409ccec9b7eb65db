//! Finds the target of each asset tag.

use squall_drives::{Target, shown};
use squall_tools::Failure;

/// The asset tag of each of `targets`, from the values of `--asset`: the tag, if there is one target, or
/// `SERIAL=TAG`.
pub fn of(targets: &[Target], given: &[String]) -> Result<Vec<Option<String>>, Failure> {
    let mut tags = vec![None; targets.len()];
    for value in given {
        let named = value.split_once('=');
        let named = named.and_then(|(serial, tag)| Some((place_of(targets, serial)?, tag)));
        let only = (targets.len() == 1).then_some((0, value.as_str()));
        let (place, tag) = named.or(only).ok_or_else(|| unknown(targets, value))?;
        if tag.trim().is_empty() {
            return Err(Failure::Usage(format!("--asset {value}: it has no tag")));
        }
        if tags[place].replace(tag.trim().to_owned()).is_some() {
            return Err(Failure::Usage(format!(
                "--asset {value}: this target has another tag already"
            )));
        }
    }
    Ok(tags)
}

fn place_of(targets: &[Target], serial: &str) -> Option<usize> {
    targets.iter().position(|target| {
        let identity = &target.identity;
        let known = [&identity.serial, &identity.wwid];
        known.into_iter().flatten().any(|known| known == serial)
    })
}

fn unknown(targets: &[Target], value: &str) -> Failure {
    let serials: Vec<_> = targets
        .iter()
        .map(|target| match &target.identity.serial {
            Some(serial) => serial.clone(),
            None => format!("none for {}", shown(&target.identity.given)),
        })
        .collect();
    Failure::Usage(format!(
        "--asset {value}: use SERIAL=TAG with one of these serial numbers: {}",
        serials.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use squall_testing::loops::Lab;

    use super::*;

    #[test]
    fn tags_find_their_drives() {
        let lab = Lab::new();
        let image = lab.image("image", 4096);
        let targets = ["S1", "S2"].map(|serial| {
            let mut target = Target::find(&image).expect("a target");
            target.identity.serial = Some(serial.into());
            target
        });
        let tags = |targets: &[Target], given: &[&str]| {
            let given: Vec<_> = given.iter().map(|tag| (*tag).to_owned()).collect();
            of(targets, &given).map_err(Failure::into_text)
        };
        let tag = |tag: &str| Some(tag.to_owned());
        assert_eq!(tags(&targets, &[]), Ok(vec![None, None]));
        assert_eq!(tags(&targets, &["S2=A=7"]), Ok(vec![None, tag("A=7")]));
        let one = &targets[..1];
        assert_eq!(tags(one, &["A=7"]), Ok(vec![tag("A=7")]));
        assert_eq!(tags(one, &["S1=7"]), Ok(vec![tag("7")]));
        for (targets, given, words) in [
            (&targets[..], &["A7"][..], "serial numbers: S1, S2"),
            (&targets, &["S3=A7"], "use SERIAL=TAG"),
            (&targets, &["S1=A7", "S1=A8"], "another tag already"),
            (one, &["A7", "A8"], "another tag already"),
            (one, &["S1= "], "no tag"),
        ] {
            let text = tags(targets, given).expect_err("it is refused");
            assert!(text.contains(words), "{text}");
        }
    }
}

//! FROM bench/choice.rs
//! Chooses the specifications to measure, and says why others are left out.

use squall_tool_base::{Failure, Interrupt};

use crate::args::BenchArguments;
use crate::model::{Entry, Failed, LeftOut, Measured, Options, by_reason};
use crate::rules::{Reason, Verdict};
use crate::session::Session;
use crate::spec::Spec;
use crate::{candidates, list};

/// What is measured if the user names nothing: what cryptsetup's documentation names (release notes of
/// 2.0.0 and 2.8.0).
const USUAL: [&str; 4] = [
    "aegis128-random 128 aead",
    "aes-xts-plain64 512 hmac-sha256",
    "chacha20-random 256 poly1305",
    "aes-gcm-random 256 aead",
];

/// Least length of a part: room for metadata, and for several of the largest transfers.
const LEAST_MIB: u64 = 8;

/// The name of the whole in the list of failures.
pub const AUTHENTICATED: &str = "authenticated encryption";

fn usual() -> impl Iterator<Item = Spec> {
    USUAL.iter().filter_map(|text| text.parse().ok())
}

pub struct Choice {
    /// What to measure, with dm-crypt's default options.
    pub measured: Vec<Wanted>,
    /// Authenticated specifications to measure, over dm-integrity.
    pub authenticated: Vec<Spec>,
    /// Accepted specifications that are not measured, by reason.
    pub left_out: Vec<LeftOut>,
}

/// A specification to measure, as [`Measured`] describes it.
pub struct Wanted {
    pub spec: Spec,
    pub options: Options,
    pub stands_for: Vec<Spec>,
}

impl Wanted {
    /// What was measured, to be measured again with these options.
    pub fn again(measured: &Measured, options: Options) -> Wanted {
        Wanted {
            spec: measured.spec.clone(),
            options,
            stands_for: measured.stands_for.clone(),
        }
    }
}

pub fn choose(
    session: &Session,
    options: &BenchArguments,
    interrupt: &Interrupt,
) -> Result<Choice, Failure> {
    if !options.cipher.is_empty() {
        return named(session, options);
    }
    let list = list::survey_kernel(session, interrupt)?;
    interrupt.check()?;
    Ok(choose_from(&list.accepted, options.all))
}

/// The specifications that the user named; fails if this kernel does not accept one, or if the device is
/// too small.
fn named(session: &Session, options: &BenchArguments) -> Result<Choice, Failure> {
    let mut prober = list::Prober::new(&session.control)?;
    let mut all: Vec<&Spec> = Vec::new();
    for spec in &options.cipher {
        let refused = |why: &str| {
            let text = format!("--cipher {:?}: {why}", spec.to_string());
            Err(Failure::Usage(text))
        };
        if spec.integrity.is_some() && !prober.has_integrity() {
            return refused(
                "authentication takes dm-integrity, and dm-zero to ask about it, which this kernel \
                 lacks (CONFIG_DM_INTEGRITY, CONFIG_DM_ZERO): load them, or use one without",
            );
        }
        if !prober.accepts(spec)? {
            return refused(
                "this kernel does not accept it: use one that `squall dmcrypt list` shows",
            );
        }
        if !all.contains(&spec) {
            all.push(spec);
        }
    }
    let all = all.into_iter().cloned();
    let (authenticated, measured): (Vec<Spec>, Vec<Spec>) =
        all.partition(|spec| spec.integrity.is_some());
    if !authenticated.is_empty() {
        // The device without encryption has a part, and the best without authentication.
        let parts = 1 + usize::from(!measured.is_empty()) + 2 * authenticated.len();
        part(options.size, parts)
            .map_err(|failed| Failure::Usage(format!("{}: {}", failed.name, failed.reason)))?;
    }
    let alone = measured.into_iter().map(|spec| (spec, Vec::new()));
    Ok(Choice {
        measured: alone.map(wanted).collect(),
        authenticated,
        left_out: Vec::new(),
    })
}

/// Chooses all specifications, or only the secure ones; other names of a specification are skipped. Of
/// the authenticated ones it chooses the usual ones.
fn choose_from(accepted: &[Entry], all: bool) -> Choice {
    let (authenticated, accepted): (Vec<&Entry>, Vec<&Entry>) = accepted
        .iter()
        .partition(|entry| entry.spec.integrity.is_some());
    let is_measured = |entry: &&Entry| {
        if all {
            entry.same_as.is_none()
        } else {
            entry.verdict == Verdict::Secure
        }
    };
    let (measured, others): (Vec<&Entry>, Vec<&Entry>) =
        accepted.into_iter().partition(is_measured);
    let specs: Vec<Spec> = measured.iter().map(|entry| entry.spec.clone()).collect();
    let groups = candidates::groups(&specs).into_iter();
    let is_accepted = |spec: &Spec| authenticated.iter().any(|entry| entry.spec == *spec);
    // Another name of a measured specification does not count as left out.
    let others = others.into_iter().filter(|it| !all || it.same_as.is_none());
    Choice {
        measured: groups.map(wanted).collect(),
        authenticated: usual().filter(is_accepted).collect(),
        left_out: by_reason(others).into_iter().map(left_out).collect(),
    }
}

/// A group of specifications, to be measured with the default options.
fn wanted((spec, stands_for): (Spec, Vec<Spec>)) -> Wanted {
    Wanted {
        spec,
        options: Options::PLAIN,
        stands_for,
    }
}

fn left_out((reason, specs): (Reason, Vec<&Spec>)) -> LeftOut {
    let mut algorithms: Vec<String> = specs.iter().map(|spec| spec.algorithm()).collect();
    algorithms.sort();
    algorithms.dedup();
    LeftOut {
        reason,
        count: specs.len(),
        algorithms,
    }
}

/// The length in bytes of each of `count` parts of `bytes`; fails if that is too little.
pub fn part(bytes: u64, count: usize) -> Result<u64, Failed> {
    let count = count as u64;
    match (bytes / count) >> 20 {
        mib @ LEAST_MIB.. => Ok(mib << 20),
        _ => Err(Failed {
            name: AUTHENTICATED.into(),
            reason: format!(
                "its {count} devices need {LEAST_MIB} MiB each: use --size {}MiB or more",
                count * LEAST_MIB
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choice from these, and the names of what is measured.
    fn chosen(specs: &[&str], all: bool) -> (Choice, Vec<String>) {
        let specs = specs
            .iter()
            .map(|text| text.parse().expect("a specification"));
        let list: Vec<Entry> = specs.map(Entry::from_spec).collect();
        let choice = choose_from(&list, all);
        let names = choice.measured.iter().map(|it| it.spec.to_string());
        let names = names.collect();
        (choice, names)
    }

    #[test]
    fn secure_ones_are_measured_and_others_are_left_out_by_reason() {
        let specs = [
            "aes-xts-plain64 512",
            "aes-cbc-essiv:sha256 256",
            "aes-cbc-essiv:sha3-256 256",
            "twofish-ctr-plain64 256",
            "aes-ctr-plain64 256",
            "aes-cfb-plain64 256",
            "aes-ecb-null 256",
            "aes-ecb-plain64 256",
            "aes-gcm-random 256 aead",
            "twofish-gcm-random 256 aead",
        ];
        let (choice, names) = chosen(&specs, false);
        assert_eq!(choice.authenticated.len(), 1, "only the usual ones");
        assert_eq!(names, ["aes-cbc-essiv:sha256 256", "aes-xts-plain64 512"]);
        assert_eq!(choice.measured[0].stands_for.len(), 1);
        // The largest groups come first, and then by name.
        let left_out = choice.left_out.iter().map(|it| (it.reason.rule, it.count));
        let expected = [("ecb", 2), ("keystream", 2), ("cfb", 1)];
        assert_eq!(left_out.collect::<Vec<_>>(), expected);
        let counter = &choice.left_out[1].algorithms;
        assert_eq!(*counter, ["ctr(aes)", "ctr(twofish)"]);
    }

    #[test]
    fn every_specification_is_measured_once() {
        let specs = [
            "aes-ctr-plain64 256",
            "aes-ecb-null 256",
            "aes-ecb-plain64 256",
        ];
        let (choice, names) = chosen(&specs, true);
        assert_eq!(names, ["aes-ctr-plain64 256", "aes-ecb-null 256"]);
        assert!(choice.left_out.is_empty());
    }

    #[test]
    fn parts_are_equal_and_whole() {
        assert_eq!(part(512 << 20, 10).expect("enough"), 51 << 20);
        let failed = part(64 << 20, 10).expect_err("too little");
        assert!(failed.reason.contains("--size 80MiB"), "{}", failed.reason);
    }
}

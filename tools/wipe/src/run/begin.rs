//! Begins a new job: checks the options, and finds, checks, confirms and opens the targets.

use squall_drives::erase::supported_by_all;
use squall_drives::{Checked, Target, shown};
use squall_tool_base::{Failure, output};

use super::{PreparedJob, new_job, protect_memory, say, show_plan, then};
use crate::args::{MAX_PASSES, WipeArguments};
use crate::arrivals::{self, KnownDrives};
use crate::choice::{self, Choice};
use crate::drive::pending;
use crate::journal::{self, Journal};
use crate::keys;
use crate::record::{Drive, Job, Plan, Scope};
use crate::show::json;
use crate::{PURPOSE, machine, purge, resources};

/// Prepares a new job; `None` for a dry run.
pub fn prepare(options: &WipeArguments) -> Result<Option<PreparedJob>, Failure> {
    let plan = plan_of(options)?;
    let choice = options.choice.all.then(|| chosen(options)).transpose()?;
    let watched = choice.as_ref().filter(|_| options.choice.watch);
    let known = watched.map(KnownDrives::from_choice).transpose()?;
    let targets = match &choice {
        Some(choice) => choice.targets.clone(),
        None => {
            let named: Result<_, _> = options.targets.iter().map(|it| Target::find(it)).collect();
            named?
        }
    };
    let checked = Checked::new(targets, PURPOSE)?;
    let targets = checked.targets().to_vec();
    resources::check(&targets)?;
    let assets = asset_tags(&targets, &options.labels.asset)?;
    if options.purge.is_none() {
        purge::check_idle(&targets)?;
    }
    if let Some(how) = options.purge.filter(|_| options.dry_run) {
        let supported = checked.supported_erases(purge::access, options.transfer.direct)?;
        purge::choose(how, &targets, &supported)?;
    }
    let directory = match &options.report {
        Some(directory) => directory.clone(),
        None => journal::default_directory()?,
    };
    journal::check_directory(&directory)?;
    then::check(options.then, &targets, &directory)?;
    let shown = show_plan(options, &options.consent, choice.as_ref(), &targets, &plan)?;
    let Some(erases) = shown else {
        return Ok(None);
    };
    journal::make_directory(&directory)?;
    let (confirmed, arrivals) = arrivals::confirm(checked, known, options)?;
    protect_memory();
    let devices = confirmed.open(purge::access, options.transfer.direct)?;
    let purges = match options.purge {
        None => vec![None; targets.len()],
        Some(how) => purge::choose(how, &targets, &supported_by_all(&devices))?,
    };
    let own_erases = purge::own_erases(&targets, &erases);
    let all = targets.iter().zip(purges).zip(own_erases).zip(assets);
    let drive = |(((target, purge), own_erase), asset)| Drive {
        purge,
        own_erase,
        asset,
        ..Drive::from_target(target)
    };
    let drives = all.map(drive).collect();
    let job = Job {
        operator: options.labels.operator.clone(),
        customer: options.labels.customer.clone(),
        ..new_job(plan.clone(), drives)
    };
    let journal = Journal::create(&directory, job);
    if machine::is_in_memory(&directory) {
        let directory = directory.display();
        say(&format!(
            "note: {directory} is in memory: after a power cut the job cannot be resumed"
        ));
    }
    let keys = keys::draw_all(&journal, 0..targets.len())?;
    let pending_drives = pending(&plan, 0.., devices, keys);
    Ok(Some((journal, pending_drives, arrivals)))
}

/// The drives of `--all`. If they are not as the user expects, shows what was found, and fails.
fn chosen(options: &WipeArguments) -> Result<Choice, Failure> {
    let mut choice = choice::choose(&options.choice, &options.consent)?;
    if options.purge.is_none() {
        choice.leave_out(purge::why_unreadable);
    }
    if options.json {
        output::print(&json::left_out(&choice)?)?;
    }
    if let Err(failure) = choice.check(&options.choice) {
        say(choice.text(output::error_width()).trim_end());
        return Err(failure);
    }
    Ok(choice)
}

/// The plan that the options ask for. Fails if they contradict each other.
pub fn plan_of(options: &WipeArguments) -> Result<Plan, Failure> {
    if options.verify_each && options.verify == Scope::None {
        return Err(Failure::Usage(
            "--verify-each would compare nothing: use --verify full or sample".into(),
        ));
    }
    let passes = options.passes.repeat(options.rounds as usize);
    if passes.len() > MAX_PASSES {
        return Err(Failure::Usage(format!(
            "{} passes in all are too many: at most {MAX_PASSES} are possible",
            passes.len()
        )));
    }
    Ok(Plan {
        passes,
        verify: options.verify,
        verify_each: options.verify_each,
        keep_key: options.keep_key,
    })
}

/// The asset tag of each of `targets`, from the values of `--asset`: the tag, if there is one target, or
/// `SERIAL=TAG`.
fn asset_tags(targets: &[Target], given: &[String]) -> Result<Vec<Option<String>>, Failure> {
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
    let has = |target: &Target| target.has_serial(serial);
    targets.iter().position(has)
}

fn unknown(targets: &[Target], value: &str) -> Failure {
    let serials = targets.iter().map(|target| match &target.identity.serial {
        Some(serial) => serial.clone(),
        None => format!("none for {}", shown(&target.identity.given)),
    });
    let serials: Vec<_> = serials.collect();
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
            asset_tags(targets, &given).map_err(Failure::into_text)
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

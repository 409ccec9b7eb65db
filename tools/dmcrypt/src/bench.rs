//! `squall dmcrypt bench`: measures encrypted devices beside the one below them, and recommends one.

pub mod choice;
mod devices;

use jiff::Timestamp;
use squall_tool_base::reports::Reports;
use squall_tool_base::{Failure, Interrupt, output};

use crate::args::BenchArguments;
use crate::backing::Backing;
use crate::model::{BENCH_FORMAT, Bench, Machine};
use crate::ram::Ram;
use crate::session::Session;
use crate::{backing, measure, recommend, report};
use choice::Choice;
use devices::Run;

pub fn bench(options: &BenchArguments) -> Result<(), Failure> {
    let reports = Reports::open(&options.reports, options.export_html.as_deref())?;
    let interrupt = Interrupt::watch("the report has what was measured so far")?;
    // The survey takes minutes, so a wrong device is reported before it.
    if let Some(path) = &options.device {
        backing::find_device(path, options.size)?;
    }
    let session = Session::begin()?;
    let choice = choice::choose(&session, options, &interrupt)?;
    interrupt.check()?;
    let report = run_on_backing(&session, options, choice, &interrupt)?;
    let document = report::document::document(&report);
    let page = || document.page();
    let text = || document.text(output::width());
    reports.give(&report, || report::lines(&report), page, text)?;
    if report.is_complete {
        Ok(())
    } else {
        interrupt.check()
    }
}

fn run_on_backing(
    session: &Session,
    options: &BenchArguments,
    choice: Choice,
    interrupt: &Interrupt,
) -> Result<Bench, Failure> {
    if let Some(path) = &options.device {
        let backing = Backing::of_device(&session.control, path, &options.consent, options.size)?;
        return measure_and_report(session, &backing, options, choice, interrupt);
    }
    let report = Ram::make(options.size, |text| session.note(text)).and_then(|ram| {
        let backing = Backing::of_ram(&session.control, &ram, options.size)?;
        measure_and_report(session, &backing, options, choice, interrupt)
    });
    if !Ram::has_driver() {
        // If the note cannot be cleared, the next run clears it; the results are worth more.
        let _ = session.note("");
    }
    report
}

/// Measures the chosen specifications, then the best few with other options, then the authenticated
/// ones.
fn measure_and_report(
    session: &Session,
    backing: &Backing,
    options: &BenchArguments,
    choice: Choice,
    interrupt: &Interrupt,
) -> Result<Bench, Failure> {
    let mut run = Run {
        session,
        backing,
        options,
        interrupt,
        devices: 0,
        failures: Vec::new(),
        is_complete: true,
    };
    let at = Timestamp::now();
    run.write_all(&backing.subject(), "random data".into())?;
    let (raw, ranking) = run.all(&choice.measured)?;
    let variants = run.variants(&ranking);
    let (raw_beside, authenticated) = run.authenticated(&choice.authenticated, &ranking);
    // If only authenticated ones were measured, the device without encryption was measured with them.
    let raw = if raw.is_empty() { raw_beside } else { raw };
    let machine = Machine::this();
    let recommendation =
        recommend::recommend(&ranking, &variants, &backing.about, machine.is_emulated);
    Ok(Bench {
        format: BENCH_FORMAT,
        at,
        machine,
        backing: backing.about.clone(),
        rounds: options.rounds as usize,
        sample_ms: options.sample.as_millis() as u64,
        is_complete: run.is_complete,
        workloads: measure::workloads(),
        raw,
        ranking,
        variants,
        authenticated,
        left_out: choice.left_out,
        failures: run.failures,
        recommendation,
    })
}

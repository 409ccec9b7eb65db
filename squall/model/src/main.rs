//! Checks the model of squall's guards, or shows how a promise is broken without one of them.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use squall_model::{Guard, bounds, cpus, that_needs, trace};

/// Tries every order of steps and events in a model of squall's guards.
#[derive(Parser)]
struct Args {
    /// Leaves out a guard, and prints the shortest way to a broken promise
    #[arg(long, value_name = "GUARD")]
    without: Option<Guard>,

    /// Events beside a copy, in every combination: 1 takes minutes, more may take hours
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=5))]
    events: u8,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let (settings, threads) = match args.without {
        Some(guard) => (vec![that_needs(guard).without(guard)], 1),
        None => (bounds(args.events.into()), cpus()),
    };
    let (began, mut states) = (Instant::now(), 0);
    for setting in settings {
        let described = setting.to_string();
        let outcome = setting.check(threads);
        states += outcome.states;
        println!("{:>11} states  {described}", outcome.states);
        if let Some((promise, path)) = outcome.counterexample {
            println!("\nBroken: {promise}\n\n{}", trace(path));
            return ExitCode::FAILURE;
        }
    }
    println!(
        "every promise held in {states} states, {:.0} s",
        began.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}

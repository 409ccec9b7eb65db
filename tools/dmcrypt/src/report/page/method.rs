//! The section on the method, with the command that repeats the measurement.

use maud::{Markup, html};

use crate::model::{BackingKind, Bench};

/// The whole section.
pub fn section(bench: &Bench) -> Markup {
    html! {
        section {
            h2 id="method" { "How it was measured" }
            ul.method {
                li {
                    "On dm-crypt devices of the kernel, under random keys that were given to the "
                    "kernel and wiped; each lay over the same device."
                }
                li {
                    "In rounds: the device without encryption and each specification once a round, "
                    "in an order that changes. Figures are medians over the rounds, with quartiles."
                }
                li {
                    "A ratio is the median of the rounds' ratios to the device without encryption, "
                    "so what the machine did meanwhile is in both of its parts."
                }
                li {
                    "Transfers bypass the page cache (O_DIRECT), in sequence or at random offsets, "
                    "one after the other or by several threads that have one in flight each: the "
                    "same way for every device. What a sample wrote is flushed after its "
                    "time is taken, so that no other sample pays for it."
                }
                li {
                    "CPU time is what the kernel counts for the whole machine during a sample and its "
                    "flush, in hundredths of a second, over all rounds together. A latency is the time "
                    "from the beginning of a transfer to its end, with what it waited for others."
                }
                li {
                    "ESSIV hashes the key only when a table is loaded: of specifications "
                    "that differ in that digest only, or in a length of key that AES does not have, "
                    "one was measured."
                }
            }
            p { "The same on another machine, for what is secure there:" }
            pre tabindex="0" { code { (command(bench)) } }
        }
        footer { p.note { "squall " (bench.machine.squall) ", report " (bench.format) } }
    }
}

/// The command that makes this page again.
fn command(bench: &Bench) -> String {
    let device = match bench.backing.kind {
        BackingKind::Ram => "",
        BackingKind::Device => " --device DEVICE",
    };
    let Bench {
        rounds, sample_ms, ..
    } = bench;
    let mib = bench.backing.bytes >> 20;
    format!(
        "squall dmcrypt bench{device} --rounds {rounds} --sample {sample_ms} --size {mib}MiB \
         --export-html dmcrypt.html"
    )
}

//! Arguments of `squall-lab cost`.

use clap::Args;

/// Options of `squall-lab cost`.
#[derive(Debug, Args)]
pub struct CostArguments {
    /// Print one JSON object with stable snake_case keys; missing values are null
    ///
    /// Keys: machine (with cpu, kernel, release_build, random_instruction and sha_instructions),
    /// quick, operations, throughput, fork and targets.
    ///
    /// operations has add_input_without_compression, add_input, interrupt, absorb_16_bytes,
    /// absorb_61_bytes, absorb_72_bytes, absorb_88_bytes, generate_4_bytes, generate_16_bytes,
    /// generate_64_bytes and bootstrap. Each of them has unit, generators and paper, as has each of
    /// the list throughput, beside block_bytes. generators has a figure for each that has the
    /// operation: whirlwind_sha512, whirlwind_sha256, whirlwind_davies_meyer, robust_489,
    /// robust_579, robust_705 and legacy. A figure has lower_quartile, median, upper_quartile and
    /// mean. paper has whirlwind and legacy, each null or with value, plus_minus (or null) and text,
    /// as published.
    ///
    /// fork has unit, rounds, forks_of_a_process, paper, the figures without_squall,
    /// without_squall_again, with_squall and with_squall_child_draws, and overhead_percent and
    /// null_overhead_percent (of one kind without squall over the other), each with lower_quartile,
    /// median, upper_quartile and interval_95, the 95 % confidence interval of the median.
    ///
    /// Each of targets has target, bound (at_most, under or above), limit, measured, unit and met.
    /// New keys may be added.
    #[arg(long)]
    pub json: bool,

    /// Run fewer rounds: a few seconds, with approximate figures
    #[arg(long)]
    pub quick: bool,
}

# For scripts that build what the tests build: the same crates with the same features, so that each is
# compiled once.
research=(squall-lab squall-legacy-rng squall-probe squall-robust-prng)
product=(--workspace --all-features "${research[@]/#/--exclude=}")

# For scripts that build what the tests build: the same crates with the same features, so that each is
# compiled once. squall-python, which only links into an interpreter, is built and tested by scripts of its own.
research=(squall-lab squall-legacy-rng squall-probe squall-robust-prng squall-vdso-proposal)
research_packages=(--all-features "${research[@]/#/--package=}")
product=(--workspace --all-features --exclude=squall-python "${research[@]/#/--exclude=}")

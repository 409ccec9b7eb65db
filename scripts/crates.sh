# For scripts that build what the tests build: the same crates with the same features, so that each is
# compiled once. squall-python, squall-node and squall-java, which load only into language runtimes, are built and tested by scripts of their own.
research=(squall-lab squall-legacy-rng squall-probe squall-robust-prng squall-vdso-proposal)
research_packages=(--all-features "${research[@]/#/--package=}")
interpreted=(squall-python squall-node squall-java)
product=(--workspace --all-features "${interpreted[@]/#/--exclude=}" "${research[@]/#/--exclude=}")

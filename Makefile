# squall. `make run` demonstrates it, contributors run `make test`, and `make test-all` runs the rest.

.PHONY: run test test-all test-arm64 test-under-load fuzz install uninstall crates deb wheels bench bench-wipe bench-programs lab-deps lab lab-arm64

run:
	cargo run --release -- stream --size 4GiB --progress > /dev/null

# Formatting, the library, its bindings, the command and the tools: minutes. Needs a C compiler.
test:
	scripts/deps.sh quick
	scripts/test.sh quick

# Virtual machines, a browser, real programs, packages, clippy, sanitizers, Go, Python, documentation; installs their
# requirements.
test-all:
	scripts/deps.sh rest
	scripts/test.sh rest

# Tests on arm64: on such a machine, or cross-built and emulated, as root on Debian with x86-64. It makes
# what it needs in ~/.cache/squall-arm64 and ~/.cache/squall-lab, some 4 GB.
test-arm64:
	scripts/test-arm64.sh

# `make test` and `make test-all`, several times, beside four busy loops: no test may depend on how busy the
# machine is.
test-under-load:
	scripts/test-under-load.sh

# Differential fuzzing, SECONDS a target (needs a nightly toolchain and cargo-fuzz; Go for the last two).
SECONDS ?= 60
fuzz:
	for target in engine drbg stream; do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(SECONDS) || exit 1; \
	done
	go -C go test -run - -fuzz FuzzKeystream -fuzztime $(SECONDS)s ./internal/aes256
	go -C go test -run - -fuzz FuzzLengths -fuzztime $(SECONDS)s ./internal/generator

# The command, the libraries, headers, manual pages, completions and JSON schemas below PREFIX. Run it as the user
# who has Rust; with SUDO=sudo it builds as that user and copies as root.
install uninstall: export PREFIX ?= /usr/local
install:
	scripts/install.sh "$$PREFIX"

# Removes the files of `make install`, with the same PREFIX, DESTDIR and SUDO.
uninstall:
	scripts/uninstall.sh "$$PREFIX"

# The crates as a registry would have them, each built from its package.
crates:
	scripts/package.sh

# Debian packages into target/debian.
deb:
	scripts/deb.sh target/debian

# The Python package into target/wheels: its source distribution, and wheels for this CPU and for aarch64, which as
# root on Debian are built in a root directory of 3 GB in ~/.cache/squall-arm64.
wheels:
	scripts/wheels.sh target/wheels

# The sources of randomness on this machine, under two minutes; then the project's targets.
bench:
	mkdir -p target
	cargo run --release --features tools -- bench --export-json target/bench.json
	scripts/bench-targets.py target/bench.json

# squall wipe beside shred, nwipe, openssl and dd, in memory; as root, minutes.
bench-wipe:
	cargo build --release --features tools
	scripts/bench-wipe.py

# Real programs with squall and without, minutes.
bench-programs:
	cargo run --release -p squall-testing --bin programs

# QEMU and Linux kernels for squall-lab, unpacked in a cache outside of the source tree.
lab-deps:
	scripts/lab-deps.sh

# Machines whose kernel shows vmgenid's page, and their controls, whose kernel shows a copy of it.
WITH_MODULE = $(foreach kernel,6.1 6.12 newest,$(foreach shows,module copy,--machine $(kernel)+vmgenid+$(shows)))

# Every experiment with virtual machines, an hour or more; then the lab's record of them.
lab: lab-deps
	cargo run --release -p squall-lab -- reset --output docs/records
	cargo run --release -p squall-lab -- reset --runs 16 --output docs/records \
		--scenario together --scenario forks
	cargo run --release -p squall-lab -- reset --output docs/records \
		--scenario threads
	cargo run --release -p squall-lab -- reset --runs 20 --output docs/records \
		--scenario go
	cargo run --release -p squall-lab -- reset --runs 20 --output docs/records \
		--scenario programs
	cargo run --release -p squall-lab -- reset --output docs/records/module $(WITH_MODULE) \
		--scenario ticks --scenario threads
	cargo run --release -p squall-lab -- reset --output docs/records/module $(WITH_MODULE) \
		--scenario together --scenario forks
	cargo run --release -p squall-lab -- boot --output docs/records

# Resets of emulated machines with arm64, an hour; as root on Debian, because the probe is cross-built.
lab-arm64:
	scripts/lab-deps.sh 6.12-arm64 newest-arm64-16k
	cargo run --release -p squall-lab -- reset --output docs/records/arm64 \
		--machine 6.12-arm64 --machine newest-arm64-16k+rndr \
		--scenario ticks --scenario threads --scenario together --scenario forks
	cargo run --release -p squall-lab -- reset --output docs/records/arm64 --machine 6.12-arm64+slow

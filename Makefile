.PHONY: abi-tables build bench demo full-test fuzz install lint test uninstall

# Compiles the program.
build:
	cargo build --release

# How long planning takes, and builds beside CMake projects of the same sources (BENCH=relu,60,60-cuda,400; benches/builds).
bench:
	scripts/bench.sh

# Builds examples/relu for the CPU from nothing and loads it with the real client.
demo:
	scripts/demo.sh

# Changes manifests, archives, native files and the files beside a build for FUZZ_MINUTES each, and reads them (one
# kind: FUZZ=for_minutes::wheel).
FUZZ_MINUTES ?= 10
FUZZ ?= for_minutes
fuzz:
	FUZZ_MINUTES=$(FUZZ_MINUTES) nice cargo test --quiet --test update --test fuzz -- --ignored --nocapture $(FUZZ)

# What takes too long for every change.
full-test: test
	scripts/full-test.sh

# The program, its manual pages and completions, below $(DESTDIR)$(PREFIX); PROGRAM is one that is compiled already.
PREFIX ?= /usr/local
install uninstall:
	DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" PROGRAM="$(PROGRAM)" scripts/install-files.sh $@

# Style and static checks.
lint:
	scripts/lint.sh

# Everything, with real builds.
test:
	scripts/test.sh

# The tables and lists of names that `check-abi` judges by, from the packages that own the facts (LISTS=x86_64-linux/torch-2.16.0).
abi-tables:
	scripts/abi-venv.sh target/abi-venv
	target/abi-venv/bin/python scripts/abi-tables.py $(LISTS)

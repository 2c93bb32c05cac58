# divvy: `make demo` and `make test` set up what they need, and may be run again at any time.

CARGO ?= cargo
EXAMPLE := examples/compile-beside-interactive.perf.data
POLICIES := eevdf,cfs,gr3,sfs,pbs:alpha=2

.PHONY: help demo test test-rust test-native test-bpf bench fmt clean

help:
	@echo "make demo    build, and replay a recorded workload under five policies"
	@echo "make test    all tests, level by level"
	@echo "make bench   decisions a second, beside a hand-written loop"

demo: .need-build
	$(CARGO) run --locked --release -p divvy -- replay $(EXAMPLE) -p $(POLICIES)

test: test-rust test-native test-bpf
	@echo "make test: all levels passed"

# Level 1: seconds, no root, no clang.
test-rust: .need-build
	$(CARGO) test --locked --workspace

# Level 2: the policies' C with address and undefined-behaviour sanitizers, under random events.
test-native: .need-build
	sim/native/fuzz.sh

# Level 3: the same C as BPF programs, through the kernel's verifier, deciding as the native build does. It needs
# root and a kernel that permits BPF; where it cannot run it says so, and fails if DIVVY_REQUIRE_BPF is set.
test-bpf: .need-build
	-@.ci/need clang-19=clang-19,clang /usr/include/bpf/libbpf.h=libbpf-dev,libelf-dev,zlib1g-dev
	@kernel/bpf/check.sh || { status=$$?; [ $$status = 77 ] && [ -z "$$DIVVY_REQUIRE_BPF" ] || exit $$status; }

bench: .need-build
	$(CARGO) bench --locked -p divvy-sim

fmt:
	$(CARGO) fmt --all

clean:
	$(CARGO) clean

.PHONY: .need-build
.need-build:
	@.ci/need cc=build-essential $(CARGO)=

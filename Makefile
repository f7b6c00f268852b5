# Developers' targets. Users need only ./run and ./test, which also install what is missing.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
PACKETS ?= 1000000
FIRST ?= 1
BENCH_ARGS ?=
OTHER_TESTS ?=
SUITE ?=

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := all
.PHONY: all run test docs bench random-labs assertions interop rdma-core-suite perftest-suite other-arch fuzz asan tsan format tidy alone install clean help
LIB := source scripts/lib.sh

all: ## build/weft and the tests (release)
	@$(LIB); need_packages "$${packages_to_build[@]}" "$${packages_to_test[@]}"; configure_release_with_tests; build build

run: ## the first lab
	@./run

test: ## everything that CI runs
	@./test

docs: ## tables of keys in docs/lab-file.md, made from the rows of the reader
	@build/weft schema --docs docs/lab-file.md >build/lab-file.md && cp build/lab-file.md docs/lab-file.md

bench: ## rates, instructions per hop, programs on the world; BENCH_ARGS=--benchmark_filter=icrc
	@$(LIB); need_packages "$${packages_to_build[@]}" "$${packages_to_test[@]}" "$${packages_to_bench[@]}"; \
	  configure_release_with_tests; build build weft_bench weft_hops weft_capture_maker weft; build/weft_bench $(BENCH_ARGS); \
	  bench/instructions.sh build; bench/live.sh; bench/analyze.sh; bench/serve.sh

interop: ## a Linux kernel with Soft-RoCE, in QEMU, as the peer of a simulated NIC (downloads Debian's kernel)
	@$(LIB); need_packages "$${packages_to_build[@]}" "$${packages_to_test[@]}" "$${packages_to_interop[@]}"; \
	  configure_release_with_tests; build build; tests/interop/rxe.sh build

rdma-core-suite: ## rdma-core's own tests on a simulated NIC, both clocks; SUITE=DIR is a checkout of rdma-core v44.0
	@$(LIB); need_packages "$${packages_to_build[@]}" "$${packages_to_test[@]}"; configure_release_with_tests; \
	  build build weft; LEAST=135 tests/interop/rdma_core_suite.sh "$(SUITE)" build

perftest-suite: ## a perftest that is not Debian's on simulated NICs, both clocks; SUITE=DIR has its programs
	@$(LIB); need_packages "$${packages_to_build[@]}" "$${packages_to_test[@]}"; configure_release_with_tests; \
	  build build weft; tests/interop/perftest_suite.sh "$(SUITE)" build

other-arch: ## tests of what programs load, on Debian of the other architecture (amd64, arm64) in QEMU; OTHER_TESTS=preload_test
	@$(LIB); need_packages "$${packages_to_build[@]}" "$${packages_to_other_arch[@]}"; tests/interop/other_arch.sh $(OTHER_TESTS)

fuzz: ## each fuzz target for FUZZ_SECONDS (60)
	@$(LIB); need_packages "$${packages_to_build[@]}" "$${packages_to_test[@]}"; configure_asan; \
	  mapfile -t targets < <(fuzz_targets); build build-asan weft_fuzz; \
	  for target in "$${targets[@]}"; do fuzz_one "$$target" $(FUZZ_SECONDS); done

asan: ## unit tests and short fuzzing under ASan and UBSan
	@./test asan

tsan: ## threaded tests under TSan
	@./test tsan

format: ## clang-format, in place
	@$(LIB); source_files | xargs clang-format -i

tidy: ## clang-tidy over src
	@$(LIB); need_packages "$${packages_to_build[@]}" "$${packages_to_test[@]}" "$${packages_to_tidy[@]}"; \
	  configure_alone; build build-debug weft_catalog; run-clang-tidy -quiet -p build-debug -j "$$(cores)" "$$PWD/src/.*"

random-labs: ## random labs through all assertions until hosts have sent PACKETS packets (1000000), from lab FIRST (1) on
	@$(LIB); need_packages "$${packages_to_build[@]}" "$${packages_to_test[@]}"; configure_dchecks; \
	  build build-dchecks random_labs_test; \
	  WEFT_RANDOM_PACKETS=$(PACKETS) WEFT_RANDOM_FIRST=$(FIRST) build-dchecks/random_labs_test

assertions: ## how many stand on the packet path: WEFT_CHECK, WEFT_DCHECK, by module
	@for module in engine fabric nic host; do \
	  printf '%-8s %4d %4d\n' $$module $$(grep -rho 'WEFT_CHECK(' src/$$module | wc -l) $$(grep -rho 'WEFT_DCHECK(' src/$$module | wc -l); done

alone: ## every file of src parsed by itself, without precompiled headers: finds a missing include
	@$(LIB); need_packages "$${packages_to_build[@]}" "$${packages_to_test[@]}"; check_alone

install: ## weft to PREFIX/bin, its libraries to PREFIX/lib/weft, files for Wireshark to PREFIX/share/weft (PREFIX=/usr/local, DESTDIR honoured)
	@$(LIB); need_packages "$${packages_to_build[@]}"; configure_release; build build weft
	@cmake --install build --prefix "$(PREFIX)"

clean: ## remove all build directories
	@rm -rf build build-debug build-asan build-tsan build-dchecks build-other

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 12

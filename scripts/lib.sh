# shellcheck shell=bash disable=SC2034
# What ./run and ./test share: packages, configuring, building, step headings. Sourced, not executed.
# Diagnostics go to stderr; stdout is for results. Callers set -euo pipefail and cd to the repository root.

# Debian 12. The first list builds build/weft; the second is what the tests, fuzzers and checks need besides; the
# others are for one target of the Makefile each.
packages_to_build=(g++ cmake ninja-build ccache libfmt-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev
  libexpected-dev libsqlite3-dev zlib1g-dev libcpp-httplib-dev libssl-dev libbrotli-dev libibverbs-dev librdmacm-dev)
command -v npm >/dev/null || packages_to_build+=(nodejs npm)  # the page; Node.js 18 will do, Debian's or another
packages_to_test=(clang lld llvm libclang-rt-14-dev clang-format libgtest-dev librapidcheck-dev libbenchmark-dev tshark perftest
  ibverbs-utils infiniband-diags rdmacm-utils ucx-utils openmpi-bin libopenmpi-dev libfabric-bin libfabric-dev python3 python3-pyverbs
  iproute2 binutils ethtool pciutils iputils-ping net-tools libuv1-dev libevent-dev iperf3 busybox-static fio qperf
  netcat-openbsd frr shellcheck systemd python3-jsonschema libvirt-clients mpich libmpich-dev tgt libiscsi-bin libgloo-dev librpma-dev
  libdapl2 dapl2-utils prometheus chromium)  # of prometheus only promtool
packages_to_bench=(valgrind time)  # callgrind counts instructions per hop; time tells memory
packages_to_tidy=(clang-tidy)
case $(uname -m) in
  aarch64) qemu_package=qemu-system-arm other_architecture=amd64 other_packages=(qemu-system-x86 g++-x86-64-linux-gnu) ;;
  *) qemu_package=qemu-system-x86 other_architecture=arm64 other_packages=(qemu-system-arm g++-aarch64-linux-gnu) ;;
esac
packages_to_interop=("$qemu_package" busybox-static rdmacm-utils iproute2 python3-minimal ibverbs-providers)
packages_to_other_arch=("${other_packages[@]}" busybox-static e2fsprogs kmod xz-utils)

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# The packages among "$@" that are not installed, one per line.
missing_packages() {
  local package
  for package in "$@"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || printf '%s\n' "$package"
  done
}

# Installs what is missing of "$@": as root, through sudo, or by printing the command to type.
need_packages() {
  local missing
  if ! command -v apt-get dpkg-query >/dev/null; then
    die "This script installs Debian packages. On another system, install the equivalents of: $*"
  fi
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} == 0)) && return
  say "== installing ${missing[*]}"
  local install="apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ${missing[*]}"
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "These packages are missing and neither root nor sudo is at hand. Please type:

    su -c '$install'"
    as_root=(sudo)
  fi
  # tshark asks whether others may capture; noninteractive answers no, and nothing here captures from a device.
  "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=120 update >&2 ||
    say "apt-get update failed; trying with the package lists at hand"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 install -y \
    --no-install-recommends "${missing[@]}" >&2 || die "The packages could not be installed. Please type:

    ${as_root[*]:+sudo }bash -c '$install'"
}

cores() { nproc 2>/dev/null || echo 2; }

# patience SECONDS: a limit for what takes much less on an idle machine, and longer the more others run on this one.
patience() {
  local load=0 rest
  [[ -r /proc/loadavg ]] && read -r load rest </proc/loadavg
  echo $(($1 + $1 * ${load%.*} / $(cores)))
}

# configure PRESET BUILD_DIR [-D…]: once, or again when the cache was made with other options.
configure() {
  local preset=$1 dir=$2
  shift 2
  command -v ccache >/dev/null && set -- "$@" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
  local wanted="$preset $*"
  if [[ -f $dir/build.ninja && "$(cat "$dir/.configured" 2>/dev/null)" == "$wanted" ]]; then return; fi
  local log=$dir/configure.log
  mkdir -p "$dir"
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    say "Configuring $dir failed; the text above is also in $log. If an old cache is to blame: rm -rf $dir"
    return 1
  fi
  printf '%s\n' "$wanted" >"$dir/.configured"
}

# ccache keeps what was compiled with a precompiled header only when told that __TIME__ and the like do not matter.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}

# build BUILD_DIR [TARGET…]: ninja's progress on a terminal; elsewhere nothing, unless it fails.
build() {
  local dir=$1 log=$1/build.log status=0
  shift
  if [[ -t 2 ]]; then
    ninja -C "$dir" -j "$(cores)" "$@" >&2 || status=$?
  else
    ninja -C "$dir" -j "$(cores)" "$@" >"$log" 2>&1 || status=$?
    ((status == 0)) || grep -v '^\[[0-9]*/[0-9]*\] [A-Z]' "$log" >&2
  fi
  ((status == 0)) || say "Building in $dir failed; to see one error at a time: ninja -C $dir -j 1 $*"
  return "$status"
}

# The release build directory has the tests only once ./test has asked for them, so that ./run needs few packages.
release_has_tests() { grep -qs 'WEFT_TESTS=ON' build/.configured; }
# Tests are listed when they are run, so nothing has to run while building.
test_options=(-DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST)
# The unit tests run under ASan.
configure_release_with_tests() {
  configure release build -DWEFT_TESTS=ON -DWEFT_UNIT_TESTS=OFF -DWEFT_BENCH=ON "${test_options[@]}"
}
configure_release() {
  if release_has_tests; then
    configure_release_with_tests
  else
    configure release build -DWEFT_TESTS=OFF -DWEFT_BENCH=OFF
  fi
}

# A release with the assertions that cost time: for many random labs.
configure_dchecks() { configure dchecks build-dchecks "${test_options[@]}"; }
configure_asan() { configure asan build-asan "${test_options[@]}"; }
configure_tsan() { configure tsan build-tsan "${test_options[@]}"; }
# For clang-tidy: every file by itself and with the headers that it includes.
configure_alone() { configure debug build-debug -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON "${test_options[@]}"; }

# check_alone [FILE…]: parses every source and header of src by itself, with the headers that it includes and no others.
check_alone() {
  local sources
  (($# > 0)) || mapfile -t sources < <(find src -name '*.cc' -o -name '*.h' | sort)
  (($# == 0)) || sources=("$@")
  printf '%s\n' "${sources[@]}" | xargs -P "$(cores)" -I{} clang++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror \
    -Wno-pragma-once-outside-header -Wno-unused-const-variable -Wno-unused-function -DWEFT_VERSION='""' -Isrc -x c++ {} ||
    die "Some files lack an include; see above."
}

# Names of the test programs, as tests/CMakeLists.txt makes them.
unit_test_targets() {
  local dir
  for dir in tests/unit/*/; do
    # libweft.so is loaded into unmodified programs, which have no sanitizer in them.
    [[ $dir == tests/unit/preload/ ]] && continue
    compgen -G "$dir*_test.cc" >/dev/null && printf '%s_test\n' "$(basename "$dir")"
  done
  return 0
}
# What runs under ASan and UBSan, the longest first. settable_test and random_labs_test are no unit tests, but odd values
# and odd labs are where undefined behaviour and broken invariants show.
asan_test_targets() {
  local slow=(settable_test random_labs_test nic_test live_test workload_test)
  printf '%s\n' "${slow[@]}"
  unit_test_targets | grep -vxF "$(printf '%s\n' "${slow[@]}")"
}
# The targets of weft_fuzz.
fuzz_targets() {
  local source
  for source in tests/fuzz/*_fuzz.cc; do
    [[ -e $source ]] && basename "$source" .cc
  done
  return 0
}
# What runs on more than one thread: the engine, the world split into domains, the connections and tasks of the page's
# server.
thread_test_targets() {
  compgen -G 'tests/unit/engine/*_test.cc' >/dev/null && echo engine_test
  compgen -G 'tests/unit/serve/*_test.cc' >/dev/null && echo server_threads_test
  local source
  for source in tests/{unit,property,labs}/*domain*_test.cc; do
    [[ -e $source ]] && basename "$source" .cc
  done
  return 0
}

# Runs a sanitized program without address randomisation where that is allowed: the sanitizers of GCC 12 and
# clang 14 fail to start on kernels that spread mappings over more than 28 bits.
sanitized() {
  local machine
  machine=$(uname -m)
  if setarch "$machine" -R true 2>/dev/null; then setarch "$machine" -R "$@"; else "$@"; fi
}

# fuzz_one TARGET SECONDS [libFuzzer flags…]. New inputs stay in the build directory; the corpus in the
# repository is only read.
fuzz_one() {
  local target=$1 seconds=$2
  shift 2
  local found=build-asan/corpus/$target seeds=() dir
  mkdir -p "$found"
  for dir in "tests/fuzz/corpus/$target" "tests/fuzz/corpus/${target%_fuzz}"; do
    [[ -d $dir ]] && seeds+=("$dir")
  done
  # The world of program_fuzz lives on from input to input; a search for leaks after each would take a second.
  [[ $target == program_fuzz ]] && set -- "$@" -detect_leaks=0
  sanitized build-asan/weft_fuzz --target="$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="build-asan/$target-" "$@" "$found" "${seeds[@]}"
}

source_files() { find src tests bench -name '*.h' -o -name '*.cc' | sort; }

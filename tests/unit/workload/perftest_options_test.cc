#include "spec/perftest_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/perftest/flags.h"

namespace weft::workload {
namespace {

PerftestOptions parsed(std::string_view test, std::string_view line) {
  auto result = parse_perftest(test, split_words(line));
  if (!result) {
    ADD_FAILURE() << test << " " << line << ": " << result.error().front();
    return {};
  }
  return *result;
}

std::vector<std::string> refused(std::string_view test, std::string_view line) {
  auto result = parse_perftest(test, split_words(line));
  if (result) {
    ADD_FAILURE() << test << " " << line << " was accepted";
    return {};
  }
  return result.error();
}

// The one line that is said about a command line with one mistake.
std::string complaint(std::string_view test, std::string_view line) {
  const std::vector<std::string> errors = refused(test, line);
  EXPECT_EQ(errors.size(), 1u) << test << " " << line;
  return errors.empty() ? "" : errors.front();
}

TEST(PerftestOptions, DefaultsPerTest) {
  struct Expected {
    const char* test;
    std::uint64_t size_B, iterations;
    std::uint32_t tx_depth, rx_depth, cq_mod, inline_B;
  };
  // ib_*_bw / ib_*_lat of perftest 4.5 without flags: the banner of each.
  const Expected expected[] = {
      {"write_bw", 65536, 5000, 128, 1, 1, 0},  {"write_lat", 2, 1000, 1, 1, 1, 220},
      {"send_bw", 65536, 1000, 128, 512, 1, 0}, {"send_lat", 2, 1000, 1, 512, 1, 236},
      {"read_bw", 65536, 1000, 128, 1, 1, 0},   {"read_lat", 2, 1000, 1, 1, 1, 0},
      {"atomic_bw", 8, 1000, 128, 1, 100, 0},   {"atomic_lat", 8, 1000, 1, 1, 1, 0},
  };
  for (const Expected& e : expected) {
    SCOPED_TRACE(e.test);
    const PerftestOptions o = parsed(e.test, "");
    EXPECT_EQ(o.size_B, e.size_B);
    EXPECT_EQ(o.iterations, e.iterations);
    EXPECT_EQ(o.tx_depth, e.tx_depth);
    EXPECT_EQ(o.rx_depth, e.rx_depth);
    EXPECT_EQ(o.cq_mod, e.cq_mod);
    EXPECT_EQ(o.inline_B, e.inline_B);
    EXPECT_EQ(o.qps, 1u);
    EXPECT_EQ(o.outstanding_reads, 16u);
    EXPECT_EQ(o.qp_timeout, 14u);
    EXPECT_EQ(o.mtu_B, 0u);
    EXPECT_EQ(o.duration_s, 0u);
    EXPECT_FALSE(o.no_peak);
    EXPECT_EQ(perftest_name(o), e.test);
    EXPECT_EQ(perftest_name(parsed(std::string("ib_") + e.test, "")), e.test);
  }
}

TEST(PerftestOptions, AcceptsAlternativeSpellings) {
  for (const char* line :
       {"-s 4096", "-s4096", "--size=4096", "--size 4096", "-s 4K", "-s 0x1000", "-Fs4096", "-s1 -s4K", "--siz=4096"}) {
    EXPECT_EQ(parsed("write_bw", line).size_B, 4096u) << line;
  }
  EXPECT_EQ(parsed("write_bw", "-s 2M").size_B, 2097152u);
  EXPECT_EQ(parsed("write_bw", "-s 2147483647").size_B, 2147483647u);
}

TEST(PerftestOptions, AcceptsEveryModelledFlag) {
  const PerftestOptions bw =
      parsed("send_bw",
             "-n 6400 -b -q 4 -t 256 -r 1024 -Q 32 -l 64 -I 64 -m 2048 -u 16 -N -c RC --tclass=106 "
             "--report_gbits --out_json -F -d mlx5_0 -i 1 -x 3 -p 18515 -S 0 --dont_xchg_versions");
  EXPECT_EQ(bw.iterations, 6400u);
  EXPECT_TRUE(bw.bidirectional);
  EXPECT_EQ(bw.qps, 4u);
  EXPECT_EQ(bw.tx_depth, 256u);
  EXPECT_EQ(bw.rx_depth, 1024u);
  EXPECT_EQ(bw.cq_mod, 32u);
  EXPECT_TRUE(bw.cq_mod_given);
  EXPECT_EQ(bw.post_list, 64u);
  EXPECT_EQ(bw.inline_B, 64u);
  EXPECT_EQ(bw.mtu_B, 2048u);
  EXPECT_EQ(bw.qp_timeout, 16u);
  EXPECT_TRUE(bw.no_peak);
  EXPECT_FALSE(bw.ud);
  EXPECT_EQ(bw.traffic_class, 106u);
  EXPECT_EQ(bw.service_level, 0u);
  EXPECT_EQ(bw.device, "mlx5_0");
  EXPECT_TRUE(bw.report_gbits);
  EXPECT_EQ(bw.out_json_file, "perftest_out.json");
  EXPECT_EQ(bw.words.size(), 37u);

  const PerftestOptions lat = parsed("read_lat", "-o 4 -U -H -D 8 -f 1 --out_json_file=lat.json --out_json");
  EXPECT_EQ(lat.outstanding_reads, 4u);
  EXPECT_TRUE(lat.report_unsorted);
  EXPECT_TRUE(lat.report_histogram);
  EXPECT_EQ(lat.duration_s, 8u);
  EXPECT_EQ(lat.margin_s, 1u);
  EXPECT_EQ(lat.out_json_file, "lat.json");

  EXPECT_EQ(parsed("atomic_bw", "-A CMP_AND_SWAP").atomic, AtomicKind::kCompareSwap);
  EXPECT_EQ(parsed("atomic_bw", "").atomic, AtomicKind::kFetchAdd);
}

TEST(PerftestOptions, LongFlagsMayBeShortened) {
  EXPECT_TRUE(parsed("write_bw", "--report_gbit").report_gbits);  // as NVIDIA's own scripts write it
  EXPECT_TRUE(parsed("write_lat", "--report-hist").report_histogram);
  EXPECT_EQ(complaint("write_bw", "--report"),
            "--report: could be any of --report-unsorted, --report-histogrm, --report-histogram, --report_gbits, "
            "--report-cycles, --report-counters, --report-both, --report-per-port; write it out");
}

TEST(PerftestOptions, DurationExcludesMargins) {
  // [perftest]: 5 -> 3 s, 10 -> 6 s, 30 -> 16 s, 60 -> 30 s.
  const std::pair<int, std::uint32_t> windows[] = {{1, 1}, {5, 3}, {10, 6}, {30, 16}, {60, 30}};
  for (const auto& [duration_s, window_s] : windows) {
    const PerftestOptions o = parsed("write_bw", "-D " + std::to_string(duration_s));
    EXPECT_EQ(o.duration_s - 2 * o.margin_s, window_s);
    EXPECT_EQ(o.iterations, 0u);
    EXPECT_TRUE(o.no_peak);
  }
  EXPECT_EQ(parsed("write_bw", "-D 10 -f 0").margin_s, 0u);
  EXPECT_EQ(complaint("write_bw", "-D 10 -f 5"),
            "-f 5: a margin at each end leaves nothing of 10 s; make -D more than twice -f");
  EXPECT_EQ(complaint("write_bw", "-D 10 -n 100"), "-n and -D: a test runs by iterations or by time; give one of them");
  EXPECT_EQ(complaint("write_bw", "-D 10 -a"),
            "-a and -D: perftest runs all sizes only by iterations; leave out -D, or give -s");
  EXPECT_EQ(complaint("write_bw", "-f 1"),
            "-f: a margin is cut off a duration; give the duration with -D, or leave -f out");
}

TEST(PerftestOptions, PeakIsMeasuredUpTo20000Iterations) {
  EXPECT_FALSE(parsed("write_bw", "-n 20000").no_peak);
  EXPECT_TRUE(parsed("write_bw", "-n 20001").no_peak);
  EXPECT_FALSE(parsed("write_lat", "-n 20001").no_peak);
}

TEST(PerftestOptions, CqModeration) {
  EXPECT_EQ(parsed("write_bw", "-s 8192").cq_mod, 100u);
  EXPECT_EQ(parsed("write_bw", "-s 8193").cq_mod, 1u);
  EXPECT_EQ(parsed("write_bw", "-s 65536 -Q 50").cq_mod, 50u);
  EXPECT_EQ(parsed("write_bw", "-a").cq_mod, 100u);
  EXPECT_EQ(parsed("write_bw", "-s 64 -t 16").cq_mod, 16u);
  EXPECT_EQ(parsed("write_bw", "-s 64 -n 10").cq_mod, 10u);
  EXPECT_EQ(parsed("send_bw", "-c UD").cq_mod, 100u);
}

TEST(PerftestOptions, DepthsFitIterations) {
  EXPECT_EQ(parsed("write_bw", "-n 20").tx_depth, 20u);
  EXPECT_EQ(parsed("send_bw", "-n 25").rx_depth, 26u);  // made even
  EXPECT_EQ(parsed("send_bw", "-n 25 -a").rx_depth, 25u);
  EXPECT_EQ(parsed("send_bw", "-D 5").rx_depth, 512u);
  EXPECT_EQ(parsed("send_bw", "-c UD").rx_depth, 1000u);
  EXPECT_EQ(parsed("send_bw", "-c UD -n 20000").rx_depth, 16000u);
}

TEST(PerftestOptions, PostList) {
  EXPECT_EQ(parsed("write_bw", "-l 10").cq_mod, 10u);
  EXPECT_EQ(parsed("write_bw", "-l 10 -Q 5").cq_mod, 5u);
  EXPECT_EQ(complaint("write_bw", "-l 10 -Q 4"), "-Q 4: -l 10 must be a multiple of it; leave out -Q");
  EXPECT_EQ(complaint("write_bw", "-l 7"),
            "-l 7: the number of iterations (5000) must be a multiple of it; try -n 4998");
  EXPECT_EQ(complaint("write_bw", "-l 250"),
            "-l 250: does not fit a send queue of 128; perftest would wait forever; use -t 250");
  EXPECT_EQ(complaint("write_lat", "-l 2"), "-l: post lists exist only in bandwidth tests; leave it out");
}

TEST(PerftestOptions, AllSizes) {
  EXPECT_EQ(parsed("write_bw", "-a").size_B, 8388608u);
  EXPECT_TRUE(parsed("write_lat", "-a").all_sizes);
  EXPECT_EQ(parsed("send_bw", "-a -c UD -m 1024").size_B, 1024u);
  EXPECT_EQ(complaint("atomic_bw", "-a"), "-a: atomics are always 8 bytes; leave it out");
  EXPECT_EQ(complaint("atomic_lat", "-s 16"), "-s: atomics are always 8 bytes; leave it out");
  EXPECT_EQ(parsed("atomic_lat", "-s 8").size_B, 8u);
}

TEST(PerftestOptions, Datagrams) {
  EXPECT_EQ(parsed("send_bw", "-c UD").size_B, 4096u);
  EXPECT_EQ(parsed("send_bw", "-c UD -m 1024").size_B, 1024u);
  EXPECT_EQ(parsed("send_lat", "-c UD").size_B, 2u);
  EXPECT_EQ(parsed("send_lat", "-c UD").inline_B, 188u);
  EXPECT_EQ(parsed("send_lat", "-c UD -I 900").inline_B, 884u);
  EXPECT_EQ(complaint("send_bw", "-c UD -s 8192"), "-s 8192: a UD message cannot be larger than the MTU; at most 4096");
  EXPECT_EQ(complaint("write_bw", "-c UD"), "-c UD: UD carries only SEND; use send_bw or send_lat, or -c RC");
}

TEST(PerftestOptions, RejectsSameFlagsAsPerftest) {
  EXPECT_EQ(complaint("write_bw", "-n 4"), "-n 4: should be between 5 and 100000000");
  EXPECT_EQ(complaint("write_bw", "-q 16385"), "-q 16385: should be between 1 and 16384");
  EXPECT_EQ(complaint("write_bw", "-t 0"), "-t 0: should be between 1 and 15000");
  EXPECT_EQ(complaint("write_bw", "-Q 1025"), "-Q 1025: should be between 1 and 1024");
  EXPECT_EQ(complaint("write_bw", "-I 913"), "-I 913: should be between 0 and 912");
  EXPECT_EQ(complaint("write_bw", "-x 256"), "-x 256: should be between 0 and 255");
  EXPECT_EQ(complaint("write_bw", "-s 0"), "-s 0: message size should be between 1 and 2147483647");
  EXPECT_EQ(complaint("write_bw", "-s 2048M"), "-s 2048M: message size should be between 1 and 2147483647");
  EXPECT_EQ(complaint("write_bw", "-n 12x"), "-n 12x: not a number; write one from 5 to 100000000");
  EXPECT_EQ(complaint("write_bw", "-m 1500"), "-m 1500: not an RDMA path MTU; choose from 256, 512, 1024, 2048, 4096");
  EXPECT_EQ(complaint("write_bw", "-r 2"),
            "-r 2: only SEND consumes receives, so the depth of the others is 1; leave it out");
  EXPECT_EQ(complaint("write_bw", "-o 4"), "-o 4: outstanding reads exist only in read and atomic tests; leave it out");
  EXPECT_EQ(complaint("read_bw", "-I 4"),
            "-I 4: READ and atomics send no data, so nothing can be inline; leave it out");
  EXPECT_EQ(complaint("write_bw", "-A CMP_AND_SWAP"),
            "-A CMP_AND_SWAP: the atomic operation can be chosen only in atomic_bw and atomic_lat; leave it out");
  EXPECT_EQ(complaint("atomic_bw", "-A SWAP"),
            "-A SWAP: not an atomic operation; choose CMP_AND_SWAP or FETCH_AND_ADD");
  EXPECT_EQ(complaint("write_lat", "-b"),
            "-b: bidirectional traffic is available only in bandwidth tests; use write_bw");
  EXPECT_EQ(complaint("read_lat", "-q 1"),
            "-q 1: several queue pairs are available only in bandwidth tests; use read_bw");
  EXPECT_EQ(complaint("send_lat", "-N"), "-N: a peak is measured only in bandwidth tests; use send_bw");
  EXPECT_EQ(complaint("write_bw", "-U"), "-U: single samples exist only in latency tests; use write_lat");
  EXPECT_EQ(complaint("write_bw", "-H"), "-H: single samples exist only in latency tests; use write_lat");
}

TEST(PerftestOptions, GpuMemoryAndOrdering) {
  const PerftestOptions o = parsed("write_bw", "--use_cuda=1 --use_cuda_dmabuf --disable_pcie_relaxed");
  EXPECT_EQ(o.gpu, 1U);
  EXPECT_TRUE(o.dmabuf);
  EXPECT_FALSE(o.rocm);
  EXPECT_FALSE(o.relaxed_ordering);
  EXPECT_TRUE(parsed("send_lat", "--use_rocm 0").rocm);
  EXPECT_TRUE(parsed("write_bw", "").relaxed_ordering);
  EXPECT_EQ(complaint("write_bw", "--use_cuda=x"), "--use_cuda x: not a number; write one from 0 to 1023");
  EXPECT_EQ(complaint("write_bw", "--use_cuda=0 --use_rocm=0"),
            "--use_rocm 0: memory is of one GPU; give --use_cuda or --use_rocm once");
  EXPECT_EQ(complaint("write_bw", "--use_cuda_dmabuf"),
            "--use_cuda_dmabuf and --use_rocm_dmabuf say how GPU memory is registered; name a GPU with --use_cuda or "
            "--use_rocm");
  EXPECT_EQ(complaint("write_lat", "--use_cuda=0"),
            "--use_cuda: perftest supports CUDA latency tests with read and send verbs only; use send_lat");
}

TEST(PerftestOptions, RateLimit) {
  const PerftestOptions limited = parsed("write_bw", "-s 4096 --rate_limit=10.5 --rate_limit_type=SW --burst_size=4");
  EXPECT_EQ(limited.rate_limit, 10.5);
  EXPECT_EQ(limited.burst_size, 4u);
  // 10.5e9 / 32768 messages a second are 320434, of which perftest makes 80108 bursts.
  EXPECT_EQ(burst_interval_ps(limited, 4096), 1'000'000'000'000 / 80108);
  EXPECT_EQ(parsed("read_bw", "--rate_limit 5 --rate_limit_type SW").burst_size, 128u) << "as deep as the send queue";
  const PerftestOptions by_bytes = parsed("send_bw", "-s 1024 -t 1 --rate_limit=2 --rate_units=M --rate_limit_type=SW");
  EXPECT_EQ(burst_interval_ps(by_bytes, 1024), 1'000'000'000'000 / 2048);
  const PerftestOptions by_messages = parsed("write_bw", "-t 10 --rate_limit=500 --rate_units=p --rate_limit_type=SW");
  EXPECT_EQ(burst_interval_ps(by_messages, 1024), 1'000'000'000'000 / 50);
  EXPECT_EQ(
      complaint("write_bw", "--rate_limit 5"),
      "--rate_limit: perftest leaves the limit to the NIC, which is not modelled (yet); add --rate_limit_type=SW");
  EXPECT_EQ(complaint("write_bw", "--rate_limit 5 --rate_limit_type HW"),
            "--rate_limit_type HW: limits of the NIC are not modelled (yet); use SW");
  EXPECT_EQ(complaint("write_bw", "--rate_limit -1 --rate_limit_type SW"),
            "--rate_limit -1: not a rate; write a number above 0");
  EXPECT_EQ(complaint("write_bw", "--rate_limit nan --rate_limit_type SW"),
            "--rate_limit nan: not a rate; write a number above 0");
  EXPECT_EQ(complaint("write_bw", "--rate_limit 1 --rate_units k --rate_limit_type SW"),
            "--rate_units k: use M (MiB/s), g (Gb/s) or p (messages/s)");
  EXPECT_EQ(complaint("write_bw", "--burst_size 4"), "--burst_size: there are bursts only with --rate_limit");
  EXPECT_EQ(complaint("write_bw", "--rate_units g"),
            "--rate_limit_type and --rate_units say how --rate_limit is meant; give that too");
  EXPECT_EQ(complaint("write_bw", "-a --rate_limit 0.1 --rate_limit_type SW"),
            "--rate_limit 0.1: less than one burst of 128 messages in a second; make --burst_size smaller");
  EXPECT_EQ(complaint("write_lat", "--rate_limit 1 --rate_limit_type SW"),
            "--rate_limit: perftest's own limit is for write_bw, read_bw and send_bw without -b");
}

TEST(PerftestOptions, RejectsUnknownAndAmbiguousFlags) {
  EXPECT_EQ(complaint("write_bw", "-s 010"),
            "-s 010: perftest would read this as octal; write it without the leading 0");
  EXPECT_EQ(complaint("write_bw", "-q 08"), "-q 08: perftest would read this as octal; write it without the leading 0");
  EXPECT_EQ(complaint("write_bw", "-s 64k"),
            "-s 64k: not a size; write bytes, or K or M for KiB and MiB (65536, 64K, 1M)");
  EXPECT_EQ(complaint("write_bw", "10.0.0.1"),
            "10.0.0.1: not a flag; the lab names the server, so leave the address out");
  EXPECT_EQ(complaint("write_bw", "-- -s"), "-s: not a flag; the lab names the server, so leave the address out");
  EXPECT_EQ(complaint("write_bw", "--tx_depth=5"), "--tx_depth: perftest has no such flag; did you mean --tx-depth?");
  EXPECT_EQ(complaint("write_bw", "--frobnicate"), "--frobnicate: perftest has no such flag; see ib_write_bw --help");
  EXPECT_EQ(complaint("write_bw", "-7"), "-7: perftest has no flag -7; see ib_write_bw --help");
  EXPECT_EQ(complaint("write_bw", "-report_gbits"), "-report_gbits: a long flag has two dashes; write --report_gbits");
  EXPECT_EQ(complaint("write_bw", "--all=1"), "--all=1: this flag takes no value; write --all");
  EXPECT_EQ(complaint("write_bw", "-s"), "-s: needs a value after it");
  EXPECT_EQ(complaint("write_bw", "--odp"), "--odp: perftest has this, weft does not model it (yet); leave it out");
  EXPECT_EQ(complaint("write_bw", "-R"),
            "-R: perftest has this, weft does not model it (yet); queue pairs are connected directly; leave it out");
  EXPECT_EQ(complaint("write_bw", "-T 104"), "-T: perftest has this, weft does not model it (yet); use --tclass");
  EXPECT_EQ(complaint("write_bw", "-c XRC"),
            "-c XRC: perftest has this, weft does not model it (yet); choose RC, or UD for SEND");
  EXPECT_EQ(complaint("write_bw", "-c rc"), "-c rc: not a connection type; choose RC, or UD for SEND");
  EXPECT_EQ(complaint("write_bw", "-S 8"), "-S 8: should be between 0 and 7");
  EXPECT_EQ(complaint("write_bw", "--tclass=256"), "--tclass 256: should be between 0 and 255");
  EXPECT_EQ(
      complaint("write_bw", "-x 0"),
      "-x 0: GIDs 0 and 2 are RoCE v1, which is not modelled; leave it out, or write -x 3, RoCE v2 with the port's "
      "address");
  EXPECT_EQ(complaint("write_bw", "-i 2"),
            "-i 2: a device has one port, 1; choose another device with -d, or another port as client and server");
  EXPECT_EQ(complaint("wirte_bw", ""), "'wirte_bw': not a perftest that weft runs; did you mean write_bw?");
  EXPECT_EQ(complaint("iperf3", ""),
            "'iperf3': not a perftest that weft runs; choose one of write_bw, write_lat, send_bw, send_lat, read_bw, "
            "read_lat, atomic_bw, atomic_lat");
}

TEST(PerftestOptions, ReportsAllMistakesTogether) {
  const std::vector<std::string> errors = refused("write_lat", "-s 64k -b --odp --sizes=3 -n x -m 1000 vm01");
  ASSERT_EQ(errors.size(), 7u);
  const auto mentions = [&](const char* text) {
    return std::any_of(errors.begin(), errors.end(), [&](const std::string& e) { return e.starts_with(text); });
  };
  for (const char* text : {"-s 64k:", "-b:", "--odp:", "--sizes:", "-n x:", "-m 1000:", "vm01:"}) {
    EXPECT_TRUE(mentions(text)) << text;
  }
}

// A value that was not understood must not cause a second complaint from a rule that reads it.
TEST(PerftestOptions, ReportsOneMistakeOnce) {
  complaint("write_bw", "-n x -l 7");
  complaint("atomic_bw", "-s x");
  complaint("send_bw", "-c UD -s x");
  complaint("write_bw", "-D x");
  complaint("write_bw", "-D 10 -f x");
}

TEST(PerftestFlags, LettersAndNamesAreUnique) {
  std::vector<char> letters;
  std::vector<std::string_view> names;
  for (const PerftestFlag& flag : perftest_flags()) {
    if (flag.letter != 0) letters.push_back(flag.letter);
    names.push_back(flag.name);
  }
  std::sort(letters.begin(), letters.end());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(letters.begin(), letters.end()), letters.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(SplitWords, SplitsLikeShellWithoutExpansions) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split_words("  -s 64\t-a \n"), (Words{"-s", "64", "-a"}));
  EXPECT_EQ(split_words("--out_json_file='a b.json' \"c d\"e"), (Words{"--out_json_file=a b.json", "c de"}));
  EXPECT_EQ(split_words("a\\ b \"\\\"\" '\\'"), (Words{"a b", "\"", "\\"}));
  EXPECT_EQ(split_words("'' x"), (Words{"", "x"}));
  EXPECT_EQ(split_words(""), Words{});
  EXPECT_EQ(split_words("'open"), Words{"open"});
}

}  // namespace
}  // namespace weft::workload

// One capture of several mirror sources: ERSPAN sessions of switches that number them alike, or two SPAN ports in one
// file, with and without frames that the mirror lost. What the fabric did is found, and nothing that the mirror did.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analyze/planted_run.h"
#include "wire/erspan.h"

namespace weft::planted {
namespace {

struct MirrorSetup {
  bool is_erspan = true;
  std::uint16_t sessions[2] = {5, 5};
  double lost = 0;            // share of the mirrored frames
  bool is_one_way = false;    // each switch mirrors only what comes from its host
  std::int64_t late_ns[2]{};  // way to the collector
};

class Mirrors : public testing::Test {
 protected:
  void run_lab(const std::string& lab) {
    PlantedCase row;
    row.lab = lab;
    row.ports = "all";
    row.run_options = "--snaplen '160 B'";
    make_capture(row, run_);
    if (HasFatalFailure()) return;
    seen_ = EditableCapture::read(run_.capture_path);
  }
  // What a collector gets of switches at both ends of the lab's cable. Returns how many frames it did not get.
  std::uint64_t mirror(const MirrorSetup& setup) {
    std::uint64_t lost = 0;
    std::uint32_t sequence[2] = {static_cast<std::uint32_t>(random_()), static_cast<std::uint32_t>(random_())};
    EditableCapture collected;
    collected.interfaces = {{"", 0}};
    for (const Record& each : seen_.records) {
      const std::uint32_t source = each.interface;
      if (setup.is_one_way && !each.outbound) continue;
      Record record = each;
      record.interface = 0;
      record.outbound = false;
      record.time_ns += setup.late_ns[source];
      ++sequence[source];
      // The first frames say where a session begins.
      if (std::bernoulli_distribution(setup.lost)(random_) && collected.records.size() > 100) {
        ++lost;
        continue;
      }
      if (setup.is_erspan) wrap(record, static_cast<std::uint8_t>(source), setup.sessions[source], sequence[source]);
      collected.records.push_back(std::move(record));
    }
    collected.sort_by_time();
    collected.write_pcap(path());
    return lost;
  }
  static void wrap(Record& record, std::uint8_t source, std::uint16_t session, std::uint32_t sequence) {
    wire::ErspanTunnel tunnel;
    tunnel.src_ip = {10, 9, 0, static_cast<std::uint8_t>(source + 1)};
    tunnel.dst_ip = {192, 0, 2, 1};
    wire::Erspan header;
    header.session = session;
    header.sequence = sequence;
    const std::size_t more_B = wire::erspan_overhead_B(header);
    const std::size_t original_B = record.original_B == 0 ? record.bytes.size() : record.original_B;
    record.bytes = wire::build_erspan_frame(tunnel, header, record.bytes);
    record.original_B = original_B + more_B;
  }
  // Every combination in turn; the rest is drawn.
  MirrorSetup draw(int variant) {
    MirrorSetup setup;
    setup.is_erspan = variant % 3 != 0;
    if (variant % 2 == 0) setup.sessions[1] = 9;
    setup.is_one_way = variant % 5 >= 3;
    for (std::int64_t& each : setup.late_ns) each = static_cast<std::int64_t>(random_() % 900);
    return setup;
  }
  std::string path() { return run_.dir.file("mirror.pcap"); }
  static std::string text_of(const MirrorSetup& setup, const AnalyzeRun& analysis) {
    std::string text =
        fmt::format("erspan {}, sessions {} {}, one way {}, late {} {}, lost {}\n", setup.is_erspan, setup.sessions[0],
                    setup.sessions[1], setup.is_one_way, setup.late_ns[0], setup.late_ns[1], setup.lost);
    for (const auto& each : analysis.json.at("findings"))
      text += each.at("id").get<std::string>() + ": " + each.at("where").get<std::string>() + ": " +
              each.at("what").get<std::string>() + "\n";
    return text;
  }
  PlantedRun run_;
  EditableCapture seen_;
  std::mt19937_64 random_{3};
};

constexpr int kMirrorVariants = 15;
const std::string kWrites = transfer("write, size: 64 KiB, count: 30");

TEST_F(Mirrors, WholeMirrorsOfHealthyFabricFindNothing) {
  run_lab(pair_lab(kWrites));
  for (int i = 0; i < kMirrorVariants; ++i) {
    const MirrorSetup setup = draw(i);
    mirror(setup);
    const AnalyzeRun analysis = analyze(interop::shell_quoted(path()));
    ASSERT_FALSE(analysis.json.is_discarded()) << analysis.output;
    EXPECT_EQ(joined(named(analysis).findings), "") << text_of(setup, analysis);
    EXPECT_EQ(analysis.json.at("conversations").size(), 1U);
    EXPECT_EQ(analysis.json.at("conversations")[0].at("messages"), 30) << text_of(setup, analysis);
  }
}

TEST_F(Mirrors, FramesLostByMirrorAreNoFaultOfFabric) {
  run_lab(pair_lab(kWrites));
  for (int i = 0; i < kMirrorVariants; ++i) {
    MirrorSetup setup = draw(i);
    setup.lost = 0.01;
    setup.is_one_way = false;
    const std::uint64_t lost = mirror(setup);
    const AnalyzeRun analysis = analyze(interop::shell_quoted(path()));
    ASSERT_FALSE(analysis.json.is_discarded()) << analysis.output;
    const std::vector<std::string> found = named(analysis).findings;
    EXPECT_TRUE(std::ranges::all_of(found, [](const std::string& id) { return id == "capture.lost"; }))
        << text_of(setup, analysis);
    if (!setup.is_erspan) continue;
    std::uint64_t missing = 0;
    for (const auto& each : analysis.json.at("findings"))
      if (each.at("what").get<std::string>().find("sequence numbers") != std::string::npos)
        missing += each.at("count").get<std::uint64_t>();
    EXPECT_LE(missing, lost);
    EXPECT_GE(missing + 3, lost) << text_of(setup, analysis);  // the last ones leave no gap
  }
}

TEST_F(Mirrors, LossInFabricIsFoundInMirrors) {
  run_lab(pair_lab(lose_packets({5, 90, 91, 333, 450}) + kWrites));
  for (int i = 0; i < kMirrorVariants; ++i) {
    const MirrorSetup setup = draw(i);
    mirror(setup);
    const AnalyzeRun analysis = analyze(interop::shell_quoted(path()));
    ASSERT_FALSE(analysis.json.is_discarded()) << analysis.output;
    EXPECT_EQ(joined(named(analysis).findings), "psn.lost") << text_of(setup, analysis);
  }
}

}  // namespace
}  // namespace weft::planted

// Faults at places, of NICs and in classes that are drawn at random: what is planted is the truth, and the first
// finding has to name it, with the cause that belongs to that place. WEFT_PLACES=N draws N of each kind,
// WEFT_PLACES_SEED others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "analyze/planted_run.h"

namespace weft::planted {
namespace {

int number_from(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

class Draw {
 public:
  explicit Draw(int seed) : random_(static_cast<unsigned>(seed)) {}
  int from(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  const char* one_of(std::initializer_list<const char*> words) {
    return *(words.begin() + from(0, static_cast<int>(words.size()) - 1));
  }

 private:
  std::mt19937 random_;
};

// A star or two leaves and a spine, in a class of its own, h1 to h0.
struct DrawnNetwork {
  int hosts = 0, dscp = 0;
  bool two_leaves = false;
  std::string nic, lab;

  explicit DrawnNetwork(Draw& draw)
      : hosts(draw.from(3, 6)),
        dscp(8 * draw.from(2, 5) + draw.from(0, 7)),
        two_leaves(draw.from(0, 1) == 1),
        nic(draw.one_of({"cx5-100g", "cx4-lx-25g", "bf2-100g"})) {
    if (two_leaves) hosts = 4;
    lab = fmt::format(
        "version: 1\nname: planted\nseed: {}\nfabric:\n  template: {}\n  hosts: {}\n{}  switch: sn3700c\n"
        "  host: {{nic: {}, mtu: {} B}}\nqos: {{dscp: {}, priority: {}, ecn: true}}\n",
        draw.from(1, 1000), two_leaves ? "leaf-spine" : "single-switch", hosts,
        two_leaves ? "  leaves: 2\n  spines: 1\n" : "", nic, draw.from(0, 1) == 1 ? 4200 : 1500, dscp, dscp / 8);
  }
  std::string client() const { return two_leaves ? "h2" : "h1"; }
  std::string clients_cable() const { return client() + ":p0"; }
};

std::string drawn_workload(Draw& draw, const DrawnNetwork& network, int size_KiB, int count) {
  return fmt::format("workloads:\n  - {{name: w, client: {}, server: h0, transfer: {}, size: {} KiB, count: {}}}\n",
                     network.client(), draw.one_of({"write", "send"}), size_KiB, count);
}

// The first finding's id, and all that it says.
std::pair<std::string, std::string> first_of(const PlantedCase& row) {
  PlantedRun run;
  make_capture(row, run);
  if (testing::Test::HasFatalFailure()) return {};
  const AnalyzeRun analysis = analyze(row, run);
  if (analysis.json.is_discarded() || analysis.json.at("findings").empty()) return {"nothing", analysis.output};
  const auto& first = analysis.json.at("findings").at(0);
  return {first.at("id"), first.at("what").get<std::string>() + "\n" + first.at("cause").get<std::string>()};
}

PlantedCase drawn_case(const std::string& lab, const std::string& ports) {
  PlantedCase row;
  row.name = "Drawn";
  row.lab = lab;
  row.ports = ports;
  row.run_options = "--snaplen '128 B'";
  return row;
}

TEST(RandomPlaces, LossOnCableIsBitErrors) {
  for (int i = 0; i < number_from("WEFT_PLACES", 6); ++i) {
    Draw draw(number_from("WEFT_PLACES_SEED", 1) * 1000 + i);
    const DrawnNetwork network(draw);
    const std::string cable = draw.from(0, 1) == 0 ? network.clients_cable() : "leaf0:swp1";
    const std::string lab =
        network.lab +
        fmt::format("faults:\n  - {{link: \"{}\", action: drop, frames: request, probability: {}.{} %}}\n", cable,
                    draw.from(0, 2), draw.from(4, 9)) +
        drawn_workload(draw, network, 64, 100);
    const auto [id, words] = first_of(drawn_case(lab, "all"));
    EXPECT_EQ(id, "psn.lost") << words << "\n" << lab;
    EXPECT_NE(words.find("bit errors"), words.npos) << words << "\n" << lab;
    EXPECT_EQ(words.find("buffer ran over"), words.npos) << words << "\n" << lab;
    EXPECT_NE(words.find("between " + cable), words.npos) << words << "\n" << lab;
  }
}

// Of any length up to the first retry of the NIC, captured at both hosts alone or everywhere.
TEST(RandomPlaces, CutCableIsOutage) {
  for (int i = 0; i < number_from("WEFT_PLACES", 6); ++i) {
    Draw draw(number_from("WEFT_PLACES_SEED", 1) * 1000 + 500 + i);
    const DrawnNetwork network(draw);
    const std::string cable = draw.from(0, 1) == 0 ? network.clients_cable() : "leaf0:swp1";
    const int start_us = draw.from(100, 300);
    const std::string lab =
        network.lab +
        fmt::format("faults:\n  - {{link: \"{}\", both_directions: true, action: cut, start: {} us, end: {} us}}\n",
                    cable, start_us, start_us + (draw.from(0, 1) == 0 ? draw.from(60, 500) : draw.from(500, 7000))) +
        drawn_workload(draw, network, 64, 400);
    const auto [id, words] =
        first_of(drawn_case(lab, draw.from(0, 1) == 0 ? "all" : "h0:p0," + network.clients_cable()));
    EXPECT_EQ(id, "psn.outage") << words << "\n" << lab;
    EXPECT_EQ(words.find("buffer"), words.npos) << words << "\n" << lab;
  }
}

// A receiver of many senders in a class without pauses: its queue drops, and nothing is wrong with a cable.
TEST(RandomPlaces, FullQueueIsBuffer) {
  for (int i = 0; i < number_from("WEFT_PLACES", 2); ++i) {
    Draw draw(number_from("WEFT_PLACES_SEED", 1) * 1000 + 800 + i);
    const std::string lab =
        switch_lab(draw.from(5, 8),
                   fmt::format("qos: {{profile: roce-lossless, dscp: 0, priority: 0, queues: {{0: {{ecn: off, alpha: "
                               "{}}}, 3: {{ecn: off}}}}}}\nworkloads:\n  - {{name: in, flows: incast, hosts: all, "
                               "to: h0, size: {} MB}}\n",
                               draw.from(-6, -4), draw.from(1, 3)));
    const auto [id, words] = first_of(drawn_case(lab, "all"));
    EXPECT_EQ(id, "psn.lost") << words << "\n" << lab;
    EXPECT_NE(words.find("buffer ran over"), words.npos) << words << "\n" << lab;
    EXPECT_EQ(words.find("bit errors"), words.npos) << words << "\n" << lab;
  }
}

}  // namespace
}  // namespace weft::planted

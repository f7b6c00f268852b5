// Whatever validate accepts must run: every key of a lab that takes a value is set to its bounds and to odd values.
// What is accepted is run, in a child process, where a crash, a failed check or an endless loop ends only that child.
// Keys and bounds come from the reader's own tables, so that a new one is covered by itself.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "catalog/model_fields.h"
#include "labfile/lab_fields.h"
#include "labfile/reader.h"
#include "model/qos_fields.h"
#include "results/results_json.h"
#include "support/sanitized.h"
#include "world/runner.h"

namespace {

using namespace weft;
using lab::Quantity;

constexpr std::string_view kLab = R"(version: 1
name: settable
duration: 3 ms
nodes:
  h0: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.1/24, mtu: 4200 B}}}]}
  h1: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.0.2/24, mtu: 4200 B}}}]}
  h2: {kind: host, nics: [{model: cx5-100g, ports: {p0: {address: 10.0.1.3/24, mtu: 4200 B}}}]}
  s0: {kind: switch, model: sn3700c}
  s1: {kind: switch, model: sn3700c}
links:
  - endpoints: ["h0:p0", "s0:swp1"]
  - endpoints: ["h1:p0", "s0:swp2"]
  - endpoints: ["h2:p0", "s1:swp1"]
  - {endpoints: ["s0:swp31", "s1:swp31"], cable: {kind: dac}}
  - endpoints: ["s0:swp32", "s1:swp32"]
routing: {balancing: flowlet}
qos:
  profile: roce-lossless
  pfc: {watchdog: {detection: 200 us, restoration: 200 us, poll: 100 us}}
  queues: {3: {ecn: {min: 5 kB, max: 20 kB}}}
  groups: {3: {headroom: auto}}
  buffer: {ingress_pool: auto}
faults:
  - {link: "h1:p0", action: drop, frames: request, qp: 0, psn: 3, transmission: 1}
  - {link: "s0:swp31", action: flap, start: 100 us, end: 400 us, down: 30 us, up: 60 us}
  - {link: "h0:p0", action: slow-receiver, rate: 20 Gbps, start: 50 us, end: 100 us}
  - {link: "h2:p0", action: pause-storm, priority: 3, start: 20 us, end: 400 us}
workloads:
  - {name: incast, flows: incast, hosts: [h1, h2], to: h0, size: 300 kB, start: 0 us}
  - {name: send, transfer: send, client: h2, server: h0, size: 9000 B, count: 3, start: 0 us}
  - {name: datagram, transfer: send, connection: UD, client: h2, server: h0, size: 900 B, count: 3, start: 0 us}
  - {name: read, transfer: read, client: h0, server: h2, size: 9000 B, count: 3, start: 0 us}
  - {name: add, transfer: fetch-add, client: h1, server: h0, count: 3, start: 0 us}
  - {name: latency, perftest: write_lat, client: h0, server: h1, args: -n 5}
)";

// Tried with every key; those of another kind are refused at once.
constexpr const char* kOddValues[] = {"0",
                                      "1",
                                      "2",
                                      "3",
                                      "7",
                                      "8",
                                      "63",
                                      "255",
                                      "65535",
                                      "4294967295",
                                      "-1",
                                      "1.5",
                                      "-8",
                                      "9223372036854775807",
                                      "18446744073709551615",
                                      "",
                                      "1e-12",
                                      "0.5",
                                      "true",
                                      "false",
                                      "off",
                                      "auto",
                                      "[]",
                                      "[0]",
                                      "[0, 3, 7]",
                                      "{}",
                                      "0 B",
                                      "1 B",
                                      "63 B",
                                      "64 KiB",
                                      "1 MiB",
                                      "1 GiB",
                                      "1024 GiB",
                                      "0 ps",
                                      "1 ps",
                                      "1 ns",
                                      "7 us",
                                      "1 ms",
                                      "1 s",
                                      "3600 s",
                                      "1 bps",
                                      "1 Gbps",
                                      "3 Gbps",
                                      "100 Gbps",
                                      "800 Gbps",
                                      "0 mm",
                                      "1 mm",
                                      "5 m",
                                      "40 km",
                                      "0 %",
                                      "1 ppb",
                                      "100 %",
                                      "0 packets",
                                      "1 packets",
                                      "1000000 packets",
                                      "1 msg/s",
                                      "10000000000 msg/s"};

// A value in the base unit of its kind.
std::string in_base_unit(std::int64_t value, std::optional<Quantity> quantity) {
  if (!quantity) return std::to_string(value);
  for (const lab::Unit& unit : lab::units_of(*quantity)) {
    if (unit.scale == 1) return std::to_string(value) + " " + std::string(unit.name);
  }
  return std::to_string(value);
}

// One lab: overrides of the base lab.
using Case = std::vector<std::string>;

struct Cases {
  std::vector<Case> tried;
  // Refused when the other keys of the section had that value too (refused_together). A sanitizer's time is for labs
  // that run: there, these are not read again one by one.
  std::vector<Case> refused;
};

auto read(const Case& overrides) {
  return lab::read_lab(kLab, "settable.yaml", overrides);
}

// Runs the labs in a child, and from the next one on in another when it dies. What was set, and how the child ended.
std::vector<std::string> run_all(const std::vector<lab::Lab>& labs, const std::vector<Case>& cases) {
  constexpr rlim_t kHang_s = 60;  // a run takes milliseconds
  std::vector<std::string> failures;
  for (std::size_t first = 0; first < labs.size();) {
    int ends[2];
    if (::pipe(ends) != 0) return {"no pipe"};
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      const rlimit core{0, 0}, cpu{kHang_s, kHang_s};
      ::setrlimit(RLIMIT_CORE, &core);
      ::setrlimit(RLIMIT_CPU, &cpu);
      for (std::size_t i = first; i < labs.size(); ++i) {
        if (::write(ends[1], &i, sizeof i) != static_cast<ssize_t>(sizeof i)) ::_exit(4);
        const auto result = lab::run_lab(labs[i], {});
        if (!result) ::_exit(2);
        if (lab::results_json(labs[i], *result).empty()) ::_exit(3);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    std::size_t last = first;
    while (::read(ends[0], &last, sizeof last) == static_cast<ssize_t>(sizeof last)) {
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status == 0) break;
    std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                          : "status " + std::to_string(WEXITSTATUS(status));
    for (const std::string& each : cases[last]) how += "  --set '" + each + "'";
    failures.push_back(how);
    first = last + 1;
  }
  return failures;
}

void expect_all_run(const Cases& cases, std::size_t at_least) {
  std::vector<lab::Lab> labs;
  std::vector<Case> accepted;
  for (const Case& each : cases.tried) {
    auto lab = read(each);
    if (!lab) continue;
    labs.push_back(std::move(*lab));
    accepted.push_back(each);
  }
  std::printf("%zu labs, %zu accepted, %zu refused together\n", cases.tried.size(), accepted.size(),
              cases.refused.size());
  if (!support::kSanitized) {
    for (const Case& each : cases.refused) EXPECT_FALSE(read(each)) << each[0] << ": refused only among others";
  }
  EXPECT_GE(accepted.size(), at_least) << "validate takes too few of them: does the base lab still work?";
  for (const std::string& each : run_all(labs, accepted)) ADD_FAILURE() << each;
}

// The places at which one reading refuses `value`, set for all of the keys: a problem with a --set bears its path.
std::set<std::string> refused_together(const std::string& path, std::span<const std::string_view> keys,
                                       const std::string& value) {
  Case all;
  for (std::string_view key : keys) all.push_back(path + std::string(key) + "=" + value);
  std::set<std::string> places;
  if (const auto lab = read(all); !lab) {
    for (const lab::Problem& problem : lab.error()) places.insert(problem.where);
  }
  return places;
}

// Every value for every key at `path`, e.g. "qos.pfc.". Keys that bear on each other, as a fault's end on its start,
// are set one by one.
enum class Keys : std::uint8_t { kIndependent, kDependent };
void add_keys(const std::string& path, const lab::Section& section, Cases& cases, Keys kind = Keys::kIndependent) {
  const std::vector<std::string_view> keys = section.keys();
  for (std::string_view key : keys) {
    const lab::ValueInfo& value = section.find(key)->value;
    if (value.kind != lab::FieldKind::kChoice) continue;
    for (std::string_view word : value.words.texts())
      cases.tried.push_back({path + std::string(key) + "=" + std::string(word)});
  }
  for (const std::string value : kOddValues) {
    std::set<std::string> refused;
    if (kind == Keys::kIndependent) refused = refused_together(path, keys, value);
    for (std::string_view key : keys) {
      const std::string place = path + std::string(key);
      (refused.contains("--set " + place) ? cases.refused : cases.tried).push_back({place + "=" + value});
    }
  }
}

// The bounds of a field, what is next to them, and a middle; for a plain number also what is not one.
std::vector<std::string> values_of(const lab::ValueInfo& field) {
  std::vector<std::string> values;
  if (field.kind == lab::FieldKind::kFlag) return {"true", "false"};
  if (field.kind == lab::FieldKind::kChoice) {
    for (std::string_view word : field.words.texts()) values.emplace_back(word);
    return values;
  }
  const bool plain = field.kind == lab::FieldKind::kNumber;
  const std::int64_t min = field.min, max = static_cast<std::int64_t>(field.max);
  for (std::int64_t value : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3},
                             std::int64_t{1000}, min, min + 1, min / 2 + max / 2, max / 64, max - 1, max})
    values.push_back(in_base_unit(value, plain ? std::nullopt : std::optional(field.quantity)));
  if (plain) values.insert(values.end(), {"1.5", "1e3", "4294967296", "18446744073709551615"});
  return values;
}

Cases field_cases(const lab::Section& section, const std::string& path) {
  Cases cases;
  for (const lab::FieldInfo& field : section.fields) {
    for (const std::string& value : values_of(field.value))
      cases.tried.push_back({path + std::string(field.key) + "=" + value});
  }
  return cases;
}

TEST(Settable, NicFieldsRunAtOddValues) {
  expect_all_run(field_cases(lab::kNicSetKeys, "nodes.h0.nics[0].set."), 200);
}

TEST(Settable, HostFieldsRunAtOddValues) {
  expect_all_run(field_cases(lab::kHostSetKeys, "nodes.h0.set."), 80);
}

TEST(Settable, SwitchFieldsRunAtOddValues) {
  expect_all_run(field_cases(lab::kSwitchSetKeys, "nodes.s0.set."), 150);
}

TEST(Settable, QosKeysRunAtOddValues) {
  Cases cases;
  add_keys("qos.", lab::kQosKeys, cases);
  add_keys("qos.pfc.", lab::kPfcKeys, cases);
  add_keys("qos.pfc.watchdog.", lab::kWatchdogKeys, cases);
  add_keys("qos.queues.3.", lab::kQueueKeys, cases);
  add_keys("qos.queues.3.ecn.", lab::kEcnKeys, cases);
  add_keys("qos.groups.3.", lab::kGroupKeys, cases);
  add_keys("qos.buffer.", lab::kBufferKeys, cases);
  if (!support::kSanitized) {
    add_keys("nodes.h1.qos.", lab::kQosKeys, cases);
    add_keys("nodes.s1.qos.", lab::kQosKeys, cases);
  }
  expect_all_run(cases, 150);
}

void add_parameters(const std::string& algorithm, const lab::Section& keys, Cases& cases) {
  for (std::string_view key : keys.keys()) {
    const lab::ValueInfo& range = keys.find(key)->value;
    const auto min = static_cast<std::uint64_t>(range.min), max = std::min<std::uint64_t>(range.max, UINT32_MAX);
    for (std::uint64_t value : {std::uint64_t{0}, min, min + 1, max / 2, max - 1, max})
      cases.tried.push_back({"qos.congestion.algorithm=" + algorithm,
                             "qos.congestion." + std::string(key) + "=" + std::to_string(value)});
  }
}

TEST(Settable, CongestionParametersRunAtOddValues) {
  Cases cases;
  lab::Section common = lab::kCongestionKeys;
  common.parts = {};
  add_keys("qos.congestion.", common, cases);
  add_parameters("dcqcn", lab::kDcqcnKeys, cases);
  add_parameters("hpcc", lab::kHpccKeys, cases);
  add_parameters("timely", lab::kTimelyKeys, cases);
  add_parameters("swift", lab::kSwiftKeys, cases);
  expect_all_run(cases, 150);
}

TEST(Settable, CablePortAndRoutingKeysRunAtOddValues) {
  Cases cases;
  add_keys("links[0].cable.", lab::kCableKeys, cases);
  add_keys("links[3].cable.", lab::kCableKeys, cases);
  add_keys("nodes.h0.nics[0].ports.p0.", lab::kPortKeys, cases);
  add_keys("nodes.s0.ports.swp1.", lab::kSwitchPortKeys, cases);
  add_keys("nodes.s0.routing.", lab::kRoutingKeys, cases);
  add_keys("", lab::kLabKeys, cases);
  expect_all_run(cases, 80);
}

TEST(Settable, FaultAndWorkloadKeysRunAtOddValues) {
  // One of each kind; a sanitizer has time for a few.
  std::vector<std::string> places{"faults[1].", "workloads[incast]."};
  if (!support::kSanitized) {
    for (const char* more : {"faults[0].", "faults[2].", "faults[3].", "workloads[send].", "workloads[datagram]."})
      places.emplace_back(more);
  }
  Cases cases;
  for (const std::string& place : places)
    add_keys(place,
             place.starts_with("faults") ? static_cast<const lab::Section&>(lab::kFaultKeys) : lab::kWorkloadKeys,
             cases, Keys::kDependent);
  expect_all_run(cases, support::kSanitized ? 80 : 300);
}

}  // namespace

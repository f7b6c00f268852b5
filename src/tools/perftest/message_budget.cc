#include "tools/perftest/message_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tools/perftest/budget.h"

namespace weft::workload {
namespace {

constexpr double kAvoidableHealthy = 0.05;  // as of bandwidths
constexpr double kWorthSaying = 0.005;      // of all of it

struct StageText {
  const char* name;
  const char* note;
  bool avoidable = false;
};
// By nic::Stage.
constexpr StageText kStageTexts[] = {
    {"post", "CPU: WQE and doorbell"},
    {"doorbell", "MMIO write to the NIC, the WQE with it"},
    {"NIC transmit", ""},
    {"payload read", "DMA from memory, until the first bytes come"},
    {"payload burst", "PCIe: what the NIC has of it before it sends"},
    {"send queue", "behind what was posted before", true},
    {"NIC message rate", "", true},
    {"congestion control", "the rate is below the line", true},
    {"paused", "by the peer", true},
    {"loss recovery", "NAK, RNR wait or timeout", true},
    {"PCIe", "", true},
    {"serialisation", ""},
    {"cable", "propagation"},
    {"FEC", "encoder and decoder"},
    {"ports", "PHY and MAC of both"},
    {"held back", "by a fault or impairment of the cable", true},
    {"switch", "its pipeline"},
    {"queue", "in the switch", true},
    {"forwarder", "interrupt, CPU, ring and qdisc"},
    {"NIC receive", ""},
    {"responder busy", "with other READs or atomics", true},
    {"NIC response", "until the answer can be sent"},
    {"reply port", "the answer waits for its port", true},
    {"payload write", "PCIe from the NIC"},
    {"write backlog", "behind other writes, or over a slower link to memory", true},
    {"CQE", "PCIe from the NIC"},
    {"memory", "root complex and memory, until the CPU can see it"},
    {"memory jitter", ""},
    {"NUMA hops", "CPU or memory is not on the NIC's node", true},
    {"NUMA link busy", "others on the links between nodes", true},
    {"PCIe switches", "between NIC and memory or GPU", true},
    {"GPU memory", "what it takes longer than the host's", true},
    {"IOMMU", "walks of its page tables", true},
    {"staged copy", "between GPU and host memory: GPUDirect is off", true},
    {"own completion", "of the message before: ACK and CQE", true},
    {"not polled yet", "the program still posts", true},
    {"CPU away", "interrupts, other threads", true},
    {"poll", "the look that finds it"},
    {"post receive", "CPU"},
    {"not explained", "", true},
};
static_assert(std::size(kStageTexts) == nic::kStages);

const StageText& text_of(nic::Stage stage) {
  return kStageTexts[static_cast<std::size_t>(stage)];
}

// Both directions of a cable are one place.
std::string place_of(const nic::Span& span, const std::vector<std::string>& port_names) {
  if (span.from == span.to || span.from >= port_names.size() || span.to >= port_names.size()) return "";
  return port_names[std::min(span.from, span.to)] + " - " + port_names[std::max(span.from, span.to)];
}

// What only one node does has a place by it alone.
bool is_of_node(nic::Stage stage) {
  return stage == nic::Stage::kSwitch || stage == nic::Stage::kReceive || stage == nic::Stage::kQueue ||
         stage == nic::Stage::kForwarder;
}

std::string ns_text(Time_ps time_ps) {
  return time_ps == 0 ? "" : fmt::format("{:.1f}", static_cast<double>(time_ps) / 1000);
}

}  // namespace

MessageBudget message_budget(const std::vector<nic::Span>& spans, int measured_of_it, Time_ps measured_ps,
                             const std::vector<std::string>& port_names) {
  MessageBudget budget;
  budget.measured_of_it = measured_of_it;
  budget.measured_ps = measured_ps;
  for (const nic::Span& span : spans) {
    StageText text = text_of(span.stage);
    if (span.stage == nic::Stage::kPcie) {
      const PcieCause& cause = pcie_cause(static_cast<nic::PcieLimit>(span.from));
      text = {cause.name, cause.note, true};
    }
    std::string where = place_of(span, port_names);
    if (is_of_node(span.stage) && !where.empty()) {
      const std::string& name =
          port_names[span.stage == nic::Stage::kQueue || span.stage == nic::Stage::kForwarder ? span.from : span.to];
      where = span.stage == nic::Stage::kReceive ? "" : name.substr(0, name.find(':'));
    }
    auto line = std::find_if(budget.lines.begin(), budget.lines.end(),
                             [&](const MessageLine& each) { return each.name == text.name && each.where == where; });
    if (line == budget.lines.end())
      line = budget.lines.insert(line, MessageLine{text.name, where, 0, 0, text.avoidable, text.note});
    (span.way == 0 ? line->there_ps : line->back_ps) += span.time_ps;
    budget.total_ps += span.time_ps;
    if (span.stage == nic::Stage::kUnexplained) budget.unexplained_ps += span.time_ps;
    if (text.avoidable) budget.avoidable_ps += span.time_ps;
  }
  budget.healthy = static_cast<double>(budget.avoidable_ps) <= kAvoidableHealthy * static_cast<double>(budget.total_ps);
  return budget;
}

std::string message_verdict(const MessageBudget& budget) {
  const auto us = [&](Time_ps time_ps) { return static_cast<double>(time_ps) / budget.measured_of_it / 1e6; };
  const double all_us = us(budget.total_ps), least_us = us(budget.total_ps - budget.avoidable_ps);
  if (budget.healthy)
    return fmt::format("healthy: {:.2f} us, {:.2f} without distance, queues and contention", all_us, least_us);
  std::vector<std::pair<std::string, Time_ps>> causes;
  for (const MessageLine& line : budget.lines) {
    if (!line.avoidable) continue;
    auto known = std::find_if(causes.begin(), causes.end(), [&](const auto& each) { return each.first == line.name; });
    if (known == causes.end()) known = causes.insert(known, {line.name, 0});
    known->second += line.there_ps + line.back_ps;
  }
  std::stable_sort(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out = fmt::format("{:.2f} us, {:.2f} without distance, queues and contention", all_us, least_us);
  const char* before = ": ";
  for (const auto& [name, time_ps] : causes) {
    if (static_cast<double>(time_ps) < kWorthSaying * static_cast<double>(budget.total_ps)) continue;
    out += fmt::format("{}{} {:.2f}", before, name, us(time_ps));
    before = ", ";
  }
  return out;
}

std::string message_text(const MessageBudget& budget, std::uint64_t size_B) {
  if (budget.lines.empty()) return "";
  const double total_ns = static_cast<double>(budget.total_ps) / 1000;
  std::string out;
  if (budget.measured_ps == 0) {
    out =
        fmt::format("where {:.1f} ns of one message of {} B went, from its post to its completion\n", total_ns, size_B);
  } else if (budget.measured_of_it == 2) {
    out = fmt::format("where {:.1f} ns of a round trip of {} B went; half of it is {}\n", total_ns, size_B,
                      budget.measured);
  } else {
    out = fmt::format("where {:.1f} ns of {} B went: {}\n", total_ns, size_B, budget.measured);
  }
  std::size_t width = 18, where = 0;
  for (const MessageLine& line : budget.lines) {
    width = std::max(width, line.name.size());
    where = std::max(where, line.where.size());
  }
  out += fmt::format("{:>9} {:>9} ns\n", "there", "back");
  for (const MessageLine& line : budget.lines) {
    out += fmt::format("{:>9} {:>9}  {} {:<{}}  {:<{}}  {}", ns_text(line.there_ps), ns_text(line.back_ps),
                       line.avoidable ? '*' : ' ', line.name, width, line.where, where, line.note);
    while (out.back() == ' ') out.pop_back();
    out += "\n";
  }
  const double avoidable_ns = static_cast<double>(budget.avoidable_ps) / 1000;
  return out + fmt::format(
                   "{:>19.1f} ns in all; * {:.1f} ns are distance, queues and contention, {:.1f} ns have no "
                   "explanation\n",
                   total_ns, avoidable_ns, static_cast<double>(budget.unexplained_ps) / 1000);
}

}  // namespace weft::workload

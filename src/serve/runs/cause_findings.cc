#include "serve/runs/cause_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/figures.h"
#include "base/plural.h"
#include "store/rows/fabric_rows.h"
#include "store/table.h"

namespace weft::serve {

namespace {

struct Remedy {
  const char* of;
  const char* text;
};

// Remedies by the reasons of drop records.
constexpr Remedy kDropRemedies[] = {
    {"port down",
     "link: find out why it went down; routing: withdraw the routes over it sooner (BFD, carrier detection)"},
    {"headroom exhausted", "switch: headroom for this cable, MTU and rate; leave it to `headroom: auto`"},
    {"PFC watchdog", "find the port that sends the pauses; the watchdog drops the packets that they hold up"},
    {"Tail drop", "switch: a queue of a lossless class must have no limit of its own; see its buffer profile"},
    {"WRED", "switch: ECN marking instead of drops; packets must be ECT"},
};
constexpr Remedy kDropCauses[] = {
    {"port down", "the outgoing link was down, and routes still pointed to it"},
    {"headroom exhausted", "the headroom was full when packets arrived after XOFF"},
    {"PFC watchdog", "the PFC watchdog detected a pause storm on their queue and dropped its packets"},
    {"Tail drop", "their queue was full"},
    {"WRED", "RED dropped them: they could not be marked, or marking is off"},
};
constexpr Remedy kHeldRemedies[] = {
    {lab::held::kSockets,
     "NCCL: do not set NCCL_IB_DISABLE=1; set the NICs with NCCL_IB_HCA; NCCL_DEBUG=INFO prints the choice"},
    {lab::held::kPace,
     "fewer senders at once, ECN thresholds and DCQCN for this rate, or more capacity at the port that marks"},
    {lab::held::kQueueing, "fewer senders at once, lower ECN thresholds, or more capacity at that port"},
    {lab::held::kPause, "check the queue that causes the pauses; ECN thresholds below XOFF"},
    {lab::held::kRecovery, "find where packets are lost"},
    {lab::held::kAgain, "find where packets are lost; selective repeat retransmits only the lost ones"},
    {lab::held::kCpu, "more work requests per post, or more threads"},
    {lab::held::kMessageRate, "larger messages, or more queue pairs"},
    {lab::held::kContext, "fewer active queue pairs, or a NIC with a larger context cache"},
};

template <std::size_t kCount>
std::string text_of(const Remedy (&list)[kCount], const std::string& word) {
  const auto* found =
      std::find_if(std::begin(list), std::end(list), [&](const Remedy& each) { return each.of == word; });
  return found == std::end(list) ? "" : found->text;
}

// The reasons why the switch lost packets of this queue, from its drop records, the most frequent first.
struct DropGroup {
  std::string reason, port;
  std::uint64_t count = 0;
  Time_ps first_ps = 0;
};
std::vector<DropGroup> drops_of(OpenRun& run, const std::string& node, std::uint32_t queue) {
  std::map<std::pair<std::string, std::string>, DropGroup> groups;  // by reason and port
  for (const store::DropRow& row : store::Reader<store::DropRow>(
           run.file(), "WHERE node = ? AND queue = ? AND out_port IS NOT NULL", node, queue)) {
    const std::string port = node + ":" + row.out_port.value_or("");
    DropGroup& group =
        groups.try_emplace({row.reason, port}, DropGroup{row.reason, port, 0, row.time_ps}).first->second;
    group.count += row.count;
    group.first_ps = std::min(group.first_ps, row.time_ps);
  }
  std::vector<DropGroup> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  std::stable_sort(out.begin(), out.end(), [](const DropGroup& a, const DropGroup& b) {
    return a.count != b.count ? a.count > b.count : a.first_ps < b.first_ps;
  });
  return out;
}

bool is_told(const lab::Explanation& explanation, const std::string& flow) {
  const auto has = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), flow) != list.end();
  };
  return std::any_of(explanation.incidents.begin(), explanation.incidents.end(),
                     [&](const lab::Incident& each) { return has(each.flows) || has(each.victims); });
}

}  // namespace

std::vector<CauseFinding> lossless_loss_findings(OpenRun& run) {
  std::vector<CauseFinding> out;
  for (const store::LosslessLossRow& row : store::Reader<store::LosslessLossRow>(run.file())) {
    const std::string& place = row.place;
    CauseFinding each{"error", "run", "lossless loss", "", "", "", {}};
    each.title =
        fmt::format("{} of {} of class {} lost at {}", row.lost, counted(row.taken, "packet"), row.class_, place);
    const std::vector<DropGroup> drops = drops_of(run, place, row.class_);
    for (const DropGroup& group : drops)
      each.evidence.push_back({fmt::format("drop records: {} x {} at {}", group.count, group.reason, group.port),
                               group.port, group.first_ps});
    if (!row.is_lossless) {
      each.cause = "the hosts treat this class as lossless, but the switch maps it to a lossy class";
      each.remedy = "switch: map the DSCP to the lossless priority, as the hosts do";
    } else if (row.by_nic) {
      each.cause = "the receive buffer of the NIC was full before its pause took effect";
      each.remedy = "NIC: a lower XOFF threshold, or a shorter cable";
    } else if (!drops.empty()) {
      const std::string cause = text_of(kDropCauses, drops.front().reason);
      each.cause = cause.empty() ? drops.front().reason : drops.front().reason + ": " + cause;
      each.remedy = text_of(kDropRemedies, drops.front().reason);
    } else {
      each.cause = "the drop records do not give a reason";
    }
    if (each.evidence.empty()) each.evidence.push_back({"", place, std::nullopt});
    out.push_back(std::move(each));
  }
  return out;
}

std::vector<CauseFinding> held_findings(const lab::Explanation& explanation) {
  constexpr std::size_t kMostCauses = 3, kMostStragglers = 3;
  constexpr double kWorthAFinding = 0.2;  // of the time of the first cause
  std::vector<CauseFinding> out;
  for (std::size_t i = 0; i < std::min(explanation.stragglers.size(), kMostStragglers); ++i) {
    const lab::Straggler& late = explanation.stragglers[i];
    CauseFinding each{"warning", "explain", "straggler", "", late.reason, "", {}};
    each.title =
        fmt::format("{}: the others wait for {}, {} of a step", late.workload, late.who, time_text(late.lost_us * 1e6));
    each.evidence.push_back({late.reason, late.port, late.time_ps});
    out.push_back(std::move(each));
  }
  const std::vector<lab::HeldGroup> groups = held_groups(explanation);
  const auto sent =
      static_cast<std::size_t>(std::count_if(explanation.flows.begin(), explanation.flows.end(),
                                             [](const lab::FlowAnswer& flow) { return !flow.shares.empty(); }));
  for (std::size_t i = 0; i < std::min(groups.size(), kMostCauses); ++i) {
    const lab::HeldGroup& group = groups[i];
    if (group.time_ps < kWorthAFinding * groups.front().time_ps) break;
    const lab::FlowAnswer& flow = *group.most;
    CauseFinding each{is_told(explanation, flow.id) ? "note" : "warning",
                      "explain",
                      group.cause,
                      "",
                      flow.because,
                      text_of(kHeldRemedies, group.cause),
                      {}};
    each.title = sent == 1 ? fmt::format("{}: {} for {} of its time", flow.id, group.cause, share_text(flow.share))
                           : fmt::format("{} of {}: {}; most of all {}, {} of its time", group.flows,
                                         counted(sent, "flow"), group.cause, flow.id, share_text(flow.share));
    each.evidence.push_back(
        {fmt::format("{} starts", flow.id), flow.root.empty() ? flow.from : flow.root, flow.first_ps});
    out.push_back(std::move(each));
  }
  return out;
}

}  // namespace weft::serve

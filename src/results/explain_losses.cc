// What the packets of a flow, or the answers to them, were lost to.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "results/explain_parts.h"

namespace weft::lab {
namespace {

constexpr std::size_t kLongEnough = 160;

// Reasons that links and receivers count; of the others switches have a record of each packet.
bool is_of_link(const std::string& reason) {
  static const std::set<std::string> kOfLink = {"fault drop", "link down",      "FCS error",
                                                "ICRC error", "RX buffer full", "RX ring full",
                                                "unknown QP", "wrong source",   "receiver not ready"};
  return kOfLink.contains(reason);
}

class Losses {
 public:
  Losses(const ExplainContext& context, const FlowAnswer& flow, std::string& root)
      : context_(context), flow_(flow), root_(root) {}

  std::string text() {
    std::set<std::string> ports;
    for (const FlowWay& way : flow_.ways) ports.insert(way.path.begin(), way.path.end());
    for (const DropEvidence& drop : context_.evidence.drops) {
      if (!is_of_link(drop.reason)) add_drop(drop);
    }
    const bool incomplete = out_.empty() && context_.evidence.left_out > 0;
    for (const std::string& port : ports) add_link(port, incomplete, false);
    for (const std::string& port : ports) {
      if (const auto link = context_.link_of.find(port); link != context_.link_of.end())
        add_link(link->second->to, false, true);
    }
    return out_;
  }

 private:
  void add(std::uint64_t count, const std::string& reason, const std::string& where, bool back) {
    if (out_.size() > kLongEnough) return;
    out_ +=
        fmt::format("{}{} {}{}", out_.empty() ? "" : ", ", lost_text(count, reason), where, back ? " (way back)" : "");
  }
  void add_drop(const DropEvidence& drop) {
    const std::string& where = drop.out_port.empty() ? drop.node : drop.out_port;
    std::uint64_t there = 0, back = 0;
    for (const DropEvidence::Pair& pair : drop.pairs) {
      if (pair.source == flow_.from && pair.destination == flow_.to) there += pair.count;
      if (pair.source == flow_.to && pair.destination == flow_.from) back += pair.count;
    }
    if (there > 0) add(there, drop.reason, "at " + where, false);
    if (back > 0) add(back, drop.reason, "at " + where, true);
    if (there + back == 0) return;
    if (root_.empty()) root_ = where;
    if (const std::string lossy = class_text(context_, where); !lossy.empty() && out_.size() <= kLongEnough)
      out_ += " (" + lossy + ")";
  }
  void add_link(const std::string& port, bool all_reasons, bool back) {
    const auto found = context_.link_of.find(port);
    if (found == context_.link_of.end()) return;
    const LinkEvidence& link = *found->second;
    for (const auto& [reason, count] : link.lost) {
      if (!all_reasons && !is_of_link(reason)) continue;
      const bool on_cable = reason == "fault drop" || reason == "link down";
      add(count, reason, on_cable ? "from " + link.from + " to " + link.to : "at " + link.to, back);
      if (reason == "RX ring full") {
        if (const std::string ring = ring_text(context_, link.to); !ring.empty()) out_ += " (" + ring + ")";
      }
      if (root_.empty()) root_ = reason == "RX ring full" ? link.to : link.from;
    }
  }

  const ExplainContext& context_;
  const FlowAnswer& flow_;
  std::string& root_;
  std::string out_;
};

}  // namespace

std::string losses_text(const ExplainContext& context, const FlowAnswer& flow, std::string& root) {
  return Losses(context, flow, root).text();
}

}  // namespace weft::lab

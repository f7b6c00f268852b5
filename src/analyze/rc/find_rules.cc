// Findings of rules that packets and answers must keep, whatever is lost.
#include <fmt/format.h>

#include "analyze/rc/findings.h"

namespace weft::analyze::detail {
namespace {

struct TransportRule {
  Trouble trouble;
  bool at_responder, needs_order;
  std::string_view id;
  std::string_view one, what;  // with the count in front
  std::string_view evidence;   // of each frame
  std::string_view cause;
  std::string_view where, command;
};

constexpr std::string_view kWrongSender =
    "the requester builds wrong packets (firmware, a software stack, an injected fault)";
constexpr std::string_view kWrongResponder =
    "the responder answers against the rules (firmware, a software stack, an injected fault)";
constexpr std::string_view kUpdateRequester =
    "on {requester}: ethtool -i IFACE, then update the firmware (mlxfwmanager -u)";
constexpr std::string_view kUpdateResponder =
    "on {responder}: ethtool -i IFACE, then update the firmware (mlxfwmanager -u)";

constexpr TransportRule kRules[] = {
    {Trouble::kOpcodeOrder, false, true, "opcode-sequence.broken",
     "packet does not follow FIRST, MIDDLE, LAST or ONLY of one message",
     "packets do not follow FIRST, MIDDLE, LAST or ONLY of one message",
     "PSN {psn}: not allowed after the packet before it", kWrongSender, "NIC", kUpdateRequester},
    {Trouble::kStrayPsn, false, true, "psn.stray", "packet has a PSN far away from those before and behind it",
     "packets have a PSN far away from those before and behind them", "PSN {psn}; {value} would be next", kWrongSender,
     "NIC", kUpdateRequester},
    {Trouble::kPathMtu, false, false, "integrity.path-mtu",
     "packet whose payload is not a whole path MTU, or more than one",
     "packets whose payload is not a whole path MTU, or more than one", "PSN {psn}: payload {value} B",
     "the two ends use different path MTUs, or the requester builds wrong packets", "host",
     "ibv_devinfo -v (active_mtu) on both ends; the same path_mtu in ibv_modify_qp of both; ip link show dev IFACE"},
    {Trouble::kLength, false, false, "message-length.reth", "message whose payload is not as long as its RETH says",
     "messages whose payload is not as long as their RETH says",
     "PSN {psn}: payload and RETH length differ by {value} B", kWrongSender, "NIC", kUpdateRequester},
    {Trouble::kReadBroken, true, true, "read-response.broken", "READ response does not fit its request",
     "READ responses do not fit their request", "PSN {psn}: not the response that is due", kWrongResponder, "NIC",
     kUpdateResponder},
    {Trouble::kRepeatedNak, true, true, "nak.repeated", "NAK repeats one before the missing packet came",
     "NAKs repeat one before the missing packet came", "NAK of PSN {psn} again", kWrongResponder, "NIC",
     kUpdateResponder},
    {Trouble::kWrongNakPsn, true, true, "nak.psn", "NAK names a PSN that was acknowledged or not sent",
     "NAKs name a PSN that was acknowledged or not sent", "NAK of PSN {psn}; PSN {value} is the limit", kWrongResponder,
     "NIC", kUpdateResponder},
    {Trouble::kAckBackwards, true, true, "ack.backwards", "ACK is for less than the ACK before",
     "ACKs are for less than the ACK before", "ACK of PSN {psn} after {value}", kWrongResponder, "NIC",
     kUpdateResponder},
    {Trouble::kAckUnsent, false, true, "ack.unsent", "ACK is for packets that had not been sent",
     "ACKs are for packets that had not been sent", "ACK of PSN {psn}; PSN {value} was sent only later",
     kWrongResponder, "NIC", kUpdateResponder},
    {Trouble::kWrongMsn, true, true, "msn.wrong", "ACK has an MSN that is not the number of completed messages",
     "ACKs have an MSN that is not the number of completed messages", "ACK of PSN {psn}: MSN {value} expected",
     kWrongResponder, "NIC", kUpdateResponder},
    {Trouble::kCreditsExceeded, false, true, "credits.exceeded", "message was sent beyond the credits of the responder",
     "messages were sent beyond the credits of the responder", "PSN {psn}: {messages} beyond the limit", kWrongSender,
     "NIC", kUpdateRequester},
};

}  // namespace

void find_broken_rules(const SideView& view, SideFindings& out) {
  const bool in_order = view.in_order();
  for (const TransportRule& rule : kRules) {
    if (rule.needs_order && !in_order) continue;
    const RcFlow& flow = rule.at_responder ? view.responder() : view.requester();
    const std::uint32_t count = count_of(flow, rule.trouble);
    if (count == 0) continue;
    out.add(view.place, {rule.id,
                         counted(count, rule.one, rule.what),
                         std::string(rule.cause),
                         count,
                         evidence_of(view.context, flow, rule.trouble, rule.evidence),
                         {{std::string(rule.where),
                           fmt::format(fmt::runtime(rule.command), fmt::arg("requester", view.requester_address),
                                       fmt::arg("responder", view.responder_address))}}});
  }
}

}  // namespace weft::analyze::detail

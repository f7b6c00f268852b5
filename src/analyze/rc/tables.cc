#include "analyze/rc/tables.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::analyze {
namespace {

constexpr std::size_t kMostQpRows = 1000;

double milliseconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

double microseconds(std::int64_t ns) {
  return ns < 0 ? -1 : static_cast<double>(ns) / 1e3;
}

std::string verbs_text(const std::vector<std::string>& verbs) {
  return fmt::format("{}", fmt::join(verbs, "+"));
}

Table qp_table(std::span<const RcConversation> conversations) {
  Table table{"qps",
              {"flow",           "transport", "verbs",           "path_mtu_B", "messages",      "message_B_least",
               "message_B_most", "goodput_B", "goodput_Gbps",    "packets",    "retransmitted", "naks",
               "cnps",           "ce_marked", "packets_per_ack", "ack_p50_us", "ack_p99_us",    "message_p50_us",
               "message_p99_us", "points"}};
  for (const RcConversation& each : conversations) {
    if (table.rows.size() == kMostQpRows) break;
    const Conversation& c = each.summary;
    const auto number = [](std::uint64_t value) { return Cell(static_cast<std::int64_t>(value)); };
    double per_ack = 0;
    if (!each.forward.empty() && each.forward.at_responder().acks > 0)
      per_ack = static_cast<double>(each.forward.at_responder().packets) /
                static_cast<double>(each.forward.at_responder().acks);
    table.rows.push_back({place_of(c),
                          c.transport,
                          verbs_text(c.verbs),
                          number(c.path_mtu_B),
                          number(c.messages),
                          number(c.message_B_least),
                          number(c.message_B_most),
                          number(c.goodput_B),
                          c.goodput_bps / 1e9,
                          number(c.packets),
                          number(c.retransmitted),
                          number(c.naks),
                          number(c.cnps),
                          number(c.ce_marked),
                          per_ack,
                          microseconds(c.ack_latency_p50_ns),
                          microseconds(c.ack_latency_p99_ns),
                          microseconds(c.message_latency_p50_ns),
                          microseconds(c.message_latency_p99_ns),
                          static_cast<std::int64_t>(c.points)});
  }
  return table;
}

// Names of flows whose rows are told: those at the point nearest to the requester.
std::vector<std::string> names_of(const RcContext& context, std::span<const RcConversation> conversations) {
  std::vector<std::string> names(context.transport.flows().size());
  for (const RcConversation& each : conversations) {
    Conversation turned = each.summary;
    std::swap(turned.a, turned.b);
    std::swap(turned.a_qp, turned.b_qp);
    if (!each.forward.empty()) names[context.transport.number_of(each.forward.at_requester())] = place_of(each.summary);
    if (!each.backward.empty()) names[context.transport.number_of(each.backward.at_requester())] = place_of(turned);
  }
  return names;
}

}  // namespace

void add_transport_tables(const RcContext& context, std::span<const RcConversation> conversations,
                          std::vector<Table>& tables) {
  tables.push_back(qp_table(conversations));
  const RcTransport& transport = context.transport;
  if (transport.messages().empty() && transport.retransmissions().empty()) return;
  const std::vector<std::string> names = names_of(context, conversations);
  const std::int64_t begin_ns = context.capture.begin_ns;
  Table again{"retransmissions", {"flow", "time_ms", "frame", "psn", "packets", "cause", "waited_us"}};
  for (const RetransmissionRow& row : transport.retransmissions())
    if (!names[row.flow].empty())
      again.rows.push_back({names[row.flow], milliseconds(row.time_ns - begin_ns), static_cast<std::int64_t>(row.frame),
                            std::int64_t{row.psn}, std::int64_t{row.packets}, std::string(name(row.cause)),
                            microseconds(row.waited_ns)});
  tables.push_back(std::move(again));
  if (transport.messages().empty()) return;
  Table messages{"messages", {"flow", "verb", "first_psn", "last_psn", "size_B", "start_ms", "latency_us"}};
  for (const MessageRow& row : transport.messages())
    if (!names[row.flow].empty())
      messages.rows.push_back({names[row.flow], std::string(name(row.verb)), std::int64_t{row.first_psn},
                               std::int64_t{row.last_psn}, static_cast<std::int64_t>(row.size_B),
                               milliseconds(row.start_ns - begin_ns), microseconds(row.end_ns - row.start_ns)});
  tables.push_back(std::move(messages));
}

}  // namespace weft::analyze

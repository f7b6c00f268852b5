// Timeouts and retries of a handshake against what was then measured: of CM's own messages (IBTA vol 1,
// 12.9.8), and of the packets of the connection.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/cm/check.h"

namespace weft::analyze {
namespace {

// Five bits: 4.096 us x 2^T.
std::int64_t cm_time_ns(std::uint8_t timeout) {
  return std::int64_t{4096} << (timeout & 31);
}

std::string cm_time_text(std::int64_t time_ns) {
  if (time_ns < 1'000'000) return fmt::format("{:.1f} us", static_cast<double>(time_ns) / 1e3);
  if (time_ns < 1'000'000'000) return fmt::format("{:.1f} ms", static_cast<double>(time_ns) / 1e6);
  return fmt::format("{:.2f} s", static_cast<double>(time_ns) / 1e9);
}

// Waits of a requester beside the timeout of the handshake.
std::string agreement_text(const CmConnection& connection, std::int64_t shortest_ns, std::int64_t longest_ns) {
  // The measured floor of ConnectX: timeouts below 16 are raised, and it waits twice as long.
  constexpr std::uint8_t kFloor = 16;
  const auto agreed = static_cast<double>(cm_time_ns(connection.ack_timeout));
  if (static_cast<double>(shortest_ns) < 0.9 * agreed)
    return "shorter than agreed: adaptive retransmission, or the program has set another timeout";
  if (static_cast<double>(longest_ns) <= 4.4 * agreed) return "as agreed (the standard allows up to four times)";
  if (connection.ack_timeout < kFloor && longest_ns <= cm_time_ns(kFloor + 2))
    return "longer than four times: firmware raises short timeouts (ConnectX: below 16)";
  return "longer than four times: the program has set another timeout";
}

}  // namespace

void CmCheck::judge_retries(const CmConnection& connection, const std::string& where, Findings& findings) {
  if (connection.response_timeout == 0) return;  // it says nothing about retries
  const std::int64_t timeout_ns = cm_time_ns(connection.response_timeout);
  const Evidence request{connection.request_frame, connection.request_ns, connection.point, "the REQ"};
  const std::vector<Remedy> remedies = {
      {"host",
       "update the RDMA CM of the asking host; CM's timeout and retries: /sys/module/rdma_cm, "
       "rdma_set_option(RDMA_OPTION_ID_ACK_TIMEOUT)"}};
  const auto add = [&](const std::string& what, const Evidence& evidence, std::uint64_t count) {
    findings.add({"connection-setup.retry",
                  where,
                  what,
                  "the asker does not keep the timers that its own REQ names, or two programs use one communication ID",
                  count,
                  {request, evidence},
                  remedies});
  };
  if (connection.despite_mra.frame != 0)
    add(fmt::format("the REQ was retransmitted {} after an MRA that asks to wait {} (service timeout {})",
                    cm_time_text(connection.despite_mra.time_ns - connection.mra_ns),
                    cm_time_text(cm_time_ns(connection.service_timeout)), connection.service_timeout),
        connection.despite_mra, 1);
  // Half: implementations round the timeout to milliseconds.
  if (connection.soonest.frame != 0 && connection.least_gap_ns < timeout_ns / 2)
    add(fmt::format("the REQ was retransmitted after {}; its remote CM response timeout {} is {}",
                    cm_time_text(connection.least_gap_ns), connection.response_timeout, cm_time_text(timeout_ns)),
        connection.soonest, connection.requests);
  if (connection.requests > connection.max_retries + 1)
    add(fmt::format("the REQ was sent {} times, and it names {} CM retries", connection.requests,
                    connection.max_retries),
        {0, 0, connection.point, ""}, connection.requests);
}

void CmCheck::judge_timeouts(const CmConnection& connection, const Addresses& addresses, const Streams& streams,
                             const RcTransport& transport, Findings& findings) {
  if (connection.ack_timeout == 0) return;  // no timeout at all
  struct Way {
    AddressId src, dst;
    std::uint32_t qp;
  };
  for (const Way& way :
       {Way{connection.a, connection.b, connection.b_qp}, Way{connection.b, connection.a, connection.a_qp}}) {
    const StreamId id = streams.find(connection.point, way.src, way.dst, way.qp);
    if (id == kNone || streams[id].first_ns < connection.request_ns) continue;
    const RcFlow* flow = transport.flow_of(id);
    if (flow == nullptr || !flow->trouble || flow->trouble->waits.empty()) continue;
    const std::vector<Waited>& waits = flow->trouble->waits;
    std::int64_t shortest_ns = waits[0].ns, longest_ns = waits[0].ns;
    std::uint32_t row = 1, longest_row = 1;
    for (std::size_t i = 1; i < waits.size(); ++i) {
      shortest_ns = std::min(shortest_ns, waits[i].ns);
      longest_ns = std::max(longest_ns, waits[i].ns);
      row = waits[i].psn == waits[i - 1].psn ? row + 1 : 1;
      longest_row = std::max(longest_row, row);
    }
    longest_row = std::max(longest_row, flow->timeouts_in_a_row);
    const std::uint32_t all = flow->trouble->count[static_cast<std::size_t>(Trouble::kTimeout)];
    findings.add(
        {"connection-setup.timeout",
         fmt::format("{} > {} qp 0x{:06x}", addresses.text(way.src), addresses.text(way.dst), way.qp),
         fmt::format(
             "the handshake names local ACK timeout {} ({}) and {} retries; measured: {}, waits of {} to {}, {}; "
             "up to {} in a row{}",
             connection.ack_timeout, cm_time_text(cm_time_ns(connection.ack_timeout)), connection.retry_count,
             counted(all, "timeout"), cm_time_text(shortest_ns), cm_time_text(longest_ns),
             agreement_text(connection, shortest_ns, longest_ns), longest_row,
             longest_row > connection.retry_count ? ", more than the handshake names" : ""),
         "",
         all,
         {{connection.request_frame, connection.request_ns, connection.point, "the REQ"}},
         {}});
  }
}

}  // namespace weft::analyze

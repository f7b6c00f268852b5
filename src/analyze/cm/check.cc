#include "analyze/cm/check.h"

#include <fmt/format.h>

#include <limits>

namespace weft::analyze {
namespace {

// IBTA vol 1, table 109: what programs meet.
std::string reason_text(std::uint16_t reason) {
  switch (reason) {
    case 1:
      return "no queue pair available";
    case 3:
      return "no resources available";
    case 4:
      return "timeout";
    case 5:
      return "unsupported request";
    case 6:
      return "invalid communication ID";
    case 8:
      return "invalid service ID: no program listens there";
    case 9:
      return "invalid transport service type";
    case 10:
      return "stale connection";
    case 12:
      return "invalid GID of the primary path";
    case 19:
      return "invalid path MTU";
    case 28:
      return "consumer reject: the program refused";
    default:
      return fmt::format("reason {}", reason);
  }
}

std::uint64_t key_of(PointId point, AddressId asker, std::uint32_t comm_id) {
  return (std::uint64_t{point} * 0x9e3779b97f4a7c15ULL ^ asker) * 0xbf58476d1ce4e5b9ULL ^ comm_id;
}

std::string place_of_cm(const Addresses& addresses, const CmConnection& connection) {
  return fmt::format("{} > {}", addresses.text(connection.a), addresses.text(connection.b));
}

}  // namespace

CmConnection* CmCheck::find(PointId point, AddressId asker, std::uint32_t comm_id) {
  const auto found = by_comm_id_.find(key_of(point, asker, comm_id));
  return found == by_comm_id_.end() ? nullptr : &connections_[found->second];
}

void CmCheck::see(const Frame& frame, Streams& streams) {
  if (frame.dest_qp != wire::kGeneralServicesQp || frame.payload.size() != wire::kMad_B) return;
  const auto message = wire::parse_cm_mad(frame.payload);
  if (!message) return;
  ++messages_;
  if (const auto* request = std::get_if<wire::CmReq>(&message->body)) see_request(frame, *request);
  if (const auto* mra = std::get_if<wire::CmMra>(&message->body)) see_mra(frame, *mra);
  if (const auto* reply = std::get_if<wire::CmRep>(&message->body)) see_reply(frame, *reply, streams);
  if (const auto* reject = std::get_if<wire::CmRej>(&message->body)) see_reject(frame, *reject);
  if (const auto* ready = std::get_if<wire::CmRtu>(&message->body))
    if (CmConnection* connection = find(frame.point, frame.src, ready->local_comm_id)) connection->established = true;
}

void CmCheck::see_request(const Frame& frame, const wire::CmReq& request) {
  if (CmConnection* again = find(frame.point, frame.src, request.local_comm_id); again != nullptr && !again->replied) {
    return see_again(frame, *again);
  }
  if (connections_.size() == kMostConnections) return;
  CmConnection connection;
  connection.a = frame.src;
  connection.b = frame.dst;
  connection.a_qp = request.qpn;
  connection.a_comm_id = request.local_comm_id;
  connection.b_psn = request.starting_psn;
  connection.path_mtu_B = request.path_mtu >= 1 && request.path_mtu <= 5
                              ? static_cast<std::uint16_t>(128 << request.path_mtu)
                              : std::uint16_t{0};
  connection.ack_timeout = request.path.ack_timeout;
  connection.retry_count = request.retry_count;
  connection.rnr_retry_count = request.rnr_retry_count;
  connection.response_timeout = request.remote_response_timeout;
  connection.max_retries = request.max_retries;
  connection.last_request_ns = frame.time_ns;
  connection.requests = 1;
  connection.point = frame.point;
  connection.request_ns = frame.time_ns;
  connection.request_frame = frame.number;
  by_comm_id_[key_of(frame.point, frame.src, request.local_comm_id)] = static_cast<std::uint32_t>(connections_.size());
  connections_.push_back(connection);
}

void CmCheck::see_again(const Frame& frame, CmConnection& connection) {
  if (connection.requests != std::numeric_limits<std::uint8_t>::max()) ++connection.requests;
  const std::int64_t gap_ns = frame.time_ns - connection.last_request_ns;
  connection.last_request_ns = frame.time_ns;
  if (frame.time_ns < connection.mra_until_ns) {
    if (connection.despite_mra.frame == 0)
      connection.despite_mra = {frame.number, frame.time_ns, frame.point, "the REQ again, though the MRA holds"};
  } else if (connection.least_gap_ns == 0 || gap_ns < connection.least_gap_ns) {
    connection.least_gap_ns = gap_ns;
    connection.soonest = {frame.number, frame.time_ns, frame.point, "the REQ again"};
  }
}

void CmCheck::see_mra(const Frame& frame, const wire::CmMra& mra) {
  CmConnection* connection = find(frame.point, frame.dst, mra.remote_comm_id);
  if (connection == nullptr || mra.answered != wire::CmAnswered::kReq) return;
  connection->service_timeout = mra.service_timeout;
  connection->mra_ns = frame.time_ns;
  connection->mra_until_ns = frame.time_ns + (std::int64_t{4096} << mra.service_timeout);
}

void CmCheck::see_reply(const Frame& frame, const wire::CmRep& reply, Streams& streams) {
  CmConnection* connection = find(frame.point, frame.dst, reply.remote_comm_id);
  if (connection == nullptr || connection->replied) return;
  connection->replied = true;
  connection->b_qp = reply.qpn != 0 ? reply.qpn : reply.ee_context;
  connection->b_comm_id = reply.local_comm_id;
  connection->a_psn = reply.starting_psn;
  connection->reply_ns = frame.time_ns;
  connection->answer_frame = frame.number;
  streams.know({connection->a, connection->a_qp}, {connection->b, connection->b_qp});
}

void CmCheck::see_reject(const Frame& frame, const wire::CmRej& reject) {
  CmConnection* connection = find(frame.point, frame.dst, reject.remote_comm_id);
  if (connection == nullptr) connection = find(frame.point, frame.src, reject.local_comm_id);  // the asker gives up
  if (connection == nullptr) return;
  connection->rejected = true;
  connection->reason = reject.reason;
  connection->answer_frame = frame.number;
  connection->reply_ns = frame.time_ns;
}

// Only of streams that begin after the handshake: before it the numbers may have belonged to others.
void CmCheck::judge_agreement(const CmConnection& connection, const Addresses& addresses, const Streams& streams,
                              Findings& findings) const {
  struct Way {
    AddressId src, dst;
    std::uint32_t qp, psn;
  };
  for (const Way& way : {Way{connection.a, connection.b, connection.b_qp, connection.a_psn},
                         Way{connection.b, connection.a, connection.a_qp, connection.b_psn}}) {
    const StreamId id = streams.find(connection.point, way.src, way.dst, way.qp);
    if (id == kNone || streams[id].first_ns < connection.request_ns) continue;
    const Stream& stream = streams[id];
    const std::string where =
        fmt::format("{} > {} qp 0x{:06x}", addresses.text(way.src), addresses.text(way.dst), way.qp);
    if (stream.requests > 0 && stream.first_request_psn != way.psn)
      findings.add(
          {"connection-setup.mismatch",
           where,
           fmt::format("CM agreed on a first PSN of {}, the first request has {}", way.psn, stream.first_request_psn),
           "the program set sq_psn or rq_psn otherwise, or packets before it are not in the capture",
           1,
           {{connection.answer_frame, connection.reply_ns, connection.point, "the REP"},
            {stream.first_frame, stream.first_ns, stream.point, "the first packet"}},
           {{"host", "let rdma_cm change the states of the queue pair, or give ibv_modify_qp what CM agreed on"}}});
    if (connection.path_mtu_B != 0 && stream.payload_B_most > connection.path_mtu_B)
      findings.add({"connection-setup.mismatch",
                    where,
                    fmt::format("CM agreed on a path MTU of {}, and a packet carries {} B", connection.path_mtu_B,
                                stream.payload_B_most),
                    "the program set path_mtu otherwise",
                    1,
                    {{connection.request_frame, connection.request_ns, connection.point, "the REQ"}},
                    {{"host", "give ibv_modify_qp the path_mtu of the route"}}});
  }
}

void CmCheck::finish(const Addresses& addresses, const Streams& streams, const RcTransport& transport,
                     std::int64_t last_ns, Findings& findings) const {
  for (const CmConnection& connection : connections_) {
    const Evidence request{connection.request_frame, connection.request_ns, connection.point, "the REQ"};
    if (connection.rejected) {
      findings.add(
          {"connection-setup.rejected",
           place_of_cm(addresses, connection),
           fmt::format("REQ of queue pair 0x{:06x} was rejected: {}", connection.a_qp, reason_text(connection.reason)),
           "the server is not there, or refuses",
           1,
           {request, {connection.answer_frame, connection.reply_ns, connection.point, "the REJ"}},
           {{"host", "rdma resource show cm_id on the server; start it, or use its port"}}});
    } else if (!connection.replied && connection.requests > 1) {
      findings.add({"connection-setup.no-answer",
                    place_of_cm(addresses, connection),
                    fmt::format("{} REQs in {:.1f} ms and no REP", connection.requests,
                                static_cast<double>(last_ns - connection.request_ns) / 1e6),
                    "the server's port is down, its GID another, or CM packets are lost on the way",
                    connection.requests,
                    {request},
                    {{"host", "rping -c -a ADDRESS; rdma link show; ibv_devinfo -v for the GID table"}}});
    } else if (connection.replied) {
      judge_agreement(connection, addresses, streams, findings);
      judge_timeouts(connection, addresses, streams, transport, findings);
    }
    judge_retries(connection, place_of_cm(addresses, connection), findings);
  }
  findings.judge("connection-setup", messages_, "CM messages",
                 "no CM message: queue pairs were set up before, or out of band");
}

}  // namespace weft::analyze

// Check 21, connection management: REQ, MRA, REP, RTU, REJ on queue pair 1. What CM agreed on (numbers, PSNs, path MTU,
// timeouts and retries) is held against the packets of the connection, and tells Streams which two streams are one
// connection.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyze/findings/finding.h"
#include "analyze/frames/addresses.h"
#include "analyze/rc/transport.h"
#include "analyze/streams/streams.h"
#include "wire/cm_mad.h"

namespace weft::analyze {

// A connection as its handshake tells it: a asks, b answers.
struct CmConnection {
  AddressId a = 0, b = 0;
  std::uint32_t a_qp = 0, b_qp = 0;
  std::uint32_t a_comm_id = 0, b_comm_id = 0;
  std::uint32_t a_psn = 0, b_psn = 0;  // that a, and b, begin with
  std::uint16_t path_mtu_B = 0;
  std::uint8_t ack_timeout = 0, retry_count = 0, rnr_retry_count = 0;
  std::uint8_t requests = 0;  // REQs seen: more than one is a retry
  // How CM itself repeats a REQ: after the remote CM response timeout, so often; an MRA asks to wait longer.
  std::uint8_t response_timeout = 0, max_retries = 0, service_timeout = 0;
  std::int64_t last_request_ns = 0, least_gap_ns = 0, mra_ns = 0, mra_until_ns = 0;
  Evidence soonest{}, despite_mra{};  // REQs; frame 0: none
  bool replied = false, established = false, rejected = false;
  std::uint16_t reason = 0;
  PointId point = 0;
  std::int64_t request_ns = 0, reply_ns = 0;
  std::uint64_t request_frame = 0, answer_frame = 0;
};

class CmCheck {
 public:
  // A frame to queue pair 1.
  void see(const Frame& frame, Streams& streams);
  void finish(const Addresses& addresses, const Streams& streams, const RcTransport& transport, std::int64_t last_ns,
              Findings& findings) const;
  const std::vector<CmConnection>& connections() const { return connections_; }

 private:
  // More handshakes than this are counted and not kept.
  static constexpr std::size_t kMostConnections = 100'000;

  CmConnection* find(PointId point, AddressId asker, std::uint32_t comm_id);
  void see_request(const Frame& frame, const wire::CmReq& request);
  void see_again(const Frame& frame, CmConnection& connection);
  void see_mra(const Frame& frame, const wire::CmMra& mra);
  void see_reply(const Frame& frame, const wire::CmRep& reply, Streams& streams);
  void see_reject(const Frame& frame, const wire::CmRej& reject);
  void judge_agreement(const CmConnection& connection, const Addresses& addresses, const Streams& streams,
                       Findings& findings) const;
  // cm_timers.cc
  static void judge_retries(const CmConnection& connection, const std::string& where, Findings& findings);
  static void judge_timeouts(const CmConnection& connection, const Addresses& addresses, const Streams& streams,
                             const RcTransport& transport, Findings& findings);

  std::vector<CmConnection> connections_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_comm_id_;  // point, address and number of the asker
  std::uint64_t messages_ = 0;
};

}  // namespace weft::analyze

// Protocol between librdmacm.so.1 and the world (verbs/protocol.h has the ops). Port spaces, event types and
// options have the numbers of <rdma/rdma_cma.h>.
#pragma once

#include "verbs/protocol.h"

namespace weft::verbs {

struct CmCreateId {
  std::uint32_t channel, port_space;
  std::uint32_t qp_type, unused;
  std::uint64_t cookie;  // comes back with its events
};
struct CmAddress {
  std::uint32_t id;
  std::uint32_t port;  // host order; 0: any
  Address address;     // all zero or 0.0.0.0: any
};
struct CmListen {
  std::uint32_t id, backlog;
};
struct CmResolve {
  std::uint32_t id, timeout_ms;
  std::uint32_t port, source_port;  // of the address only
  Address address, source;          // source: may be any
};
// Binding of an id.
struct CmIdInfo {
  std::uint32_t id, device;  // kNoHandle: none yet
  std::uint32_t local_port, remote_port;
  Address local, remote;  // also its GIDs
  std::uint32_t mtu, traffic_class;
};
inline constexpr std::size_t kMaxCmPrivate_B = 256;
struct CmConn {
  std::uint32_t qpn, qkey;
  std::uint8_t srq, responder_resources, initiator_depth, flow_control, retry_count, rnr_retry_count;
  std::uint8_t unused[2];
  std::uint32_t private_B;
  std::uint8_t private_data[kMaxCmPrivate_B];
};
struct CmConnect {
  std::uint32_t id;
  CmConn conn;
};
struct CmGroup {
  std::uint32_t id, unused;
  std::uint64_t cookie;  // comes back as `listen_cookie` of the event
  Address address;
};
struct CmOption {
  std::uint32_t id;
  std::uint32_t option, value;
};
struct CmQpAttr {
  std::uint32_t mask;
  QpAttr attr;
};
struct CmGetEvent {
  std::uint32_t channel;
  std::uint32_t wait;        // 0: EAGAIN when there is none
  std::uint64_t new_cookie;  // for the id that a connection request makes
};
struct CmEvent {
  std::uint64_t cookie;         // of the id that the event concerns
  std::uint64_t listen_cookie;  // of a connection request: who listens; of a group: its own
  std::uint32_t type;
  std::int32_t status;  // negative errno, or the reason of a rejection
  CmIdInfo info;
  CmConn conn;
};

}  // namespace weft::verbs

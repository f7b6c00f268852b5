// The objects behind the pointers of <rdma/rdma_cma.h>: each begins with the public struct, which programs read, and
// goes on with what this library keeps. Connections belong to the world (verbs/cm_protocol.h); every file of this
// folder includes this header, programs never do. Objects live in memory of malloc, so that no C++ runtime is needed.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "verbs/cm_protocol.h"
#include "verbs/object.h"
#include "verbs/world_call.h"

// The library hides what it does not name: the calls of these headers are what it shows.
#pragma GCC visibility push(default)
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#pragma GCC visibility pop

namespace weft::verbs::cm {

inline constexpr int kResolveTimeout_ms = 2000;

// A device that some id is bound to. It stays open for the life of the process, as its pointers do in programs.
struct OpenDevice {
  ibv_context* verbs;
  ibv_pd* pd;      // for those who bring none
  ibv_xrcd* xrcd;  // likewise; opened when one first needs it
  std::uint8_t max_responder_resources, max_initiator_depth;
};
// Null: the world has no such device, and errno is set.
OpenDevice* open_device(std::uint32_t index);
// Likewise, of a domain of XRC.
ibv_xrcd* xrc_domain_of(OpenDevice& device);

// A multicast group that an id has joined.
struct Group {
  Group* next;
  Address address;
  void* context;
  bool sends_only;  // its queue pair is not attached
};

struct Channel : rdma_event_channel {
  std::uint32_t handle;
};

struct Id : rdma_cm_id {
  std::uint32_t handle;
  bool sync;           // waits for the event of each call itself
  bool connect_error;  // the queue pair could not follow: what comes of the connection does not matter any more
  OpenDevice* device;
  std::uint8_t responder_resources, initiator_depth;
  ibv_qp_init_attr* qp_attr;  // of a passive endpoint: what its requests get
  ibv_sa_path_rec path;
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  std::uint32_t events_taken, events_completed;
  Group* groups;
};
inline Id& id_of(rdma_cm_id* id) {
  return *static_cast<Id*>(id);
}

struct Event : rdma_cm_event {
  Id* concerns;  // whose acknowledgement it needs
  std::uint8_t private_data[kMaxCmPrivate_B];
};

// Makes an id that the world has not heard of.
Id* make_id(rdma_event_channel* channel, void* context, rdma_port_space ps, ibv_qp_type qp_type);
void free_id(Id* id);
// An id with a channel of its own; null and errno.
rdma_cm_id* create_sync_id(rdma_port_space ps, ibv_qp_type qp_type);
// Takes over what the world says of the id. 0 or an errno.
int apply(Id& id, const CmIdInfo& info);
// Reads a socket address. 0 or EAFNOSUPPORT.
int from_socket(const sockaddr* from, Address& address, std::uint32_t& port);
// The group's queue pair follows, where the id has one. 0 or an errno.
int attach(Id& id, const Group& group);
void free_groups(Id& id);
// Waits for the event of a call, where the id is synchronous.
int complete(Id& id);
CmConn conn_of(const Id& id, const rdma_conn_param* param);

// The queue pair's steps; nothing for an id without one. 0, or -1 with errno.
int to_init(Id& id);
int to_rtr(Id& id, std::uint8_t responder_resources);
int to_rts(Id& id, std::uint8_t initiator_depth);
int to_error(Id& id);
int start_datagrams(Id& id);

// For calls that return -1 and set errno.
inline int result(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}
inline std::nullptr_t fail(int error) {
  errno = error;
  return nullptr;
}

}  // namespace weft::verbs::cm

// The control verbs of the programs on one node: devices, protection domains, memory, queues, queue pairs. Each call
// answers at once; waits are the server's.
#pragma once

#include <optional>

#include "live/os/node.h"
#include "world/world.h"

namespace weft::live {

// Limits of mlx5 (ConnectX-5, ibv_devinfo -v), cut down where the world keeps memory for them: what a device says of
// itself is what is enforced.
inline constexpr std::uint32_t kMaxQp = 131072, kMaxQpWr = 32768, kMaxSge = 30, kMaxCq = 65536, kMaxCqe = 4194303,
                               kMaxMr = 1u << 20, kMaxPd = 65536, kMaxAh = 1u << 20;

inline constexpr std::size_t kMaxKept_B = std::size_t{1} << 30;  // of pages that a program has unmapped

// IBV_QPS_*.
std::uint32_t ibv_state(nic::QpState state);
// IBV_ACCESS_* flags.
nic::Access access_of(std::uint32_t flags);

class VerbsService {
 public:
  VerbsService(lab::World& world, Node& node, std::uint32_t host) : world_(world), node_(node), host_(host) {}

  Reply list_devices() const;
  Reply alloc_pd(Process& process, const Request& request);
  Reply reg_mr(Process& process, const Request& request);
  Reply keep_pages(Process& process, const Request& request);
  Reply create_channel(Process& process, const Request& request);
  Reply open_events(Process& process, const Request& request);
  Reply create_cq(Process& process, const Request& request);
  Reply create_srq(Process& process, const Request& request);
  Reply modify_srq(Process& process, const Request& request, Time_ps now_ps);
  Reply create_qp(Process& process, const Request& request);
  Reply create_ah(Process& process, const Request& request);
  Reply modify_qp(Process& process, const Request& request, Time_ps now_ps);
  Reply query_qp(Process& process, const Request& request);
  Reply arm_cq(Process& process, const Request& request);
  Reply destroy(Process& process, const Request& request);
  // A process is gone: so is everything that was its own.
  void forget(Process& process);

  verbs::DeviceInfo describe(std::uint32_t device) const;
  lab::PortRef port_ref(std::uint32_t device) const;
  // Where in the world an address is.
  std::optional<std::uint32_t> port_of_gid(const std::uint8_t* gid) const;

 private:
  // In memory that the program maps. False: it has too many.
  bool make_queue(Process& process, PostQueue& queue, const verbs::QueueInfo& info, std::byte* memory);
  void destroy_qp(Process& process, VerbsQp& qp);
  void destroy_queue(Process& process, PostQueue& queue);
  // What the queue pair has not finished is not to be heard of any more.
  void forget_work(Process& process, VerbsQp& qp);
  void destroy_cq(Process& process, CompletionRing& cq);
  int source_error(std::uint32_t device, const verbs::AhAttr& attr) const;
  nic::Device* device(std::uint32_t index) const;

  lab::World& world_;
  Node& node_;
  std::uint32_t host_;
};

}  // namespace weft::live

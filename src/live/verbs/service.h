// The control verbs of the programs on one node: devices, protection domains, memory, queues, queue pairs. Each call
// answers at once; waits are the server's.
#pragma once

#include <optional>

#include "live/os/address_index.h"
#include "live/os/node.h"
#include "world/world.h"

namespace weft::live {

// Limits of mlx5 (ConnectX-5, ibv_devinfo -v), cut down where the world keeps memory for them: what a device says of
// itself is what is enforced.
inline constexpr std::uint32_t kMaxQp = 131072, kMaxQpWr = 32768, kMaxSge = 30, kMaxCq = 65536, kMaxCqe = 4194303,
                               kMaxMr = 1u << 20, kMaxPd = 65536, kMaxAh = 1u << 20, kMaxGroups = 1u << 21;

inline constexpr std::uint64_t kMaxDm_B = 128 << 10;             // of a ConnectX-5
inline constexpr std::uint32_t kMaxDmAlignment = 12;             // as a power of two
inline constexpr Time_ps kCommandTime_ps = us(20);               // what the card takes for a command; an estimate
inline constexpr std::uint32_t kMaxModeration = 0xffff;          // entries, and microseconds, as mlx5 says
inline constexpr std::size_t kMaxKept_B = std::size_t{1} << 30;  // of pages that a program has unmapped

// IBV_QPS_*.
std::uint32_t ibv_state(nic::QpState state);
// IBV_ACCESS_* flags.
nic::Access access_of(std::uint32_t flags);

// False while a command or a fault holds the cable of the port down.
bool is_link_up(lab::World& world, std::uint32_t port, Time_ps now_ps);
// State, width and speed of a port, as its driver gives them.
void describe_link(const lab::World& world, std::uint32_t port, bool up, verbs::DeviceInfo& info);

class VerbsService {
 public:
  VerbsService(lab::World& world, const AddressIndex& addresses, Node& node, std::uint32_t host)
      : world_(world), addresses_(addresses), node_(node), host_(host) {}

  Reply list_devices() const;
  Reply alloc_pd(Process& process, const Request& request);
  Reply reg_mr(Process& process, const Request& request);
  Reply keep_pages(Process& process, const Request& request);
  Reply create_channel(Process& process, const Request& request);
  Reply open_events(Process& process, const Request& request);
  Reply create_cq(Process& process, const Request& request);
  Reply create_srq(Process& process, const Request& request);
  Reply modify_srq(Process& caller, const Request& request, Time_ps now_ps);
  Reply query_srq(Process& caller, const Request& request);
  Reply create_qp(Process& process, const Request& request);
  Reply create_ah(Process& process, const Request& request);
  Reply modify_qp(Process& caller, const Request& request, Time_ps now_ps);
  Reply query_qp(Process& caller, const Request& request);
  Reply arm_cq(Process& process, const Request& request, Time_ps now_ps);
  Reply destroy(Process& caller, const Request& request);
  // Requests of verbs/extended_protocol.h. Nothing: not yet, it is to be asked again after kCommandTime_ps.
  static bool is_extended(verbs::Op op) { return op >= verbs::Op::kReregMr && op <= verbs::Op::kModerateCq; }
  std::optional<Reply> answer_extended(Process& process, const Request& request, Time_ps now_ps);
  static bool is_multicast(verbs::Op op);
  Reply multicast(Process& process, const Request& request);
  // A process is gone: so is everything that was its own.
  void forget(Process& process);

  verbs::DeviceInfo describe(std::uint32_t device) const;
  lab::PortRef port_ref(std::uint32_t device) const;
  // Where in the world an address is.
  std::optional<std::uint32_t> port_of_gid(const std::uint8_t* gid) const;

 private:
  // objects.cc: who has that object of those that share the caller's file of the device: itself, a parent, a child. The
  // caller, if nobody has it.
  Process& holder_of(Process& caller, verbs::Kind kind, std::uint32_t handle) const;
  Reply dealloc_pd(Process& caller, std::uint32_t handle) const;
  // memory.cc
  Reply add_range(Process& process, std::unique_ptr<MemoryRange> mr);
  Reply rereg_mr(Process& process, const Request& request);
  Reply advise_mr(Process& process, const Request& request);
  Reply alloc_null_mr(Process& process, const Request& request);
  Reply alloc_mw(Process& process, const Request& request);
  void destroy_mw(const MemoryWindow& mw);
  Reply alloc_dm(Process& process, const Request& request);
  Reply copy_dm(Process& process, const Request& request);
  Reply reg_dm_mr(Process& process, const Request& request);
  // extended.cc
  std::optional<Reply> resize_cq(Process& process, const Request& request, Time_ps now_ps);
  Reply open_xrcd(Process& process, const Request& request);
  Reply create_xrc_srq(Process& process, const Request& request);
  Reply create_xrc_target(Process& process, const Request& request);
  Reply close_xrcd(Process& process, std::uint32_t handle);
  Reply import_object(Process& process, const Request& request);
  static Reply moderate_cq(Process& process, const Request& request);

  // `srq` is null when the reply says why there is none.
  Reply make_srq(Process& process, const verbs::CreateSrq& ask, VerbsSrq*& srq);
  bool destroy_srq(Process& process, VerbsSrq& srq);  // false: in use
  // In memory that the program maps. False: it has too many.
  bool make_queue(Process& process, PostQueue& queue, const verbs::QueueInfo& info, std::byte* memory);
  void destroy_qp(Process& process, VerbsQp& qp);
  void destroy_queue(Process& process, PostQueue& queue);
  // Unfinished work of the queue pair is dropped without a completion.
  void forget_work(VerbsQp& qp);
  void destroy_cq(Process& process, CompletionRing& cq);
  int source_error(std::uint32_t device, const verbs::AhAttr& attr) const;
  nic::Device* device(std::uint32_t index) const;

  lab::World& world_;
  const AddressIndex& addresses_;
  Node& node_;
  std::uint32_t host_;
  std::uint32_t next_xrc_domain_ = 1;
};

// The program has the memory then; the world needs no descriptor for each of its queues.
void give(Reply& reply, SharedMemory& memory);

}  // namespace weft::live

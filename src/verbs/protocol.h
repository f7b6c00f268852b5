// Protocol between a program's libraries and the world: one SOCK_SEQPACKET connection per thread, a request and
// its reply at a time, and queues in shared memory that the world makes and the program maps. A thread that waits for a
// reply is parked; the world answers when virtual time has come to the moment that ends the wait. Every number that
// comes from a program is hostile: the world copies first, then checks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "verbs/op.h"
#include "verbs/turn_slot.h"

namespace weft::verbs {

inline constexpr std::uint32_t kProtocol = 1;
inline constexpr std::size_t kMaxMessage_B = 128 << 10;
inline constexpr std::size_t kMaxStreamChunk_B = 64 << 10;  // bytes of one kStreamSend or kStreamReceive
inline constexpr std::uint32_t kNoHandle = 0xffffffff;

// Where a program finds its world: set by `weft exec`.
inline constexpr const char* kSocketVariable = "WEFT_SOCKET";  // path of the Unix socket
inline constexpr const char* kSysfsVariable = "WEFT_SYSFS";    // what stands for /sys/class and /dev/infiniband
inline constexpr const char* kNodeVariable = "WEFT_NODE";      // the host of the lab that it runs on
inline constexpr const char* kClockVariable = "WEFT_CLOCK";    // "wall": clocks are the real ones
inline constexpr const char* kNetworkVariable = "WEFT_NET";    // "fabric" or "management"; empty: the lab's
inline constexpr const char* kSeedVariable = "WEFT_SEED";      // of what it draws; empty: its own

struct RequestHead {
  Op op;
  std::uint32_t size_B;   // of what follows
  std::int64_t local_ps;  // the thread's clock when it asked
};
struct ReplyHead {
  std::int32_t error;  // errno, 0 when well; then nothing follows
  std::uint32_t size_B;
  std::int64_t now_ps;  // the thread's clock from here on
};

enum class Clock : std::uint32_t { kVirtual, kWall };

struct Hello {
  std::uint32_t protocol;
  std::int32_t pid, tid;
  char node[64];
};
// Costs of calls for the thread, by the host's model; the library adds them to its clock.
struct Costs {
  std::int64_t post_send_ps, doorbell_ps, post_receive_ps, poll_hit_ps, clock_read_ps;
  std::int64_t after_post_ps;  // the rest of a call that posts, after its doorbell
};
struct Welcome {
  Clock clock;
  std::uint32_t thread;  // number of the thread in its process
  Costs costs;
  // Virtual: CLOCK_REALTIME at time 0; monotonic clocks show 1000 s then. Wall: CLOCK_MONOTONIC when the world came up.
  std::int64_t epoch_ns;
  std::uint64_t number;  // of the thread in its world: the same in every run
};

// A thread that another one needs to go on: its polls return at once, and its clock stands still. When that is over, in
// real time, it may park again; its clock stands until it does, or the machine would have a say in how far it gets.
enum Freed : std::uint32_t { kNotFreed, kMayNotPark, kMayPark };
inline constexpr int kStandingReads = 64;  // of the clock, after which it goes on all the same

// Shared with one thread. In virtual time its clock is here: the thread adds what its calls cost, and the world moves
// it on while the thread spins on memory.
struct ThreadPage {
  std::atomic<std::int64_t> local_ps;
  std::atomic<std::uint32_t> freed;       // Freed
  std::atomic<std::uint32_t> clock_seen;  // not 0: the thread has looked at a clock since the world wrote 0 here
  // Virtual time: for turns that need no system call. The thread looks for a reply so many times.
  std::atomic<std::uint32_t> looks;
  TurnSlot<RequestHead> request;
  TurnSlot<ReplyHead> reply;
};
// Shared with one process: a bit for every queue that something was posted to since the world looked last.
inline constexpr std::size_t kDoorbellWords = 1024;
struct ProcessPage {
  std::atomic<std::uint64_t> doorbells[kDoorbellWords];
  std::atomic<std::uint32_t> sleeping;  // wall clock: who posts now writes a byte into the doorbell
};

struct WorldStatus {
  std::int64_t now_ps;
  std::uint32_t processes;
  std::uint32_t deterministic;  // 1; 0: a program was taken for spinning, and was not; 2: threads came in by real time
  Clock clock;
  std::uint32_t outside;   // rows of OutsideStatus, behind those of processes
  std::int64_t behind_ps;  // wall clock: what simulated time has lost against the real one
};
struct ProcessStatus {
  std::int32_t pid;
  std::uint32_t threads, qps;
  char node[64];
  char name[64];
};

// Counts of a port to the outside (world/outside_port.h).
struct OutsideStatus {
  char node[64];
  std::uint64_t in, out, answered, bad_icrc, malformed, not_for_lab, other, overrun;
};

struct Sleep {
  std::int64_t until_ps;
};
struct SetTimer {
  std::int64_t after_ps, interval_ps;  // 0: off, once
};
struct TimerLeft {
  std::int64_t left_ps;
};
struct LookUp {
  char name[256];
};
struct Address {
  std::uint8_t bytes[16];  // IPv6, or IPv4-mapped
};

// --- Verbs. Numbers that verbs.h defines (opcodes, states, masks, access flags) are its own.

struct Gid {
  std::uint8_t raw[16];
  std::uint32_t type;  // ibv_gid_type: 1 RoCE v1, 2 RoCE v2
};
inline constexpr std::size_t kMaxGids = 8;
struct DeviceInfo {
  char name[32];      // mlx5_0
  char firmware[64];  // 14.32.1010
  char netdev[16];    // of its port
  char pci_address[16];
  std::uint64_t node_guid, system_guid;  // host order
  std::uint32_t vendor_id, vendor_part_id, hw_ver;
  std::uint32_t max_qp, max_qp_wr, max_sge, max_cq, max_cqe, max_mr, max_pd, max_srq, max_srq_wr, max_ah;
  std::uint32_t max_rd_atomic, max_inline_B, max_mcast_grp;
  std::uint64_t max_mr_size;
  std::uint32_t active_mtu, max_mtu;  // ibv_mtu
  std::uint32_t port_state;           // ibv_port_state
  std::uint32_t phys_state;           // 5 link up, 3 disabled
  std::uint32_t active_speed, active_width;
  std::uint32_t max_msg_B;
  std::uint32_t gid_count;
  Gid gids[kMaxGids];
  std::uint32_t numa_node;
  std::uint32_t pcie_generation, pcie_lanes;
  std::uint64_t max_dm_B;  // device memory that programs can have
};

struct OnDevice {
  std::uint32_t device;  // index in the list
};
struct Handle {
  std::uint32_t handle;
};
enum class Kind : std::uint32_t { kPd, kMr, kChannel, kCq, kSrq, kQp, kAh, kMw, kDm, kXrcd };
inline constexpr std::size_t kMaxPolledCqs = 16384;  // of one kPoll
struct Destroy {
  Kind kind;
  std::uint32_t handle;
};
// How many events of the object the program has fetched: it must acknowledge as many before the object goes.
struct Destroyed {
  std::uint32_t completion_events, async_events;
};
struct RegMr {
  std::uint32_t pd, access;
  std::uint64_t address, length_B, iova;
};
struct Unmapping {
  std::uint64_t address, length_B;
};
struct MrKeys {
  std::uint32_t handle, lkey, rkey;
};

// A ring: RingHead, then `entries` (a power of two) times `stride_B`. Numbers count up and wrap at 2^32.
struct RingHead {
  alignas(64) std::atomic<std::uint32_t> produced;
  alignas(64) std::atomic<std::uint32_t> consumed;
};
static_assert(sizeof(RingHead) == 128);
struct QueueInfo {
  std::uint32_t handle;
  std::uint32_t doorbell;  // its bit in the ProcessPage
  std::uint32_t entries, stride_B;
  std::uint32_t offset_B;  // of the RingHead in the mapping
  std::uint32_t mapping_B;
};
struct CreateCq {
  std::uint32_t device, entries, channel;  // kNoHandle: none
  std::uint64_t cookie;                    // comes back with its events
};
struct CqInfo {
  QueueInfo ring;  // the world produces
};
struct CreateSrq {
  std::uint32_t pd, max_wr, max_sge, limit;
  std::uint64_t cookie;
};
struct CreateQp {
  std::uint32_t pd, type, send_cq, receive_cq, srq;  // ibv_qp_type; srq may be kNoHandle
  std::uint32_t max_send_wr, max_receive_wr, max_send_sge, max_receive_sge, max_inline_B;
  std::uint32_t signal_all;
  std::uint64_t cookie;
};
struct QpInfo {
  std::uint32_t qpn;
  QueueInfo send, receive;  // in one mapping; receive.entries is 0 with an SRQ
};

struct AhAttr {
  std::uint8_t dgid[16];
  std::uint32_t sgid_index, traffic_class, hop_limit, flow_label, sl;
};
struct CreateAh {
  std::uint32_t pd;
  AhAttr attr;
};
// ibv_qp_attr, as far as it means something here; `mask` is ibv_qp_attr_mask.
struct QpAttr {
  std::uint32_t state, path_mtu, qkey, rq_psn, sq_psn, dest_qpn, access, pkey_index, port;
  std::uint32_t max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, timeout, retry_cnt, rnr_retry;
  std::uint32_t sqd_event, sq_draining;
  AhAttr ah;
};
struct ModifyQp {
  std::uint32_t qp, mask;
  QpAttr attr;
};
struct ModifySrq {
  std::uint32_t srq, limit;
};
struct SrqLimit {
  std::uint32_t limit;  // 0: not armed, or its event has come
};
struct ArmCq {
  std::uint32_t cq, solicited_only;
};
struct GetEvent {
  std::uint32_t channel;  // or the device, for asynchronous events
  std::uint32_t wait;     // 0: EAGAIN when there is none
};
struct CqEvent {
  std::uint64_t cookie;
};
struct AsyncEvent {
  std::uint32_t type;  // ibv_event_type
  std::uint64_t cookie;
};
struct Multicast {
  std::uint32_t qp;
  std::uint8_t gid[16];
};

// Entries of the rings are in verbs/ring_entries.h.

// --- The management network.

struct StreamAddress {
  std::uint32_t stream;
  std::uint32_t wait;  // of connect
  Address address;     // all zero: any
  std::uint32_t port;  // host order
};
struct StreamListen {
  std::uint32_t stream, backlog;
};
struct StreamWait {
  std::uint32_t stream, wait;  // 0: EAGAIN when nothing is there
};
struct StreamAccepted {
  std::uint32_t stream;
  Address address;
  std::uint32_t port;
};
struct StreamBytes {
  std::uint32_t stream, size_B;
};
struct Count {
  std::uint32_t count;
};
struct StreamReceive {
  std::uint32_t stream, wait, size_B, peek;
};
struct Shutdown {
  std::uint32_t stream, how;  // SHUT_RD, SHUT_WR, SHUT_RDWR
};
struct Wait {
  std::int64_t until_ps;  // virtual; a large number: without end
  std::uint32_t items;
  std::uint32_t anything;  // not 0: it ends, with nothing ready, when anything happens to the process
};
inline constexpr std::size_t kMaxWaitItems = 7000;  // of one kWait
inline constexpr std::size_t kMaxRealItems = 240;   // the kernel passes 253 descriptors at a time
struct WaitItem {
  // kReal: a descriptor of the kernel's that came with the request, in their order; the wait ends when it is ready, but
  // it is the thread that asks what it has.
  enum What : std::uint32_t { kStream, kChannel, kAsync, kTimer, kSignals, kReal = 16, kCm, kIcmp = 64 };
  std::uint32_t what, handle;
  std::uint32_t wanted, ready;  // POLLIN, POLLOUT, POLLERR, POLLHUP
};

}  // namespace weft::verbs

#include "verbs/ring_entries.h"

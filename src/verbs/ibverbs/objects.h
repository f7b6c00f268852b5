// The objects behind the pointers of <infiniband/verbs.h>: each begins with the public struct, which programs read, and
// goes on with what this library keeps. Handles and queues belong to the world (verbs/protocol.h); every file of this
// folder includes this header, programs never do. Objects live in memory of malloc, so that no C++ runtime is needed.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "verbs/extended_protocol.h"
#include "verbs/object.h"
#include "verbs/world_call.h"

// The library hides what it does not name: the calls of verbs.h are what it shows.
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

// For calls that programs use but verbs.h does not declare.
#define WEFT_VERB extern "C" __attribute__((visibility("default")))

namespace weft::verbs {

// Ports count from 1, and a device has one.
inline constexpr std::uint8_t kPort = 1;
inline constexpr int kGidTable = 255;  // as mlx5: the entries behind those of DeviceInfo are empty
inline constexpr int kCompletionVectors = 8;

// The thread is connected by the time that it holds the lock (weft_connect).
class SpinGuard {
 public:
  explicit SpinGuard(pthread_spinlock_t& lock) : lock_(lock) {
    weft_connect();
    pthread_spin_lock(&lock_);
  }
  ~SpinGuard() { pthread_spin_unlock(&lock_); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  pthread_spinlock_t& lock_;
};

// Memory that the world shares for the queues of one object.
struct Mapping {
  void* memory = nullptr;
  std::size_t size_B = 0;
};
// One ring in it. Entry `number` lies at number modulo entries.
struct Ring {
  RingHead* head = nullptr;
  std::uint8_t* first = nullptr;
  std::uint32_t entries = 0, stride_B = 0, doorbell = 0;
  template <typename Entry>
  Entry* at(std::uint32_t number) const {
    return reinterpret_cast<Entry*>(first + std::size_t{number & (entries - 1)} * stride_B);
  }
};
// Maps `fd`, which it closes. EPROTO when `ring` does not fit into its mapping or its entries cannot hold `entry_B`.
int map_queue(int fd, const QueueInfo& info, Mapping& mapping);
int find_ring(const Mapping& mapping, const QueueInfo& info, std::size_t entry_B, Ring& ring);
void unmap_queue(Mapping& mapping);

struct Device : ibv_device {
  char room[512];  // drivers' libraries look at fields of rdma-core's own device behind the public ones: all zero
  std::uint32_t index;
  DeviceInfo info;
};
// The device as it is now. ENODEV when the world has no such device any more.
int read_device(const Device& device, DeviceInfo& info);
// The device as it was last seen: for what does not change.
DeviceInfo device_info(const ibv_context& context);

struct Qp;

// Queue pairs by number. Numbers have 24 bits; a page holds those that agree in the upper 12.
inline constexpr std::size_t kQpPages = 4096, kQpsOfPage = 4096;
struct QpPage {
  std::atomic<Qp*> qps[kQpsOfPage];
};

struct Context : verbs_context {
  std::atomic<QpPage*> qp_pages[kQpPages];
  std::uint64_t secret;  // of the process whose objects it may import
};
inline Context& context_of(ibv_context* context) {
  return *static_cast<Context*>(verbs_get_ctx(context));
}
inline std::uint32_t device_index(const ibv_context* context) {
  return static_cast<const Device*>(context->device)->index;
}
inline Qp* find_qp(Context& context, std::uint32_t qpn) {
  const QpPage* page = context.qp_pages[qpn >> 12 & 0xfff].load(std::memory_order_acquire);
  return page == nullptr ? nullptr : page->qps[qpn & 0xfff].load(std::memory_order_acquire);
}

// A protection domain, or a parent domain, which is another name for one, with the program's own memory for objects.
struct Pd : ibv_pd {
  Pd* parent_of;       // null: a domain of the world
  ibv_td* td;          // of a parent domain, or null
  std::uint32_t uses;  // parent domains, under the mutex of the context
  void* (*allocate)(ibv_pd*, void*, std::size_t, std::size_t, std::uint64_t);
  void (*release)(ibv_pd*, void*, void*, std::uint64_t);
  void* allocator_context;
};
// Resources that an allocator is asked for, as mlx5 names them.
enum class ResourceType : std::uint64_t { kQp = 1ULL << 32 | 1, kSrq = 1ULL << 32 | 4, kCq = 1ULL << 32 | 5 };
// Memory for an object of this domain, all zero: the program's allocator is asked first. Null, with errno: none.
enum class Origin : std::uint8_t { kLibrary, kProgram, kHugePage };
void* allocate_object(ibv_pd* pd, std::size_t size_B, ResourceType type, Origin& origin);
void release_object(ibv_pd* pd, void* object, ResourceType type, Origin origin);
template <typename Object>
Object* make_in(ibv_pd* pd, ResourceType type) {
  Origin origin;
  void* memory = allocate_object(pd, sizeof(Object), type, origin);
  if (memory == nullptr) return nullptr;
  auto* object = new (memory) Object{};
  object->origin = origin;
  return object;
}

struct Mr : ibv_mr {
  bool is_counted;  // it is memory of the process that stays pinned
};
struct Xrcd : ibv_xrcd {
  std::uint32_t handle;
};

struct Channel : ibv_comp_channel {
  std::uint32_t handle;
};

struct Cq : ibv_cq {
  // The rest of ibv_cq_ex, which begins with an ibv_cq: a completion queue has both faces at one address.
  alignas(8) std::uint8_t rest_of_ex[sizeof(ibv_cq_ex) - sizeof(ibv_cq)];
  CqEntry current;  // between ibv_start_poll and ibv_end_poll, with the lock held
  ibv_pd* domain;   // whose memory it lies in; null: the library's
  Origin origin;
  pthread_spinlock_t lock;  // of the consumer's side
  Mapping mapping;
  Ring ring;
};

static_assert(sizeof(ibv_cq) == offsetof(ibv_cq_ex, comp_mask));
inline ibv_cq_ex* face_of(Cq* cq) {
  return reinterpret_cast<ibv_cq_ex*>(static_cast<ibv_cq*>(cq));
}
inline Cq& cq_of(ibv_cq_ex* face) {
  return *static_cast<Cq*>(ibv_cq_ex_to_cq(face));
}
// Takes the next entry into `current`; the lock is held. False: there is none.
bool advance(Cq& cq);
// As ibv_poll_cq does: whether a queue that was found empty is worth another look now.
bool wait_for_entries(Cq& cq);

struct Srq : ibv_srq {
  Origin origin;
  std::uint32_t number;  // of XRC
  pthread_spinlock_t lock;
  Mapping mapping;
  Ring ring;
  std::uint32_t max_sge;
};

struct Qp : ibv_qp {
  // The rest of ibv_qp_ex, which begins with an ibv_qp: a queue pair has both faces at one address.
  alignas(8) std::uint8_t rest_of_ex[sizeof(ibv_qp_ex) - sizeof(ibv_qp)];
  bool has_ex;
  Origin origin;
  pthread_spinlock_t send_lock, receive_lock;
  Mapping mapping;
  Ring send, receive;
  // Entries up to here may be written again. As on mlx5, an entry is free when a completion at or behind it was polled.
  std::atomic<std::uint32_t> send_freed, receive_freed;
  ibv_qp_cap cap;
  bool signal_all;
  // Between ibv_wr_start and ibv_wr_complete, with send_lock held: the requests so far.
  std::uint32_t wr_first, wr_next;
  SendEntry* wr_entry;  // the last of them, null when it was refused
  int wr_error;
};
static_assert(sizeof(ibv_qp) == offsetof(ibv_qp_ex, comp_mask));
inline ibv_qp_ex* face_of(Qp* qp) {
  return reinterpret_cast<ibv_qp_ex*>(static_cast<ibv_qp*>(qp));
}
inline Qp& qp_of(ibv_qp_ex* face) {
  return *static_cast<Qp*>(&face->qp_base);
}

// The calls that programs reach through ibv_context.ops and verbs_context.
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int post_receive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_srq_receive(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int poll_cq(ibv_cq* cq, int room, ibv_wc* wc);
int request_notification(ibv_cq* cq, int solicited_only);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init);
// `domain`: the parent domain whose memory it lies in, or null.
Cq* create_cq(ibv_context* context, const ibv_cq_init_attr_ex& init, ibv_pd* domain);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init);
int dealloc_td(ibv_td* td);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init);
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list, std::uint32_t count);
ibv_mr* alloc_null_mr(ibv_pd* pd);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* mw);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr);
int free_dm(ibv_dm* dm);
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset_B, std::size_t length_B, unsigned int access);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* init);
int close_xrcd(ibv_xrcd* xrcd);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* init);
int get_srq_number(ibv_srq* srq, std::uint32_t* number);
int query_rt_values(ibv_context* context, ibv_values_ex* values);
// Makes a region of keys that the world gave.
ibv_mr* make_mr(ibv_pd* pd, void* address, std::size_t length_B, const MrKeys& keys, bool is_counted);
ibv_dm* make_dm(ibv_context* context, std::uint32_t handle);
// Opens a device whose command descriptor there is already, or with one of its own: -1.
ibv_context* open_context(ibv_device* device, int command_fd, std::uint64_t secret);
ibv_device* device_at(std::uint32_t index);  // null: there is none
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    std::size_t attr_B);
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t attr_B);

// Sets the calls of ibv_wr_*. EOPNOTSUPP when the queue pair cannot do all of `operations`.
int set_wr_calls(Qp& qp, std::uint64_t operations);

// Which operations a transport has, of those that the world knows; and in which states.
bool is_possible(ibv_qp_type type, ibv_wr_opcode opcode);
bool may_send(ibv_qp_state state);
// A bind of a window, in an entry that is zero but for its head. EINVAL: not such a window, or not such rights.
int write_bind(SendEntry& entry, const ibv_mw& mw, std::uint32_t rkey, const ibv_mw_bind_info& info);
void write_sges(const ibv_sge* list, std::uint32_t count, SendEntry& entry);
// Shows the world the sends from `first` up to `end`, all with the time at which the doorbell rings.
void publish_sends(const Ring& ring, std::uint32_t first, std::uint32_t end);

// The thread did something that may bring it completions: a queue that it found empty is worth another look.
void something_happened();

// Drops the completions of a queue pair that is gone or was reset.
void forget_completions(const Qp& qp);

// Says on stderr why an address that leaves from a RoCE v1 entry of the GID table was refused, if that is why.
void warn_of_roce_v1(ibv_context* context, const ibv_ah_attr& attr);
// RoCE has no paths without GIDs: EINVAL for an address without.
int to_world(const ibv_ah_attr& attr, AhAttr& out);
void from_world(const AhAttr& attr, ibv_ah_attr& out);

// Whether a wait blocks is the program's choice, by O_NONBLOCK of the descriptor. It starts without.
void make_blocking(int fd);
bool is_blocking(int fd);
// Ends an object of the world. `events` gets how many of its events the program has fetched, as rdma-core's kernel
// calls say it: a thread that has just fetched one need not have got any further.
int destroy(Kind kind, std::uint32_t handle, Destroyed* events = nullptr);
// Events that a program got of an object must be acknowledged before the object can go.
void wait_for_acknowledgements(pthread_mutex_t& mutex, pthread_cond_t& condition, const std::uint32_t& completed,
                               std::uint32_t fetched);

// For calls that return a pointer.
inline std::nullptr_t fail(int error) {
  errno = error;
  return nullptr;
}

}  // namespace weft::verbs

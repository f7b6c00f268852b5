// A program that runs on a node of the world: its threads, its verbs objects and its memory. The world trusts nothing
// of it: handles are looked up, ring entries are copied before they are checked, and memory is reached only through
// registered ranges.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "host/cpu_cores.h"
#include "live/os/pending_writes.h"
#include "live/os/post_queue.h"
#include "live/os/shared_memory.h"
#include "live/protocol/connection.h"
#include "nic/device.h"
#include "verbs/protocol.h"

namespace weft::live {

class Node;
struct CmChannel;
struct CmId;
struct Process;
struct Stream;
struct Timer;

// Where the program is, as far as the world can know.
enum class ThreadState : std::uint8_t {
  kRunning,   // it has its reply and has not asked again
  kParked,    // it waits for a reply
  kSpinning,  // it burns CPU without a call: it waits for a byte of its memory to change
  kOutside,   // it sleeps in the kernel for something that is not of this world: a pipe, another thread
};

// A program whose polls find nothing may wait for something else than an entry: for a moment of the clock, if it has
// looked at one, or for another of its threads. Its poll returns empty after a while, and later each time.
inline constexpr Time_ps kFirstPatience_ps = us(100);
inline constexpr Time_ps kLastPatience_ps = ms(10);

inline constexpr int kSpuriousWakeups = 3;  // after which a thread is taken to need what another one holds

struct Thread {
  Connection connection;
  std::shared_ptr<Process> process;
  SharedMemory page;
  int tid = 0;
  std::uint64_t rank = 0;  // of all threads of the world, in the order in which they came
  ThreadState state = ThreadState::kParked;
  verbs::TurnPatience patience;             // with its next request
  bool posted = false;                      // since its last spin, with nothing but polls after it
  Time_ps patience_ps = kFirstPatience_ps;  // of a poll that finds nothing
  Time_ps poll_until_ps = kNever_ps;
  bool polls = false;        // it waits for an entry of a completion queue
  bool look = false;         // the wait that there is ends now, so that the thread looks around
  bool looks = false;        // it runs for no other reason
  bool notified = false;     // its last wait ended because something was ready
  int spurious_wakeups = 0;  // how often it has then waited again at once
  int idle_calls = 0;        // in turn, that told it nothing (idle_calls.cc)
  int busy_calls = 0;        // from then on, that were answered at once
  Time_ps busy_since_ps = 0;
  Time_ps idle_time_ps = 0;          // that the last of them took when there were too many
  bool delayed = false;              // it waits for that alone
  std::shared_ptr<const Lent> lent;  // descriptors of the kernel's that it waits for, too
  std::vector<short> lent_events;
  bool has_spun = false;               // its spins have been ended by deliveries so far
  bool let_go = false;                 // by a delivery, and has done nothing yet
  int vain_deliveries = 0;             // that it went on to spin after; fewer again for each that it acted upon
  Time_ps left_at_ps = 0;              // how far the world was when it stopped to wait for this thread
  Time_ps local_ps = 0;                // when it was resumed or last asked
  std::uint64_t retried_park = ~0ULL;  // the wait for which the node will ask again at this instant
  std::uint64_t park = 0;              // counts its waits, so that what would end an old one does not end a new one
  std::function<bool(Time_ps)> retry;  // of a wait: answers if it can now
  bool called = false;                 // it has asked for something besides coming in
  std::chrono::steady_clock::time_point turn_began = std::chrono::steady_clock::now();
  bool cancelled = false;                             // its request ends now, or as soon as it would have to wait
  bool owes_ack = false;                              // kCancelDone goes after the next reply
  bool interrupted = false;                           // its next wait ends at once (kInterrupt)
  Time_ps wakes_ps = kNever_ps;                       // when a timer that it waits for is looked at again
  std::uint64_t awaited_signals = 0;                  // of its wait, by bit
  std::chrono::steady_clock::time_point looked = {};  // real time of its last turn without news
  std::chrono::milliseconds look_pause{};             // before the next
  int looks_at_rest = 0;                              // since the last entry, event or byte that came for it
  std::uint32_t cpu = host::kNoCpu;                   // of its node: where its copies of bytes of sockets run
  Time_ps cpu_debt_ps = 0;                            // work of the kernel that its next call pays for
  Time_ps cpu_end_ps = 0;                             // of the last copy there
  bool slept = true;                                  // since then: it gave its CPU away

  explicit Thread(int fd) : connection(fd) {}
  verbs::ThreadPage& clock() const { return *reinterpret_cast<verbs::ThreadPage*>(page.data()); }
};

// Memory of the device that a program has allocated.
using DeviceMemory = std::shared_ptr<std::vector<std::uint8_t>>;
struct DeviceMemoryPart {
  std::uint32_t device = 0;
  DeviceMemory bytes;
};
struct MemoryWindow {
  std::uint32_t device = 0, pd = 0;
  std::uint32_t key = 0;  // its first one
};
struct XrcDomain {
  std::uint32_t device = 0;
  std::uint32_t number = 0;                        // of the node; that of processes that share a file is the same
  std::pair<std::uint64_t, std::uint64_t> file{};  // device and inode; 0: none
};

// Memory that a program has registered. Addresses are the program's.
struct MemoryRange {
  Process* process = nullptr;
  std::uint32_t pd = 0, device = 0, key = 0, access = 0;
  std::uint64_t address = 0, iova = 0, length_B = 0;
  nic::RegionAccess reach{};  // what the NIC calls

  // Pages that the program has unmapped since, in the order of their addresses: pinned, so that the NIC goes on with
  // them.
  struct KeptPages {
    std::uint64_t address = 0;
    std::size_t size_B = 0;
    std::shared_ptr<std::vector<std::uint8_t>> block;  // shared with other regions over the same pages
    std::size_t offset_B = 0;                          // in it
    std::uint8_t* bytes() const { return block->data() + offset_B; }
  };
  std::vector<KeptPages> kept{};
  DeviceMemory inside{};   // not null: the addresses are offsets in it
  bool is_null = false;    // reads as zeros and keeps nothing
  bool on_demand = false;  // nothing is pinned: pages may come and go

  bool is_pinned() const { return !on_demand && !inside && !is_null; }
  // Its bytes lie in the process's memory, at their addresses.
  bool is_plain() const { return kept.empty() && !inside && !is_null; }
  bool read(std::uint64_t at, std::span<std::uint8_t> out);
  // A CPU sees it from `visible_ps` on. False: there is no memory to write to.
  bool write(std::uint64_t at, std::span<const std::uint8_t> in, Time_ps visible_ps);
  // The same with bytes that are in a slot already, which goes back to its pool in the end.
  bool give(std::uint64_t at, std::uint32_t size_B, nic::PayloadPool& pool, std::uint32_t slot, Time_ps visible_ps);
  // Does what a page fault of the device would do. False: there is no such page.
  bool page_in(std::uint64_t at, std::size_t size_B) const;
  // The program is about to unmap these pages: the copy of them stays the NIC's, as far as it is of this range.
  void keep(const KeptPages& block);

 private:
  template <typename Mapped, typename Kept>
  bool each_stretch(std::uint64_t from, std::size_t size_B, Mapped mapped, Kept in_kept);
};

// An eventfd that a program shares, one up or down. A program that misuses it cannot stop the world.
void raise_event(int fd);
void lower_event(int fd);

// Events of completion queues that the program has not fetched; the descriptor is readable while there are some.
struct EventChannel {
  int eventfd = -1;
  std::deque<std::uint32_t> cqs;        // handles, in the order of the events
  std::vector<std::uint32_t> unpolled;  // queues that were armed with entries in them
  ~EventChannel();
  // The completion queue is no more.
  void forget(std::uint32_t cq);
};
struct CompletionRing {
  Process* process = nullptr;
  std::uint32_t handle = 0, device = 0, nic_cq = 0, channel = verbs::kNoHandle;
  std::uint32_t id = 0;  // in the node's table
  std::uint64_t cookie = 0;
  verbs::Destroyed fetched{};  // events that the program has, or had
  SharedMemory memory;
  Ring ring;
  enum class Armed : std::uint8_t { kNo, kSolicited, kAny } armed = Armed::kNo;
  Time_ps resized_at_ps = kNever_ps;  // when the command that changes its size is done
  // Events are held back until there are so many entries, or until so long after the first.
  std::uint32_t event_count = 0;
  Time_ps event_period_ps = 0;
  std::uint32_t held = 0;    // entries since the last event
  std::uint64_t arm = 0;     // counts requests for an event, so that what would end an old wait does not end a new one
  std::uint64_t poller = 0;  // rank of the thread that found it empty last; 0: nobody, or one that comes to it no more
  int looks = 0;             // that this thread was given since the last entry
  std::uint32_t solicited_end = 0;  // behind the last entry that ends a wait for solicited ones
  bool listed = false;              // among those that have something (Process::filled)
  std::uint32_t unpolled() const { return ring.taken - ring.head().consumed.load(std::memory_order_acquire); }
};
struct VerbsSrq {
  Process* process = nullptr;
  std::uint32_t handle = 0, device = 0, pd = 0, nic_srq = 0;
  std::uint32_t xrcd = verbs::kNoHandle, cq = verbs::kNoHandle;  // of XRC
  std::uint32_t ended = 0;                                       // receives, since it was made
  std::uint64_t cookie = 0;
  verbs::Destroyed fetched{};
  SharedMemory memory;
  PostQueue receive;
};
struct VerbsQp {
  Process* process = nullptr;
  std::uint32_t handle = 0, device = 0, pd = 0, qpn = 0, type = 0;
  std::uint32_t send_cq = 0, receive_cq = 0, srq = verbs::kNoHandle;
  std::uint32_t xrcd = verbs::kNoHandle;  // of a target of XRC
  bool signal_all = false;
  bool has_send = true, has_receive = true;  // queues of its own
  std::uint64_t cookie = 0;
  verbs::Destroyed fetched{};
  SharedMemory memory;
  PostQueue send, receive;
  verbs::QpAttr attr{};
};
struct AddressHandle {
  std::uint32_t device = 0, remote_port = 0;
  verbs::AhAttr attr{};
  std::uint8_t tos = 0, priority = nic::kPortPriority;  // what the NIC makes of `attr`
};
// Closes what it holds.
struct OwnedDescriptor {
  int fd = -1;
  OwnedDescriptor() = default;
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~OwnedDescriptor() { reset(); }
  void reset();
};
// Asynchronous events of one device that the program has not fetched; the descriptor is readable while there are some.
struct AsyncChannel {
  struct Event {
    std::uint32_t type;  // ibv_event_type
    verbs::Kind kind;    // of the object that it is about
    std::uint32_t handle;
  };
  OwnedDescriptor eventfd;
  std::deque<Event> events;

  void push(const Event& event);
  Event pop();
  // The object that events are about is no more.
  void forget(verbs::Kind kind, std::uint32_t handle);
};

struct Process : std::enable_shared_from_this<Process> {
  Node* node = nullptr;
  int pid = 0;
  int group = 0;  // of processes
  int parent_pid = 0;
  std::size_t relatives = 0;  // its parent and children that have been in the world, on this node
  std::string name;           // of the executable
  std::chrono::steady_clock::time_point came = std::chrono::steady_clock::now();
  SharedMemory page;
  std::vector<std::shared_ptr<Thread>> threads;
  // Last handle of the device file that it has opened. Its children have it, too: no two of them give the same number.
  std::shared_ptr<std::uint32_t> last_handle = std::make_shared<std::uint32_t>(0);
  std::map<std::uint32_t, std::uint32_t> pds;  // handle -> device
  std::map<std::uint32_t, std::unique_ptr<MemoryRange>> mrs;
  std::map<std::uint32_t, std::unique_ptr<EventChannel>> channels;
  std::map<std::uint32_t, std::unique_ptr<AsyncChannel>> async;  // by device
  std::map<std::uint32_t, std::unique_ptr<CompletionRing>> cqs;
  std::vector<std::uint32_t> filled;  // completion queues with entries that may not have been taken yet
  std::map<std::uint32_t, std::unique_ptr<VerbsQp>> qps;
  std::map<std::uint32_t, std::unique_ptr<VerbsSrq>> srqs;
  std::map<std::pair<std::uint32_t, std::uint32_t>, VerbsQp*> qp_by_number;  // device and number
  std::map<std::uint32_t, AddressHandle> ahs;
  std::map<std::uint32_t, MemoryWindow> mws;
  std::map<std::uint32_t, DeviceMemoryPart> dms;
  std::map<std::uint32_t, XrcDomain> xrcds;
  std::uint64_t secret = 0;  // of those who may import its objects; 0: nobody was given it
  std::map<std::uint32_t, std::shared_ptr<Stream>> streams;
  Time_ps cpu_used_ps = 0;  // in the simulated kernel
  std::map<std::uint32_t, std::shared_ptr<CmChannel>> cm_channels;
  std::map<std::uint32_t, std::shared_ptr<CmId>> cm_ids;
  std::map<std::uint32_t, std::uint64_t> signal_sets;  // by bit, as the kernel has them
  std::map<std::uint32_t, std::shared_ptr<Timer>> timers;
  std::vector<PostQueue*> doorbells;          // by bit; null: free
  std::vector<std::uint32_t> free_doorbells;  // bits
  PendingWrites writes;
  std::uint64_t ranges_ended = 0;  // counts deregistrations: what was read ahead before is not used after
  Time_ps timer_ps = kNever_ps, timer_interval_ps = 0;
  std::uint64_t timer = 0;  // counts settings
  bool settles = false;     // an event of its node will settle what becomes visible next
  bool gone = false;
  bool executes = false;    // another program, next
  bool wall_clock = false;  // its threads run while the world does
  // Wall clock: a pipe, so that no flag that the process sets on its end is set on ours.
  OwnedDescriptor doorbell, doorbell_given;

  verbs::ProcessPage& shared() const { return *reinterpret_cast<verbs::ProcessPage*>(page.data()); }
  // With seq_cst it pairs with weft_ring(): who posts either finds `sleeping` set or is seen here.
  bool has_posts() const {
    for (std::size_t word = 0; word * 64 < doorbells.size(); ++word) {
      if (shared().doorbells[word].load(std::memory_order_relaxed) != 0) return true;
    }
    return false;
  }
  std::uint32_t new_handle() { return ++*last_handle; }
  // It may go on without a reply of the world.
  bool has_thread_outside() const;
  bool read(std::uint64_t address, std::span<std::uint8_t> out) const { return read_memory(pid, address, out); }
  bool write(std::uint64_t address, std::span<const std::uint8_t> in) const { return write_memory(pid, address, in); }
  void settle_writes(Time_ps now_ps) { writes.settle(pid, now_ps); }
};

}  // namespace weft::live

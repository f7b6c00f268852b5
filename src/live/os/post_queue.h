// A queue that a program posts to, as the world keeps it: a copy of every entry, made before it is checked; when each
// is due; and the one region by which the NIC reaches the lists of them all. That region's address is the slot times
// 2^32 plus the offset in the message. Node calls it at the times of the doorbells, the NIC through the region.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/time.h"
#include "nic/device.h"
#include "verbs/protocol.h"

namespace weft::live {

struct Process;
struct MemoryRange;
struct VerbsQp;
struct VerbsSrq;

struct Ring {
  verbs::QueueInfo info{};
  std::byte* base = nullptr;  // of the RingHead
  std::uint32_t taken = 0;    // entries that the world has read, or written

  verbs::RingHead& head() const { return *reinterpret_cast<verbs::RingHead*>(base); }
  std::byte* entry(std::uint32_t number) const {
    return base + sizeof(verbs::RingHead) + std::size_t{number & (info.entries - 1)} * info.stride_B;
  }
};

// One work request.
struct WorkSlot {
  std::uint64_t wr_id = 0;
  std::uint32_t number = 0;    // of its entry, counted since the queue was made
  std::uint32_t length_B = 0;  // of its list, or of its inline bytes
  std::uint16_t sges = 0;      // of its list, those of no length left out
  bool is_inline = false;
  bool is_good = false;     // the list names memory of its domain that it may use so
  bool is_payload = false;  // the list is read, not written
};

// Payload of send queues, read before the NIC asks for it: a system call for each packet would cost more than the
// packet. What was posted must not change until its completion, so that nobody can tell. The bytes are in slots of the
// payload pool: a packet of some size has one of its own, which goes out with it; small ones share one.
class ReadAhead {
 public:
  // A packet more; false: no room.
  bool add(std::uint32_t number, std::uint32_t offset_B, std::uint32_t size_B, nic::PayloadPool& pool);
  // Without the packets from `count` on.
  void cut(std::size_t count, nic::PayloadPool& pool);
  void clear(nic::PayloadPool& pool);
  // The packet's payload in a slot; kNoSlot: it was not read ahead.
  std::uint32_t take(std::uint32_t number, std::uint32_t offset_B, std::uint32_t size_B, nic::PayloadPool& pool);
  std::size_t count() const { return parts_.size(); }
  // Fills all of it from these places of a process, one after the other. False: they cannot be read.
  bool read(int pid, std::span<const iovec> from);

  std::uint64_t ranges_ended = 0;  // Process::ranges_ended when they were read

 private:
  struct Part {
    std::uint32_t number, offset_B, size_B, slot;
    std::uint16_t at_B;  // in the slot
    bool own;            // nothing else is in the slot
  };
  std::vector<Part> parts_;
  std::vector<std::uint32_t> shared_;  // slots
  std::vector<iovec> into_;            // of the system call
  std::size_t own_ = 0;                // slots that are not shared
  std::size_t shared_B_ = 0;           // of the last shared slot
  std::size_t next_ = 0;               // the part that is asked for next, if all goes well
};

class PostQueue {
 public:
  enum class Kind : std::uint8_t { kSend, kReceive, kShared };

  PostQueue() = default;
  PostQueue(const PostQueue&) = delete;
  PostQueue& operator=(const PostQueue&) = delete;

  void open(nic::Device& device);
  void close();

  // Receives of an SRQ end in any order: their slots are given out.
  WorkSlot& slot(std::uint32_t index) { return slots_[index]; }
  std::uint32_t slot_of(std::uint32_t number) const { return number & (ring.info.entries - 1); }
  // Copies entry `number` of the ring into the slot, and checks its list. The head of the entry is in `copy` then.
  void fill(std::uint32_t slot, std::uint32_t number);
  template <typename Entry>
  Entry copy_of(std::uint32_t slot) const {
    Entry entry;
    std::memcpy(&entry, copy(slot), sizeof(entry));
    return entry;
  }

  // Entries that are taken, and wait for their time.
  struct Batch {
    Time_ps due_ps;
    std::uint32_t first, end;
  };
  std::deque<Batch> batches;
  bool has_event = false;  // the node looks at the first batch when it is due

  Kind kind = Kind::kSend;
  Process* process = nullptr;
  VerbsQp* qp = nullptr;
  VerbsSrq* srq = nullptr;  // of kShared, instead
  std::uint32_t device = 0, pd = 0;
  std::uint32_t id = 0;   // in the node's table
  std::uint32_t key = 0;  // of the region
  Ring ring;
  std::vector<std::uint32_t> free_slots;  // of kShared

 private:
  static bool read(void* self, std::uint64_t va, std::span<std::uint8_t> out);
  static bool write(void* self, std::uint64_t va, std::span<const std::uint8_t> in, Time_ps visible_ps);
  static std::uint32_t take(void* self, std::uint64_t va, std::uint32_t size_B, nic::PayloadPool& pool);
  static bool give(void* self, std::uint64_t va, std::uint32_t size_B, nic::PayloadPool& pool, std::uint32_t slot,
                   Time_ps visible_ps);
  std::byte* copy(std::uint32_t slot) const { return copies_.get() + std::size_t{slot} * ring.info.stride_B; }
  std::size_t head_B() const;
  verbs::Sge sge(std::uint32_t slot, std::size_t index) const;
  // Where a list's entry points to; `range` is null when it may not go there.
  struct Place {
    MemoryRange* range = nullptr;
    std::uint64_t address = 0;
  };
  Place place_of(const verbs::Sge& sge, bool writes) const;
  bool check_list(std::uint32_t slot, std::size_t count, bool writes);
  template <typename Piece>
  bool each_piece(std::uint32_t slot, std::uint64_t offset, std::size_t size_B, bool writes, Piece piece) const;
  bool read_ahead(std::uint32_t slot, std::uint32_t offset_B, std::uint32_t size_B, nic::PayloadPool& pool);
  bool read_list(std::uint32_t slot, std::uint32_t offset_B, std::span<std::uint8_t> out);

  nic::Device* nic_ = nullptr;
  nic::RegionAccess reach_{};
  std::vector<WorkSlot> slots_;
  std::unique_ptr<std::byte[]> copies_;  // by slot
  ReadAhead ahead_;
  std::vector<iovec> pieces_;  // of what is read ahead
};

// The registered range that the key names, if the domain may use it so; null otherwise.
MemoryRange* find_range(nic::MemoryTable& memory, std::uint32_t pd, std::uint32_t key, bool writes);

}  // namespace weft::live

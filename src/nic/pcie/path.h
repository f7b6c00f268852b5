// Path of DMA between a PCIe function and memory, where the link of the card is not all of it: other
// links that it shares (the uplink of a PCIe switch, a link between NUMA nodes, a GPU's), the reads and writes that may
// be in flight, an IOMMU. docs/mechanisms/host.md derives it. Made by the host (host/memory_path.h); used by
// PcieFunction, which does without where nothing of this binds. Times in picoseconds. Not modelled: flow control
// credits by header and data, ordering between functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "nic/pcie/function.h"
#include "nic/pcie/pending_writes.h"

namespace weft::nic {

// Completion with data: its header is shorter than that of a write ([pcie-model]).
inline constexpr std::uint32_t kCompletionOverhead_B = 20;

// One direction of a link, shared by everything that crosses it.
struct PcieChannel {
  std::int64_t ps_per_byte_q16 = 0;  // of payload, and of headers where it carries TLPs
  bool carries_tlps = true;
  Time_ps until_ps = 0;                // it is busy until then
  PcieLimit limit = PcieLimit::kLink;  // what it is, where it is the limit
  // Load by other programs of the host: this share of the time it carries a burst, whose mean rest is `burst_ps`.
  std::uint32_t load_permille = 0;
  Time_ps burst_ps = 0;

  // Not below 1 Mb/s, so that times do not overflow.
  void set_rate(std::int64_t rate_bps) {
    ps_per_byte_q16 = (8 * kSecond_ps << 16) / std::max<std::int64_t>(rate_bps, 1'000'000);
  }
  Time_ps occupied_ps(std::uint32_t payload_B, std::uint32_t tlp_B, std::uint32_t overhead_B) const {
    std::uint32_t tlps = carries_tlps ? (payload_B + tlp_B - 1) / tlp_B : 0;
    return (static_cast<std::int64_t>(payload_B + tlps * overhead_B) * ps_per_byte_q16) >> 16;
  }
};

// Time that a request to read takes of a link in the other direction.
inline Time_ps request_ps(const PcieChannel& channel) {
  return (kTlpOverhead_B * channel.ps_per_byte_q16) >> 16;
}

// A link between two NUMA nodes on the way, in the direction of the request.
struct PcieCrossing {
  const PcieChannel* channel = nullptr;
  Time_ps latency_ps = 0;  // one way
  int write_times = 2;     // a write to another node counts when that node has answered; a switch takes it at once
};

struct PciePathSettings {
  std::uint32_t max_payload_B = 256;
  std::uint32_t max_read_request_B = 512;
  std::uint32_t completion_B = 256;  // of one completion of a read: MPS, or less where memory answers in pieces
  std::uint32_t read_tags = 0;       // read requests in flight; 0: never the limit
  std::uint32_t write_window_B = 0;  // bytes of posted writes in flight; 0: never the limit
  bool ordered = false;              // that is for want of relaxed ordering
  bool redirected = false;           // to a peer below the same switch by way of the root: ACS
  Time_ps read_latency_ps = 0;       // request to first completion, without what crossings add
  Time_ps write_latency_ps = 0;      // posted write until its place is free again, without what crossings add
  // Beyond what the device counts for the host's memory: of payload that lies elsewhere.
  Time_ps payload_read_delay_ps = 0;
  // Payload that a GPU's copies bring to the program's memory, and from there: the link that they use. Null: none.
  const PcieChannel* copy = nullptr;
  std::uint32_t copy_piece_B = 0;
  Time_ps copy_start_ps = 0;
  std::vector<PcieChannel*> writes, reads, entries;  // payload to memory, payload from memory, completions
  std::vector<PcieCrossing> doorbell;                // CPU to NIC
  std::vector<PcieCrossing> payload;                 // NIC to the memory of the payload
  std::vector<PcieCrossing> entry;                   // NIC to the memory that the CPU looks at
  std::vector<PcieCrossing> poll;                    // CPU to that memory
  // IOMMU: a page that is not in its cache costs a walk. 0 entries: none.
  std::uint32_t iotlb_entries = 0;
  std::int64_t page_B = 4096;
  Time_ps iotlb_miss_ps = 0;  // added to the access
  Time_ps iotlb_walk_ps = 0;  // between two walks
  bool random_pages = false;  // every access is to another page; otherwise memory is used in order
  const std::uint64_t* working_set_B = nullptr;
  bool rate_limited = false;  // the last of `reads` is what its virtual function may send
  std::uint64_t seed = 0, owner = 0;
};

// Delays of distance for one message, by reason; for whoever asks (nic/record/message_trace.h).
struct PathDelays {
  Time_ps numa_ps = 0;    // hops between nodes
  Time_ps busy_ps = 0;    // bursts of others on those links
  Time_ps switch_ps = 0;  // PCIe switches
  Time_ps gpu_ps = 0;     // the GPU's memory, and the root complex between peers
  Time_ps iommu_ps = 0;
  Time_ps copy_ps = 0;  // of payload that is staged
};

class PciePath {
 public:
  explicit PciePath(PciePathSettings settings);

  // When `payload_B` bytes that are asked for now are in the NIC. Bytes that are there are taken.
  Time_ps read(std::uint32_t payload_B, Time_ps now_ps);
  // A posted write that begins then; when it left the NIC.
  Time_ps write(std::uint32_t payload_B, Time_ps begin_ps, bool entry);

  Time_ps doorbell_delay_ps() { return cross_ps(settings_.doorbell, 1); }
  Time_ps read_delay_ps() {
    if (delays_ != nullptr) delays_->gpu_ps += settings_.payload_read_delay_ps;
    const Time_ps hops_ps = cross_ps(settings_.payload, 2);  // draws come in a fixed order
    return hops_ps + settings_.payload_read_delay_ps + first_miss_ps();
  }
  // The CPU sees a write when the node of the memory has answered it, and its next look has come back.
  Time_ps seen_delay_ps() {
    const std::uint64_t copied_B = written_B_;
    written_B_ = 0;
    const Time_ps written_ps = cross_ps(settings_.entry, 0);
    const Time_ps polled_ps = cross_ps(settings_.poll, 2);
    return written_ps + polled_ps + first_miss_ps() + copy_ps(copied_B);
  }
  // Copy of staged payload: the first piece is copied before the NIC has anything to send, and the last one after it
  // has written everything. In between copies keep pace, on links of `writes` and `reads`.
  Time_ps copy_ps(std::uint64_t size_B) const;

  const PciePathSettings& settings() const { return settings_; }
  // Name of a channel of this path where it is the limit.
  PcieLimit limit_of(const PcieChannel& channel) const {
    if (settings_.copy != nullptr && channel.limit == PcieLimit::kGpu) return PcieLimit::kStaging;
    const bool by_root = channel.limit == PcieLimit::kUplink || channel.limit == PcieLimit::kPeer;
    return settings_.redirected && by_root ? PcieLimit::kAcs : channel.limit;
  }
  Time_ps read_latency_ps() const { return read_latency_ps_; }  // of a request, crossings included
  Time_ps write_latency_ps() const { return write_latency_ps_; }
  // Limits: of the last read, and of writes so far.
  PcieLimit read_limit() const { return read_limit_; }
  Time_ps held_until_ps() const { return held_until_ps_; }  // so long somebody had to wait for payload
  const PcieTimes& write_times() const { return write_times_; }
  void add_write_time(PcieLimit limit, Time_ps time_ps) { write_times_[static_cast<std::size_t>(limit)] += time_ps; }
  // A limit may have several causes: a round trip that is too long for what is in flight is so because of the hops in
  // it. Time that was spent at `limit`, in proportion: a line that takes `line_ps_per_B` would not wait for the nearest
  // of them, and what is nearer to the card comes first.
  std::array<double, kPcieLimits> causes_of(PcieLimit limit, double line_ps_per_B, bool writes) const;
  PendingWrites& pending() { return pending_; }
  // From now on delays are added up there, too; null: no more.
  void record(PathDelays* delays) { delays_ = delays; }

 private:
  Time_ps cross_ps(const std::vector<PcieCrossing>& crossings, int times);  // 0: as often as a write
  static Time_ps latency_ps(const std::vector<PcieCrossing>& crossings);
  static Time_ps far_write_ps(const std::vector<PcieCrossing>& crossings);
  bool misses(std::uint32_t size_B);
  // IOTLB miss of a message's first page, which need not be the last one's.
  Time_ps first_miss_ps() {
    const Time_ps miss_ps = misses(~0u) ? settings_.iotlb_miss_ps : 0;
    if (delays_ != nullptr) delays_->iommu_ps += miss_ps;
    return miss_ps;
  }
  void fetch(std::uint32_t payload_B, Time_ps now_ps);

  PciePathSettings settings_;
  RandomStream random_;
  Time_ps read_latency_ps_, write_latency_ps_, ahead_ps_;
  std::vector<Time_ps> read_ends_, write_ends_;  // of the last requests, as many as may be in flight
  std::size_t next_read_ = 0, next_write_ = 0;
  Time_ps last_issue_ps_ = 0, walk_until_ps_ = 0;
  std::uint64_t written_B_ = 0;  // since the CPU last saw something
  std::uint32_t fetched_B_ = 0;  // in the NIC, or on its way there
  Time_ps fetched_ps_ = 0;       // when all of it is
  PcieLimit read_limit_ = PcieLimit::kLink;
  Time_ps held_until_ps_ = 0;
  PcieTimes write_times_{};
  PathDelays* delays_ = nullptr;
  PendingWrites pending_;
};

// Bytes waiting in the receive buffer of a card whose functions have paths: they all write from it.
inline Time_ps pending_ps(std::span<const PcieFunction> functions, Time_ps now_ps) {
  Time_ps sum_ps = 0;
  for (const PcieFunction& function : functions) sum_ps += function.path()->pending().left_ps(now_ps);
  return sum_ps;
}

}  // namespace weft::nic

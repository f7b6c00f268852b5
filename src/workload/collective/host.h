// One machine's part of the collectives: its GPUs' streams and kernels, the halves of connections that end here, and
// the proxies. All of it is one program with a heap of events of its own; nothing here is touched by another machine.
// collective_host.cc has streams and events, collective_lanes.cc blocks and their slices, collective_proxy.cc the
// network, collective_switch.cc NVLink SHARP, collective_bounds.cc what they keep busy.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "nccl/decide/kernel_model.h"
#include "nccl/schedule/schedule.h"
#include "workload/collective/bounds.h"
#include "workload/collective/engine.h"
#include "workload/collective/halves.h"
#include "workload/collective/switch.h"

namespace weft::workload {

class CollectiveHost final : public host::Program {
 public:
  CollectiveHost(CollectiveEngine& engine, std::uint32_t machine, host::Host& host);
  ~CollectiveHost() override;

  // Set-up, while the world is at rest.
  std::uint32_t add_send_half(const CollectiveSendHalf& half);
  std::uint32_t add_receive_half(const CollectiveReceiveHalf& half);
  CollectiveSendHalf& send_half(std::uint32_t index) { return sends_[index]; }
  CollectiveReceiveHalf& receive_half(std::uint32_t index) { return receives_[index]; }
  // The completion queue of all connections on that device, with room for so many more entries.
  std::uint32_t completion_queue(nic::Device& device, std::uint32_t more);
  // All buffers that peers write to through that device.
  std::uint32_t buffer_key(nic::Device& device);
  void start(Time_ps at_ps);

  void enqueue(const CollectiveItem& item, const StreamPlace& place);
  // The root port whose switch this slot is below, or -1.
  std::int32_t uplink_of(std::optional<std::uint32_t> slot) const;
  std::size_t unfinished() const { return unfinished_; }
  const std::string& failure() const { return failure_; }
  void add_use(CollectiveUse& use) const;
  // A connection by sockets has sent a message, or received one.
  void socket_sent(std::uint32_t half, Time_ps now_ps) { add_event(now_ps, EventKind::kSent, half, 0); }
  void socket_received(std::uint32_t half, Time_ps now_ps) { add_event(now_ps, EventKind::kReceived, half, 0); }
  // Of the rank's process: where its proxy runs.
  std::uint32_t proxy_cpu(std::uint32_t gpu);
  nccl::KernelModel& gpu_model(std::uint32_t gpu) { return gpus_[gpu].model; }
  const std::string& machine_name() const { return engine_.cluster().machines[machine_].name; }

  // In place of a run (collective_bounds.h).
  void count(const CollectiveItem& what, const StreamPlace& place);
  void clear_counts();
  void add_loads(CollectiveLoads& loads) const;
  // What a NIC writes to host memory over the uplink of this switch; -1: it is below none.
  void add_staged_load(std::int32_t uplink, const MessageLoad& load, CollectiveLoads& loads) const;
  // Null: nothing was counted.
  const MessageLoad* message_load(std::uint32_t send_half, bool in_host) const {
    return send_half < message_loads_.size() ? &message_loads_[send_half][in_host] : nullptr;
  }

  Time_ps step(Time_ps now_ps) override;
  void region_written(const nic::Device& device, std::uint32_t key, Time_ps visible_ps) override;

 private:
  enum class EventKind : std::uint8_t {
    kIssue,     // index: item; the host thread has called NCCL
    kStart,     // index: stream
    kEnd,       // index: kernel
    kSlice,     // index: kernel, value: lane; a slice is done
    kData,      // index: receive half, value: when all of it is there
    kCredit,    // index: send half, value: steps
    kProxy,     // index: send half: there is something to send, or room for it
    kSlotFree,  // index: receive half, value: steps
    kOffer,     // index: receive half
    kClear,     // index: send half: room for a message offered by the receiver
    kSent,      // index: send half
    kReceived,  // index: receive half
    kSwitch,    // index: switch, value: news and whose
  };
  struct Event {
    Time_ps at_ps;
    std::uint64_t order;
    EventKind kind;
    std::uint32_t index;
    std::int64_t value;
    bool operator>(const Event& other) const {
      return at_ps != other.at_ps ? at_ps > other.at_ps : order > other.order;
    }
  };
  struct Server {  // a link, a memory: one thing after the other
    Time_ps free_ps = 0, busy_ps = 0;
    // When `size_B` have passed it that come from `from_ps` on.
    Time_ps pass(Time_ps from_ps, std::uint64_t size_B, std::int64_t rate_Bps);
  };
  struct Gpu {
    nccl::KernelModel model;
    Server egress, ingress, memory, pcie_up, pcie_down;
    Time_ps call_free_ps = 0;              // its host thread
    std::uint32_t sms = 0, taken_sms = 0;  // all, and those that blocks of collectives are on
    std::vector<std::uint32_t> computing;  // items
    Time_ps block_ps = 0;                  // that the block with most to do works, of what is counted
    std::int32_t uplink = -1;              // of the PCIe switch that it is below; -1: a root port of its own
  };
  struct Stream {
    StreamPlace place;
    std::deque<std::uint32_t> items;  // the first one runs, or is next
    bool running = false;
    Time_ps free_ps = 0;
  };
  struct RunningLane {
    nccl::Lane schedule;
    nccl::Primitive now;
    std::uint32_t slice = 0;
    std::uint32_t group = 0;
    bool in_primitive = false;
    Time_ps ready_ps = kNever_ps;  // since when it waits for data alone
    std::uint8_t receives = 0, sends = 0;
    std::uint32_t receive[nccl::kMostPeers] = {}, send[nccl::kMostPeers] = {};
    std::int32_t at_switch = -1;  // of NVLS
    std::uint32_t place = 0;      // of its GPU there
    Time_ps work_ps = 0;          // of its threads, without waiting for anything
  };
  struct Group {  // lanes of one batch of a channel
    std::uint32_t first = 0, count = 0, left = 0, busy = 0;
    bool has_next = false;  // the next group in the list is its channel's next batch
  };
  struct Item {
    CollectiveItem what;
    std::uint32_t stream = 0;
    Time_ps ready_ps = kNever_ps;  // launched
    Time_ps start_ps = 0;
    std::uint32_t element_B = 1;
    std::vector<RunningLane> lanes;
    std::vector<Group> groups;
    std::uint32_t lanes_left = 0;
    std::uint32_t blocks = 0;  // of a collective: one for each channel
    // Of compute: what is left at the rate of all SMs, since when it has gone on at the present one, and which of the
    // ends that were planned counts.
    Time_ps left_ps = 0, since_ps = 0;
    std::int64_t plan = 0;
  };

  void add_event(Time_ps at_ps, EventKind kind, std::uint32_t index, std::int64_t value);
  void handle(const Event& event);
  // collective_host.cc: streams.
  std::uint32_t stream_index(const StreamPlace& place);
  std::uint32_t new_item();
  void issue(std::uint32_t item);
  void plan_start(std::uint32_t stream, Time_ps now_ps);
  void start_item(std::uint32_t item);
  void end_item(std::uint32_t item);
  // collective_compute.cc: other kernels, on the SMs that collectives leave.
  void start_compute(std::uint32_t item);
  void end_compute(std::uint32_t item, std::int64_t plan);
  void plan_compute(std::uint32_t item);
  void take_sms(Gpu& gpu, std::int64_t blocks);
  // collective_lanes.cc
  void make_lanes(Item& item);
  void start_group(std::uint32_t item, const Group& group);
  void advance(std::uint32_t item, std::uint32_t lane);
  void begin_slice(std::uint32_t item, RunningLane& lane, std::uint32_t index);
  void end_slice(std::uint32_t item, std::uint32_t lane);
  void end_lane(std::uint32_t item, RunningLane& lane);
  Time_ps block_work_ps(const nccl::KernelModel& model, const RunningLane& lane, std::uint64_t size_B,
                        std::int64_t busy) const;
  std::int64_t host_permille(const nccl::KernelModel& model, const RunningLane& lane) const;
  Time_ps pass_link(CollectiveSendHalf& half, nccl::Protocol protocol, std::uint64_t size_B, Time_ps from_ps);
  // Through host memory: what shares the uplink of a PCIe switch, GPUs and NICs.
  Time_ps pass_uplink(std::int32_t slot, bool up, std::uint64_t size_B, Time_ps from_ps);
  std::int64_t block_Bps(const nccl::KernelModel& model, const RunningLane& lane, std::int64_t busy) const;
  Time_ps slice_begin_ps(const RunningLane& lane) const;
  bool is_staged(const RunningLane& lane) const;
  bool posts_to_network(const RunningLane& lane) const;
  Time_ps hop_ps(const CollectiveSendHalf& half, nccl::Protocol protocol) const;
  void wake_lane(std::uint64_t& waiting);
  // collective_switch.cc
  void join_switch(const CollectiveItem& item, RunningLane& lane);
  bool switch_is_ready(const RunningLane& lane, std::uint64_t self);
  Time_ps pass_switch(const RunningLane& lane, std::uint64_t size_B, Time_ps from_ps);
  void leave_slice_of_switch(const RunningLane& lane);
  void hear_of_switch(const Event& event);
  // collective_bounds.cc
  void count_messages(const RunningLane& lane, std::uint32_t element_B);
  // collective_proxy.cc
  bool proxy_is_busy(std::uint32_t proxy, const Event& event);
  void progress_send(std::uint32_t index, const Event& event);
  Time_ps post_message(CollectiveSendHalf& half, Time_ps now_ps);
  void announce(std::uint32_t index, const nccl::Lane& lane, std::uint32_t peer, std::uint32_t element_B);
  void progress_offers(std::uint32_t index, const Event& event);
  Time_ps post_offer(CollectiveReceiveHalf& half, Time_ps now_ps);
  void message_sent(std::uint32_t index);
  void message_received(std::uint32_t index);
  void take(nic::Device& device, const nic::Completion& completion);
  void fail(const nic::Device& device, const nic::Completion& completion);
  Time_ps flush_ps(const CollectiveReceiveHalf& half) const;
  Time_ps proxy_message_ps(nccl::Protocol protocol) const;

  CollectiveEngine& engine_;
  std::uint32_t machine_;
  host::Host& host_;
  std::uint32_t program_ = host::kNoProgram;
  Time_ps now_ps_ = 0;
  bool stepping_ = false;
  std::uint64_t order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Gpu> gpus_;
  std::vector<Server> pair_links_;  // of a mesh: from GPU i to j at i * GPUs + j
  struct Uplink {
    Server up, down;
    std::int64_t rate_Bps = 0;
  };
  std::vector<Uplink> uplinks_;  // by slot of the layout: of switches that are in root ports
  struct SwitchKey {
    std::uint32_t communicator, channel, node;
    friend auto operator<=>(const SwitchKey&, const SwitchKey&) = default;
  };
  std::map<SwitchKey, std::uint32_t> switch_of_;
  std::vector<CollectiveSwitch> switches_;
  std::vector<Stream> streams_;
  std::deque<Item> items_;
  std::vector<std::uint32_t> free_items_;
  std::vector<CollectiveSendHalf> sends_;
  std::vector<CollectiveReceiveHalf> receives_;
  bool counts_switch_ = false;                             // what is counted uses NVLS
  std::vector<std::array<MessageLoad, 2>> message_loads_;  // by send half, in GPU memory and in host memory
  Time_ps proxy_step_ps_ = 0;                              // of a proxy: one message sent and one received
  std::vector<Time_ps> proxy_free_ps_;                     // by GPU: one process and one proxy thread each
  std::vector<std::uint32_t> proxy_cpus_;                  // by GPU, where sockets are used
  struct Port {
    nic::Device* device = nullptr;
    std::uint32_t cq = 0, entries = 0;
    std::uint32_t key = 0;
  };
  std::vector<Port> ports_;
  std::unordered_map<std::uint64_t, std::uint32_t> fifo_of_key_;  // port id and key: send half
  std::size_t unfinished_ = 0;
  Time_ps blocks_ps_ = 0, host_memory_ps_ = 0, working_ps_ = 0, working_from_ps_ = 0;  // CollectiveUse
  std::string failure_;
};

}  // namespace weft::workload

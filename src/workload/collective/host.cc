// Streams of a machine's GPUs, and the events of everything that runs there.
#include "workload/collective/host.h"

#include <algorithm>

#include "base/check.h"
#include "nccl/decide/topology.h"

namespace weft::workload {

namespace {

constexpr std::uint64_t kCollectiveBufferBase = 0x7fe000000000;
constexpr std::uint64_t kCollectiveBuffers_B = std::uint64_t{1} << 38;

}  // namespace

Time_ps CollectiveHost::Server::pass(Time_ps from_ps, std::uint64_t size_B, std::int64_t rate_Bps) {
  if (rate_Bps == 0) return from_ps;
  const Time_ps takes_ps = static_cast<Time_ps>(size_B) * kSecond_ps / rate_Bps;
  busy_ps += takes_ps;
  free_ps = std::max(free_ps, from_ps) + takes_ps;
  return free_ps;
}

CollectiveHost::CollectiveHost(CollectiveEngine& engine, std::uint32_t machine, host::Host& host)
    : engine_(engine), machine_(machine), host_(host) {
  for (const host::GpuPlace& place : engine.cluster().machines[machine].places.gpus) {
    Gpu& gpu = gpus_.emplace_back();
    gpu.model = nccl::kernel_model(place.model);
    gpu.uplink = uplink_of(place.slot);
    gpu.sms = place.model.sms;
  }
  for (const host::PcieSlot& slot : engine.cluster().machines[machine].layout.slots) {
    const nic::PcieLink link{slot.generation, slot.lanes};
    uplinks_.emplace_back().rate_Bps =
        link.tlp_bps() / 8 * link.max_payload_B / (link.max_payload_B + nic::kTlpOverhead_B);
  }
  // NCCL's own constant for what the network takes of the CPU ([nccl] tuning.cc). The 2 us that it has for AMD are not
  // the proxy's work: with them 64 channels of RCCL would take twice the time of [rccl-mi355x].
  proxy_step_ps_ = us(1);
  proxy_free_ps_.resize(gpus_.size());
  pair_links_.resize(gpus_.size() * gpus_.size());
}

std::int32_t CollectiveHost::uplink_of(std::optional<std::uint32_t> slot) const {
  const std::vector<host::PcieSlot>& slots = engine_.cluster().machines[machine_].layout.slots;
  if (!slot || slots[*slot].parent < 0) return -1;
  std::int32_t at = slots[*slot].parent;
  while (slots[static_cast<std::size_t>(at)].parent >= 0) at = slots[static_cast<std::size_t>(at)].parent;
  return at;
}

CollectiveHost::~CollectiveHost() {
  host_.stop(program_);
  for (std::uint32_t cpu : proxy_cpus_) {
    if (cpu != host::kNoCpu) host_.cpus().release(cpu);
  }
}

std::uint32_t CollectiveHost::add_send_half(const CollectiveSendHalf& half) {
  sends_.push_back(half);
  return static_cast<std::uint32_t>(sends_.size() - 1);
}

std::uint32_t CollectiveHost::add_receive_half(const CollectiveReceiveHalf& half) {
  receives_.push_back(half);
  return static_cast<std::uint32_t>(receives_.size() - 1);
}

std::uint32_t CollectiveHost::completion_queue(nic::Device& device, std::uint32_t more) {
  auto port = std::find_if(ports_.begin(), ports_.end(), [&](const Port& p) { return p.device == &device; });
  if (port == ports_.end()) {
    port = ports_.insert(ports_.end(), Port{&device});
    port->cq = device.create_cq(1);
    port->key = device.memory().add(kCollectiveBufferBase, kCollectiveBuffers_B, {true, true, true, true});
  }
  port->entries += more;
  device.cq(port->cq).resize(port->entries);
  return port->cq;
}

std::uint32_t CollectiveHost::buffer_key(nic::Device& device) {
  completion_queue(device, 0);
  return std::find_if(ports_.begin(), ports_.end(), [&](const Port& p) { return p.device == &device; })->key;
}

std::uint32_t CollectiveHost::proxy_cpu(std::uint32_t gpu) {
  if (proxy_cpus_.empty()) proxy_cpus_.resize(gpus_.size(), host::kNoCpu);
  if (proxy_cpus_[gpu] == host::kNoCpu) proxy_cpus_[gpu] = host_.cpus().place(std::nullopt);
  return proxy_cpus_[gpu];
}

void CollectiveHost::start(Time_ps at_ps) {
  if (program_ == host::kNoProgram) program_ = host_.start(*this, at_ps);
  for (std::uint32_t i = 0; i < sends_.size(); ++i) {
    const CollectiveSendHalf& half = sends_[i];
    if (half.way != CollectiveWay::kNet) continue;
    const std::uint64_t name = std::uint64_t{half.device->port_id()} << 32 | half.fifo_key;
    if (fifo_of_key_.emplace(name, i).second) host_.watch(program_, *half.device, half.fifo_key);
  }
  host_.wake(program_, at_ps);
}

void CollectiveHost::add_event(Time_ps at_ps, EventKind kind, std::uint32_t index, std::int64_t value) {
  events_.push({at_ps, order_++, kind, index, value});
  if (!stepping_ && program_ != host::kNoProgram) host_.wake(program_, at_ps);
}

Time_ps CollectiveHost::step(Time_ps now_ps) {
  now_ps_ = now_ps;
  stepping_ = true;
  for (const Port& port : ports_) {
    nic::CompletionQueue& queue = port.device->cq(port.cq);
    while (const nic::Completion* completion = queue.peek(now_ps)) {
      take(*port.device, *completion);
      queue.pop();
    }
  }
  while (!events_.empty() && events_.top().at_ps <= now_ps) {
    const Event event = events_.top();
    events_.pop();
    handle(event);
  }
  stepping_ = false;
  Time_ps next_ps = events_.empty() ? kNever_ps : events_.top().at_ps;
  for (const Port& port : ports_) next_ps = std::min(next_ps, host_.wait(program_, *port.device, port.cq));
  return std::max(next_ps, now_ps + 1);
}

void CollectiveHost::region_written(const nic::Device& device, std::uint32_t key, Time_ps visible_ps) {
  const auto found = fifo_of_key_.find(std::uint64_t{device.port_id()} << 32 | key);
  WEFT_CHECK(found != fifo_of_key_.end(), "a FIFO belongs to a connection");
  add_event(visible_ps, EventKind::kClear, found->second, 0);
}

void CollectiveHost::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kIssue:
      return issue(event.index);
    case EventKind::kStart:
      return start_item(event.index);
    case EventKind::kEnd:
      return event.value > 0 ? end_compute(event.index, event.value) : end_item(event.index);
    case EventKind::kSlice:
      return end_slice(event.index, static_cast<std::uint32_t>(event.value));
    case EventKind::kData: {
      CollectiveReceiveHalf& half = receives_[event.index];
      half.complete_ps[half.arrived++ % kMostMessages] = event.value;
      ++half.available;
      return wake_lane(half.waiting);
    }
    case EventKind::kCredit: {
      CollectiveSendHalf& half = sends_[event.index];
      half.used -= static_cast<std::uint32_t>(event.value);
      return wake_lane(half.waiting);
    }
    case EventKind::kClear:
      ++sends_[event.index].offered;
      return add_event(now_ps_ + gpus_[sends_[event.index].gpu].model.proxy_ps / 2, EventKind::kProxy, event.index, 0);
    case EventKind::kProxy:
      return progress_send(event.index, event);
    case EventKind::kSlotFree:
      receives_[event.index].steps_out -= static_cast<std::uint32_t>(event.value);
      return progress_offers(event.index, event);
    case EventKind::kOffer:
      return progress_offers(event.index, event);
    case EventKind::kSent:
      return message_sent(event.index);
    case EventKind::kReceived:
      return message_received(event.index);
    case EventKind::kSwitch:
      return hear_of_switch(event);
  }
}

void CollectiveHost::wake_lane(std::uint64_t& waiting) {
  if (waiting == kNoLane) return;
  const std::uint64_t lane = waiting;
  waiting = kNoLane;
  advance(static_cast<std::uint32_t>(lane >> 32), static_cast<std::uint32_t>(lane));
}

std::uint32_t CollectiveHost::stream_index(const StreamPlace& place) {
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].place.gpu == place.gpu && streams_[i].place.stream == place.stream) return i;
  }
  streams_.emplace_back().place = place;
  return static_cast<std::uint32_t>(streams_.size() - 1);
}

std::uint32_t CollectiveHost::new_item() {
  if (free_items_.empty()) {
    items_.emplace_back();
    return static_cast<std::uint32_t>(items_.size() - 1);
  }
  const std::uint32_t index = free_items_.back();
  free_items_.pop_back();
  return index;
}

void CollectiveHost::enqueue(const CollectiveItem& what, const StreamPlace& place) {
  const std::uint32_t stream = stream_index(place);
  const std::uint32_t index = new_item();
  Item& item = items_[index];
  item.what = what;
  item.stream = stream;
  item.ready_ps = kNever_ps;
  streams_[stream].items.push_back(index);
  Gpu& gpu = gpus_[place.gpu];
  const Time_ps from_ps = std::max(what.earliest_ps, stepping_ ? now_ps_ : 0);
  if (unfinished_++ == 0) working_from_ps_ = from_ps;
  gpu.call_free_ps = std::max(gpu.call_free_ps, from_ps) + gpu.model.call_ps;
  add_event(gpu.call_free_ps, EventKind::kIssue, index, 0);
}

// The proxy hears of it when the kernel is launched, and makes room at once.
void CollectiveHost::issue(std::uint32_t index) {
  Item& item = items_[index];
  Stream& stream = streams_[item.stream];
  item.ready_ps = now_ps_ + gpus_[stream.place.gpu].model.launch_ps;
  if (!item.what.is_compute) make_lanes(item);
  if (!stream.running && stream.items.front() == index) plan_start(item.stream, now_ps_);
}

void CollectiveHost::plan_start(std::uint32_t index, Time_ps now_ps) {
  Stream& stream = streams_[index];
  const Item& item = items_[stream.items.front()];
  if (item.ready_ps == kNever_ps) return;
  stream.running = true;
  const Time_ps gap_ps = stream.free_ps > 0 ? gpus_[stream.place.gpu].model.gap_ps : 0;
  add_event(std::max({item.ready_ps, stream.free_ps + gap_ps, now_ps}), EventKind::kStart, stream.items.front(), 0);
}

void CollectiveHost::start_item(std::uint32_t index) {
  Item& item = items_[index];
  item.start_ps = now_ps_;
  if (item.what.is_compute) return start_compute(index);
  if (item.lanes.empty()) return add_event(now_ps_, EventKind::kEnd, index, 0);
  take_sms(gpus_[streams_[item.stream].place.gpu], item.blocks);
  item.lanes_left = static_cast<std::uint32_t>(item.lanes.size());
  for (std::size_t i = 0; i < item.groups.size(); ++i) {
    if (i == 0 || !item.groups[i - 1].has_next) start_group(index, item.groups[i]);
  }
}

void CollectiveHost::end_item(std::uint32_t index) {
  Item& item = items_[index];
  Stream& stream = streams_[item.stream];
  if (!item.what.is_compute && !item.lanes.empty()) take_sms(gpus_[stream.place.gpu], -std::int64_t{item.blocks});
  StreamEnd end{stream.place, item.what.tag, item.start_ps, now_ps_};
  stream.items.pop_front();
  stream.running = false;
  stream.free_ps = now_ps_;
  if (--unfinished_ == 0) working_ps_ += std::max<Time_ps>(0, now_ps_ - working_from_ps_);
  const std::uint32_t number = item.stream;
  free_items_.push_back(index);
  if (!stream.items.empty()) plan_start(number, now_ps_);
  if (engine_.end_) engine_.end_(end);
}

}  // namespace weft::workload

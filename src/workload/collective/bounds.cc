#include "workload/collective/bounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "nic/pcie/load.h"
#include "tools/perftest/budget.h"
#include "tools/perftest/framing.h"
#include "workload/collective/host.h"
#include "workload/collective/socket.h"

namespace weft::workload {

void CollectiveLoads::add(const void* thing, int part, const std::string& name, const std::string& where,
                          double busy_ps) {
  if (busy_ps <= 0) return;
  CollectiveBound& load = loads_[{thing, part}];
  if (load.name.empty()) load = {name, where, 0};
  load.busy_ps += busy_ps;
}

std::vector<CollectiveBound> CollectiveLoads::busiest() const {
  std::map<std::string, CollectiveBound> most;
  for (const auto& [thing, load] : loads_) {
    CollectiveBound& known = most[load.name];
    // Of equals the name that sorts first: addresses differ from run to run.
    const bool equal = load.busy_ps == known.busy_ps && load.where < known.where;
    if (load.busy_ps > known.busy_ps || equal) known = load;
  }
  std::vector<CollectiveBound> out;
  for (auto& [name, load] : most) out.push_back(std::move(load));
  std::stable_sort(out.begin(), out.end(),
                   [](const CollectiveBound& a, const CollectiveBound& b) { return a.busy_ps > b.busy_ps; });
  return out;
}

void MessageLoad::add(std::uint64_t size_B, std::uint32_t mtu_B) {
  ++messages;
  if (size_B >= mtu_B) packets[mtu_B] += size_B / mtu_B;
  if (size_B % mtu_B != 0) ++packets[static_cast<std::uint32_t>(size_B % mtu_B)];
}

// The slices of an operation, one after the other, and its messages.
void CollectiveHost::count(const CollectiveItem& what, const StreamPlace& place) {
  const std::uint32_t index = new_item();
  Item& item = items_[index];
  item.what = what;
  item.stream = stream_index(place);
  make_lanes(item);
  message_loads_.resize(sends_.size());
  for (std::uint32_t i = 0; i < item.lanes.size(); ++i) {
    RunningLane& lane = item.lanes[i];
    counts_switch_ = counts_switch_ || lane.at_switch >= 0;
    while (lane.schedule.next(lane.now)) {
      for (lane.slice = 0; lane.slice < lane.schedule.slices; ++lane.slice) {
        item.groups[lane.group].busy = 0;
        begin_slice(index, lane, i);
        if (lane.now.posts) count_messages(lane, item.element_B);
      }
    }
  }
  // Lanes that share a block's threads work in turn, those that have their own beside each other.
  std::map<std::uint32_t, Time_ps> blocks;
  for (const Group& group : item.groups) {
    Time_ps in_turn_ps = 0, beside_ps = 0;
    for (std::uint32_t i = group.first; i < group.first + group.count; ++i) {
      const nccl::Lane& lane = item.lanes[i].schedule;
      if (lane.share_percent == 0 && lane.nvls == nullptr) in_turn_ps += item.lanes[i].work_ps;
      beside_ps = std::max(beside_ps, item.lanes[i].work_ps);
    }
    if (group.count > 0) blocks[item.lanes[group.first].schedule.channel] += std::max(in_turn_ps, beside_ps);
  }
  Time_ps longest_ps = 0;
  for (const auto& [channel, block_ps] : blocks) longest_ps = std::max(longest_ps, block_ps);
  gpus_[place.gpu].block_ps += longest_ps;
  events_ = {};
  item.lanes.clear();
  free_items_.push_back(index);
}

void CollectiveHost::count_messages(const RunningLane& lane, std::uint32_t element_B) {
  const std::uint64_t size_B = nccl::message_count(lane.schedule, lane.now, lane.slice) * element_B;
  for (std::uint8_t i = 0; i < lane.sends; ++i) {
    if (!lane.now.gives_to(i)) continue;
    const CollectiveSendHalf& half = sends_[lane.send[i]];
    if (half.way != CollectiveWay::kNet && half.way != CollectiveWay::kSocket) continue;
    const std::uint64_t line_B = lane.schedule.line_B(size_B);
    const bool in_host = half.in_host_memory(lane.schedule.protocol);
    if (half.way == CollectiveWay::kNet && in_host) pass_uplink(half.nic_uplink, false, line_B, 0);
    message_loads_[lane.send[i]][in_host].add(line_B, half.mtu_B);
  }
}

void CollectiveHost::clear_counts() {
  message_loads_.clear();
  counts_switch_ = false;
  for (Gpu& gpu : gpus_) {
    gpu.block_ps = 0;
    for (Server* server : {&gpu.egress, &gpu.ingress, &gpu.memory, &gpu.pcie_up, &gpu.pcie_down}) *server = {};
  }
  for (Server& link : pair_links_) link = {};
  for (Uplink& uplink : uplinks_) uplink.up = uplink.down = {};
}

void CollectiveHost::add_loads(CollectiveLoads& loads) const {
  const nccl::Machine& machine = engine_.cluster().machines[machine_];
  const auto add = [&](const Server& server, const std::string& name, const std::string& where) {
    loads.add(&server, 0, name, where, static_cast<double>(server.busy_ps));
  };
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const Gpu& gpu = gpus_[i];
    const std::string name = fmt::format("{} GPU {}", machine.name, i);
    const bool amd = machine.places.gpus[i].model.api == "rocm";
    const std::string links = amd ? "Infinity Fabric" : counts_switch_ ? "NVLink to NVSwitch" : "NVLink";
    add(gpu.egress, links, name + ", sends");
    add(gpu.ingress, links, name + ", receives");
    add(gpu.memory, "GPU memory", name);
    add(gpu.pcie_up, "PCIe of the GPU", name + ", sends");
    add(gpu.pcie_down, "PCIe of the GPU", name + ", receives");
    loads.add(&gpu, 1, "blocks of the kernel", name, static_cast<double>(gpu.block_ps));
    for (std::size_t j = 0; j < gpus_.size(); ++j)
      add(pair_links_[i * gpus_.size() + j], links, fmt::format("{} to GPU {}", name, j));
  }
  for (std::size_t i = 0; i < uplinks_.size(); ++i) {
    const std::string name = fmt::format("{} {}", machine.name, machine.layout.slots[i].name);
    const std::string& kind = pcie_cause(nic::PcieLimit::kUplink).name;
    add(uplinks_[i].up, kind, name + ", up");
    add(uplinks_[i].down, kind, name + ", down");
  }
}

void CollectiveHost::add_staged_load(std::int32_t uplink, const MessageLoad& load, CollectiveLoads& loads) const {
  if (uplink < 0) return;
  const auto slot = static_cast<std::size_t>(uplink);
  double size_B = 0;
  for (const auto& [packet_B, packets] : load.packets)
    size_B += static_cast<double>(packet_B) * static_cast<double>(packets);
  loads.add(&uplinks_[slot].up, 0, pcie_cause(nic::PcieLimit::kUplink).name,
            fmt::format("{} {}, up", machine_name(), engine_.cluster().machines[machine_].layout.slots[slot].name),
            size_B * static_cast<double>(kSecond_ps) / static_cast<double>(uplinks_[slot].rate_Bps));
}

void CollectiveEngine::count(std::uint32_t communicator, std::uint32_t rank, const nccl::Operation& operation) {
  const nccl::RankPlace place = communicators_[communicator]->ranks()[rank];
  CollectiveItem item;
  item.communicator = communicator;
  item.rank = rank;
  item.operation = operation;
  hosts_[place.machine]->count(item, {place.machine, place.gpu, 0});
}

void CollectiveEngine::clear_counts() {
  for (auto& host : hosts_) host->clear_counts();
}

std::vector<CollectiveBound> CollectiveEngine::bounds() const {
  CollectiveLoads loads;
  for (const auto& host : hosts_) host->add_loads(loads);
  for (const auto& [key, halves] : connected_) {
    const nccl::Communicator& ranks = *communicators_[key.communicator];
    CollectiveHost& sender = *hosts_[ranks.ranks()[key.from].machine];
    CollectiveHost& receiver = *hosts_[ranks.ranks()[key.to].machine];
    for (const bool in_host : {false, true}) {
      const MessageLoad* load = sender.message_load(halves.send, in_host);
      if (load == nullptr || load->messages == 0) continue;
      const CollectiveSendHalf& send = sender.send_half(halves.send);
      const CollectiveReceiveHalf& receive = receiver.receive_half(halves.receive);
      if (send.way == CollectiveWay::kSocket) {
        send.socket->add_loads(*load, loads);
        receive.socket->add_loads(*load, loads);
      } else {
        add_network(*load, {sender.machine_name(), receiver.machine_name()}, send, receive, in_host, loads);
        if (receive.staged) receiver.add_staged_load(receive.nic_uplink, *load, loads);
      }
    }
  }
  return loads.busiest();
}

void CollectiveEngine::add_network(const MessageLoad& load, const std::array<std::string, 2>& machines,
                                   const CollectiveSendHalf& send, const CollectiveReceiveHalf& receive, bool in_host,
                                   CollectiveLoads& loads) {
  const std::string from = machines[0] + " " + send.device->name(), to = machines[1] + " " + receive.device->name();
  const auto add = [&](const std::vector<nic::PcieLoad>& parts, std::uint64_t times, const std::string& where) {
    for (const nic::PcieLoad& part : parts)
      loads.add(part.what, 0, pcie_cause(part.limit).name, where, part.busy_ps * static_cast<double>(times));
  };
  double line_B = static_cast<double>(load.messages) * (kRethOverhead_B + kImmediateOverhead_B);
  for (const auto& [size_B, packets] : load.packets) {
    line_B += static_cast<double>(packets) * framed_B(size_B, size_B, 0);
    add(nic::read_load(send.device->port().functions[in_host ? send.host_function : send.function], size_B), packets,
        from + ", reads");
    add(nic::write_load(receive.device->port().functions[receive.function], size_B), packets, to + ", writes");
  }
  const auto line_ps = [&](fabric::LinkDirection& link, std::uint32_t parts) {
    return line_B * static_cast<double>(link.timing().ps_per_byte) / parts;
  };
  // Each queue pair sends by its port. What a bond receives the switch deals to both at best.
  for (std::uint32_t qp = 0; qp < send.qps; ++qp) {
    nic::Device& port = send.device->owner_of(send.qpn[qp]);
    loads.add(&port, 1, "NIC line rate", from + ", sends", line_ps(port.out(), send.qps));
  }
  loads.add(receive.device, 2, "NIC line rate", to + ", receives",
            line_ps(receive.device->in(), receive.device->sibling() == nullptr ? 1 : 2));
}

}  // namespace weft::workload

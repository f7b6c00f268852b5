#include "world/sampler.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace weft::lab {

namespace {

// Every second sample of what was added.
store::SeriesEncoder halved(store::SeriesEncoder& whole) {
  whole.finish();
  store::SeriesEncoder half;
  const auto add_zeros_until = [&](std::uint64_t sample) { half.add_repeated(0, (sample + 1) / 2 - half.samples()); };
  for (const store::SeriesBlock& block : whole.blocks()) {
    add_zeros_until(block.first_sample);
    const auto values = store::decode_block(block.data, block.count);
    WEFT_CHECK(values.has_value(), "a block that was just written");
    for (std::uint64_t i = block.first_sample % 2; i < values->size(); i += 2) half.add((*values)[i]);
  }
  add_zeros_until(whole.samples());
  return half;
}

}  // namespace

Sampler::Sampler(World& world, const std::vector<std::unique_ptr<ActiveWorkload>>& workloads, Time_ps interval_ps)
    : world_(world), workloads_(workloads) {
  set_.interval_ps = interval_ps == 0 ? kMicrosecond_ps : interval_ps;
  if (interval_ps == 0) room_ = kMostChosen;
}

void Sampler::add(const std::string& node, const std::string& port, int class_, const char* metric, const char* unit) {
  set_.series.push_back({node, port, class_, std::string(metric), std::string(unit), {}});
}

std::uint8_t Sampler::headroom_groups(std::uint32_t s, std::uint32_t cabled_port) const {
  const SwitchConfig& config = world_.lab().switches[s];
  unsigned groups = 0;
  for (std::size_t g = 0; g < fabric::kClasses && !config.forwarder; ++g) {
    if (config.qos.groups[g].lossless && config.ports[cabled_port].headroom_B[g] > 0) groups |= 1u << g;
  }
  return static_cast<std::uint8_t>(groups);
}

std::uint8_t Sampler::pausing_groups(std::uint32_t s) const {
  const SwitchConfig& config = world_.lab().switches[s];
  if (config.forwarder || config.qos.flow_control == fabric::FlowControl::kNone) return 0;
  unsigned groups = 0;
  for (std::size_t g = 0; g < fabric::kClasses; ++g) groups |= config.qos.groups[g].lossless ? 1u << g : 0u;
  return static_cast<std::uint8_t>(groups);
}

// In the order in which they are read. Headroom and groups only where they are: of most labs one class of eight.
void Sampler::declare() {
  for (std::uint32_t s = 0; s < world_.switch_count(); ++s) {
    const SwitchConfig& config = world_.lab().switches[s];
    std::uint8_t any_headroom = 0;
    const std::uint8_t pausing = pausing_groups(s);
    pausing_groups_.push_back(pausing);
    for (std::uint32_t p : world_.cabled_ports(s)) {
      const std::uint8_t headroom = headroom_groups(s, p);
      headroom_groups_.push_back(headroom);
      any_headroom |= headroom;
      for (int c = 0; c < static_cast<int>(fabric::kClasses); ++c) {
        for (auto [metric, unit] : {std::pair("queue_B", "B"), std::pair("tx_bytes", "B"), std::pair("rx_bytes", "B"),
                                    std::pair("ecn_marked", "1"), std::pair("drops", "1"),
                                    std::pair("pause_rx_ps", "ps"), std::pair("pause_tx_ps", "ps")}) {
          add(config.name, config.ports[p].name, c, metric, unit);
        }
        if ((headroom >> c & 1) != 0) add(config.name, config.ports[p].name, c, "headroom_B", "B");
        if ((pausing >> c & 1) != 0) add(config.name, config.ports[p].name, c, "group_B", "B");
      }
    }
    for (int c = 0; c < static_cast<int>(fabric::kClasses); ++c) {
      if ((pausing >> c & 1) != 0) add(config.name, "", c, "xoff_B", "B");
    }
    add(config.name, "", -1, "buffer_B", "B");
    has_headroom_.push_back(any_headroom != 0);
    if (any_headroom != 0) add(config.name, "", -1, "headroom_B", "B");
  }
  for (std::uint32_t port = 0; port < world_.port_count(); ++port) {
    if (world_.device(port) == nullptr || !world_.has_cable(port)) continue;
    const std::string& name = world_.book()[port].name;
    std::string node = name.substr(0, name.find(':'));
    std::string port_name = name.substr(node.size() + 1);
    for (int c = 0; c < static_cast<int>(fabric::kClasses); ++c) {
      for (auto [metric, unit] : {std::pair("tx_bytes", "B"), std::pair("rx_bytes", "B"),
                                  std::pair("pause_rx_ps", "ps"), std::pair("pause_tx_ps", "ps")}) {
        add(node, port_name, c, metric, unit);
      }
    }
    add(node, port_name, -1, "np_cnp_sent", "1");
    add(node, port_name, -1, "rp_cnp_handled", "1");
  }
  std::size_t flows = 0;
  for (const auto& active : workloads_) flows += active->sender_count();
  with_flows_ = flows <= kMostFlows;
  for (const auto& active : workloads_) {
    for (std::size_t i = 0; with_flows_ && i < active->sender_count(); ++i)
      add_flow(active->config().name, std::to_string(i));
  }
  last_.assign(set_.series.size(), 0);
  while (room_ > kLeastChosen && room_ * set_.series.size() > kMostNumbers) room_ /= 2;
}

// Sample 0 stays, so that sample k is at k intervals. The next one is read, whether anything happened or not: what it
// would repeat may be gone.
void Sampler::halve() {
  for (std::size_t i = 0; i < set_.series.size(); ++i) {
    store::SeriesEncoder& encoder = set_.series[i].encoder;
    if (encoder.samples() == 0) continue;  // never anything but 0
    encoder.repeat(set_.samples - encoder.samples());
    encoder = halved(encoder);
    last_[i] = encoder.last();
  }
  stopped_ = true;
  set_.samples = (set_.samples + 1) / 2;
  set_.interval_ps *= 2;
}

// Its rate, and what it did with its time: PCIe as a whole.
void Sampler::add_flow(const std::string& workload, const std::string& number) {
  add(workload, number, -1, "rate_bps", "b/s");
  for (const char* metric : store::kSenderMetrics) add(workload, number, -1, metric, "ps");
}

void Sampler::take() {
  if (set_.samples == 0) declare();
  if (set_.samples == room_ && room_ > 0) halve();
  bool quiet = set_.samples > 0 && !stopped_ && world_.events() == events_;
  ++set_.samples;
  if (!quiet) {
    cursor_ = 0;
    stopped_ = false;
    read_switches();
    read_nics();
    if (with_flows_) read_flows();
    events_ = world_.events();
  }
  next_ps_ += set_.interval_ps;
}

// The sample that is read is the last of set_.samples.
void Sampler::put_change(std::size_t at, std::int64_t value) {
  store::SeriesEncoder& encoder = set_.series[at].encoder;
  encoder.repeat(set_.samples - 1 - encoder.samples());
  encoder.add(value);
  last_[at] = value;
}

void Sampler::read_switches() {
  std::size_t port = 0;
  for (std::uint32_t s = 0; s < world_.switch_count(); ++s) {
    const fabric::Switch& device = world_.fabric_switch(s);
    std::uint64_t buffer_B = 0, headroom_B = 0;
    for (std::uint32_t p = 0; p < device.port_count(); ++p, ++port) {
      const fabric::SwitchPortCounters n = device.counters(p);
      stopped_ = stopped_ || device.pause(p).blocked() != 0 || device.xoff_groups(p) != 0;
      for (std::uint32_t c = 0; c < fabric::kClasses; ++c) {
        std::uint64_t queue_B = device.queue_B(p, c);
        buffer_B += queue_B;
        put(queue_B);
        put(n.tx[c].bytes);
        put(n.rx[c].bytes);
        put(n.ecn_marked[c]);
        put(n.queue_drops[c] + n.group_drops[c]);
        put(device.pause(p).total_ps(c, next_ps_));
        put(device.pause_tx_ps(p, c, next_ps_));
        if ((headroom_groups_[port] >> c & 1) != 0) {
          const std::uint64_t of_group_B = device.buffer().headroom_B(p, c);
          headroom_B += of_group_B;
          put(of_group_B);
        }
        if ((pausing_groups_[s] >> c & 1) != 0) put(device.buffer().held_B(p, c));
      }
    }
    for (std::uint32_t c = 0; c < fabric::kClasses; ++c) {
      if ((pausing_groups_[s] >> c & 1) != 0) put(device.buffer().limit_B(c));
    }
    put(buffer_B);
    if (has_headroom_[s]) put(headroom_B);
  }
}

void Sampler::read_nics() {
  for (std::uint32_t port = 0; port < world_.port_count(); ++port) {
    const nic::Device* device = world_.device(port);
    if (device == nullptr || !world_.has_cable(port)) continue;
    const nic::Counters& n = device->counters();
    for (std::size_t c = 0; c < fabric::kClasses; ++c) {
      put(n.priorities[c].tx.bytes);
      put(n.priorities[c].rx.bytes);
      put(device->pauses().received().total_ps(c, next_ps_));
      Time_ps tx_ps = device->pauses().sent_ps(c, next_ps_);
      stopped_ = stopped_ || tx_ps != n.tx_pause_ps[c];
      put(tx_ps);
    }
    stopped_ = stopped_ || device->pauses().received().blocked() != 0;
    put(n.np_cnp_sent);
    put(n.rp_cnp_handled);
  }
}

void Sampler::read_flows() {
  for (const auto& active : workloads_) {
    for (std::size_t i = 0; i < active->sender_count(); ++i) {
      put(active->sender_rate_bps(world_, i));
      const auto times = active->sender_times(world_, i, next_ps_);
      constexpr std::size_t kPcie = std::size(store::kSenderMetrics) - 1;
      Time_ps pcie_ps = 0;
      for (std::size_t state = kPcie; state < times.size(); ++state) pcie_ps += times[state];
      for (std::size_t state = 0; state < kPcie; ++state) put(times[state]);
      put(pcie_ps);
    }
  }
}

store::SeriesSet Sampler::finish(bool at_rest) {
  if (at_rest) take();
  std::erase_if(set_.series, [](const store::Series& series) { return series.encoder.samples() == 0; });
  for (store::Series& series : set_.series) {
    series.encoder.repeat(set_.samples - series.encoder.samples());
    series.encoder.finish();
  }
  std::erase_if(set_.series, [](const store::Series& series) { return series.encoder.blocks().empty(); });
  return std::move(set_);
}

}  // namespace weft::lab

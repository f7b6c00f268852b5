// nodes with `kind: forwarder`: a Linux bridge or router, its RX rings and the qdisc of each port.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "catalog/model_fields.h"
#include "labfile/lab_fields.h"
#include "labfile/sections.h"

namespace weft::lab {
namespace {

using fabric::ForwarderModel;
using fabric::QdiscConfig;
using fabric::QdiscKind;

constexpr std::int64_t kMinForwarderMtu_B = 68;  // RFC 791
constexpr Range<std::int64_t> kQdiscSizes{1, std::int64_t{1} << 32};
constexpr Range<std::int64_t> kPacketCounts{1, 1 << 20};
// Of tc-red, when it is not told.
constexpr std::int64_t kDefaultBandwidth_bps = 10'000'000;
constexpr std::uint32_t kDefaultProbability_ppb = 20'000'000;

// What the rest of a lab sees of it: ports, delays and a TX ring that the byte queue limit keeps short.
fabric::SwitchModel as_switch(const ForwarderModel& model) {
  fabric::SwitchModel device;
  device.name = model.name;
  device.description = model.description;
  device.asic = "CPU";
  device.oui = model.oui;
  device.port_prefix = model.port_prefix;
  device.ports = model.ports;
  device.buffer_B = std::int64_t{1} << 30;  // host memory
  device.cell_B = 1;
  device.buffer_slices = device.pipes = 1;
  device.pipeline_ps = model.rx_latency_ps + model.tx_latency_ps;
  device.port_latency_ps = model.port_latency_ps;
  device.max_mtu_B = model.max_mtu_B;
  device.has_ecn = true;
  return device;
}

class QdiscReader {
 public:
  QdiscReader(const YamlNode& node, ProblemList& problems)
      : node_(node), map_(node, "qdisc", kQdiscKeys, problems), problems_(problems) {}

  std::optional<QdiscConfig> read() {
    const std::size_t before = problems_.size();
    if (!map_.read(kQdiscKeys, "kind", qdisc_)) return std::nullopt;
    if (qdisc_.kind == QdiscKind::kRed) {
      read_red();
    } else {
      read_pfifo();
    }
    return problems_.size() == before ? std::optional(qdisc_) : std::nullopt;
  }

 private:
  void read_pfifo() {
    for (std::string_view key : kQdiscKeys.keys()) {
      const YamlNode* value = key == "kind" || key == "limit" ? nullptr : map_.get(key);
      if (value != nullptr)
        problems_.add(value->place, fmt::format("{} is a parameter of red, and this is a pfifo", key),
                      "write kind: red, or leave it out");
    }
    if (const YamlNode* value = map_.require("limit", "limit: 1000 packets"))
      store(qdisc_.limit, read_quantity(*value, "limit", Quantity::kPackets, kPacketCounts, problems_));
  }

  void read_red() {
    const std::size_t before = problems_.size();
    if (const YamlNode* value = map_.require("limit", "limit: 2 MB"))
      store(qdisc_.limit, read_quantity(*value, "limit", Quantity::kSize, kQdiscSizes, problems_));
    need("avpkt", "avpkt: 1500 B");
    need("max", "max: 200 kB");
    if (problems_.size() != before) return;
    qdisc_.min_B = qdisc_.max_B / 3;
    qdisc_.probability_ppb = kDefaultProbability_ppb;
    qdisc_.bandwidth_bps = kDefaultBandwidth_bps;
    for (std::string_view key : {"min", "probability", "bandwidth", "ecn"}) map_.read(kQdiscKeys, key, qdisc_);
    if (problems_.size() != before) return;
    check_thresholds();
    qdisc_.burst = std::max<std::int64_t>(1, fabric::red_default_burst(qdisc_));
    const YamlNode* burst = map_.get("burst");
    map_.read(kQdiscKeys, "burst", qdisc_);
    if (problems_.size() == before && fabric::red_weight_exponent(qdisc_) < 0) {
      problems_.add(burst != nullptr ? burst->place : node_.place,
                    fmt::format("burst {} is too small for min {} B with packets of {} B", qdisc_.burst, qdisc_.min_B,
                                qdisc_.avpkt_B),
                    fmt::format("tc takes a burst above min / avpkt: write burst: {} packets or more",
                                qdisc_.min_B / qdisc_.avpkt_B + 1));
    }
  }

  void need(std::string_view key, std::string_view example) {
    map_.require(key, example);
    map_.read(kQdiscKeys, key, qdisc_);
  }

  void check_thresholds() {
    const auto place = [&](std::string_view key) {
      return map_.get(key) == nullptr ? node_.place : map_.get(key)->place;
    };
    if (qdisc_.min_B >= qdisc_.max_B) {
      problems_.add(place("min"), fmt::format("red: min {} B is not below max {} B", qdisc_.min_B, qdisc_.max_B),
                    "marking begins at min and is certain at max: tc suggests max at least twice min");
    }
    if (qdisc_.max_B > qdisc_.limit) {
      problems_.add(place("limit"), fmt::format("red: limit {} B is below max {} B", qdisc_.limit, qdisc_.max_B),
                    "packets would be dropped before all are marked: raise limit above max and a burst");
    }
  }

  const YamlNode& node_;
  MapReader map_;
  ProblemList& problems_;
  QdiscConfig qdisc_;
};

void read_ring(const YamlNode& node, const ForwarderModel& model, std::uint32_t& ring, ProblemList& problems) {
  const auto wanted = read_unsigned(node, "rx_ring", {1, UINT32_MAX}, problems);
  if (!wanted) return;
  if (*wanted > model.max_rx_ring) {
    problems.add(node.place, fmt::format("rx_ring {}: {} takes at most {}", *wanted, model.name, model.max_rx_ring),
                 fmt::format("ethtool -g shows the maximum; write {} or less", model.max_rx_ring));
    return;
  }
  ring = static_cast<std::uint32_t>(*wanted);
}

void read_forwarder_ports(const YamlNode& node, const std::string& name, NodeState& state, LabContext& context) {
  ProblemList& problems = context.problems;
  if (!node.is_map()) {
    problems.add(node.place, "ports is not a map", "write ports: {eth1: {rx_ring: 8192}}; ports not named exist too");
    return;
  }
  SwitchConfig& device = context.lab.switches[state.index];
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const PortState* port = find_port(state, name, node.keys[i].text, node.keys[i].place, context);
    const MapReader map(node.children[i], "port " + node.keys[i].text, kForwarderPortKeys, problems);
    if (port == nullptr) continue;
    fabric::ForwarderPort& own = device.forwarder->ports[port->ref.port];
    if (const YamlNode* mtu = map.get("mtu"))
      store(device.ports[port->ref.port].mtu_B,
            read_bytes(*mtu, "mtu", {kMinForwarderMtu_B, device.model.max_mtu_B}, problems));
    if (const YamlNode* ring = map.get("rx_ring")) read_ring(*ring, device.forwarder->model, own.rx_ring, problems);
    if (const YamlNode* qdisc = map.get("qdisc")) store(own.qdisc, QdiscReader(*qdisc, problems).read());
  }
}

}  // namespace

void read_forwarder(const YamlNode& node, NodeState& state, LabContext& context) {
  ProblemList& problems = context.problems;
  const std::string name = context.lab.switches[state.index].name;
  const MapReader map(node, "forwarder " + name, kForwarderKeys, problems);
  state.complete = false;
  const YamlNode* model_name = map.require("model");
  const auto text = model_name == nullptr ? std::nullopt : read_text(*model_name, "model", problems);
  if (!text) return;
  const ForwarderModel* known = context.catalog.forwarder(*text);
  if (known == nullptr) {
    const bool is_switch = context.catalog.switch_model(*text) != nullptr;
    problems.add(model_name->place, fmt::format("there is no forwarder {} in the catalog", in_quotes(*text)),
                 is_switch ? "it is a switch: write kind: switch"
                           : did_you_mean(*text, context.catalog.names(CatalogKind::kForwarder), "forwarders"));
    return;
  }
  ForwarderModel model = *known;
  const YamlNode* set = map.get("set");
  if (set != nullptr) {
    apply_set(*set, model, problems);
    if (model.rx_ring > model.max_rx_ring) {
      const YamlNode* ring = set->find("rx_ring");
      problems.add(ring == nullptr ? set->place : ring->place,
                   fmt::format("rx_ring {}: {} takes at most {}", model.rx_ring, model.name, model.max_rx_ring),
                   fmt::format("ethtool -g shows the maximum; write {} or less", model.max_rx_ring));
    }
  }
  state.complete = add_switch(name, as_switch(model), state, context);
  SwitchConfig& device = context.lab.switches[state.index];
  fabric::ForwarderPort port;
  port.rx_ring = model.rx_ring;
  port.qdisc.limit = model.pfifo_limit;
  if (const YamlNode* qdisc = map.get("qdisc")) store(port.qdisc, QdiscReader(*qdisc, problems).read());
  device.forwarder = {std::move(model), std::vector<fabric::ForwarderPort>(device.ports.size(), port)};
  if (const YamlNode* ports = map.get("ports")) read_forwarder_ports(*ports, name, state, context);
  context.sections[name] = {nullptr, map.get("routing"), map.get("routes")};
}

}  // namespace weft::lab

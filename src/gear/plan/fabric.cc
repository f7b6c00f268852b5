#include "gear/plan/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/nearest.h"
#include "base/plural.h"
#include "catalog/catalog.h"
#include "gear/plan/ports.h"

namespace weft::gear {
namespace {

constexpr double kLeastBuffer_MB = 16;  // a switch that is chosen for you has as much: campus chips have less
constexpr std::uint32_t kMaxHosts = 8192;
constexpr std::uint32_t kFirstAs = 65001, kLastShortAs = 65534, kFirstLongAs = 4200000001;  // RFC 6996

class FabricPlanner {
 public:
  FabricPlanner(const FabricOptions& options, const Market& market) : market_(market) { plan_.options = options; }

  Planned<FabricPlan> run() {
    if (auto done = check(); !done) return tl::unexpected(done.error());
    if (auto done = choose_nic(); !done) return tl::unexpected(done.error());
    if (auto done = choose_switches(); !done) return tl::unexpected(done.error());
    explain_routing();
    name_switches();
    place_hosts();
    if (auto done = draw_cables(); !done) return tl::unexpected(done.error());
    plan_management();
    write_bill();
    return std::move(plan_);
  }

 private:
  const FabricOptions& options() const { return plan_.options; }
  std::uint32_t nics() const { return options().nics_per_host; }
  std::uint32_t ends() const { return plan_.hosts * nics(); }

  Planned<void> check() {
    FabricOptions& o = plan_.options;
    if (o.gpus == 0 || o.gpus_per_host == 0) return plan_error("no GPUs", "add --gpus 64");
    if (o.gpus % o.gpus_per_host != 0)
      return plan_error(fmt::format("{} GPUs are no whole number of hosts of {}", o.gpus, o.gpus_per_host),
                        "say how many each host has with --gpus-per-host");
    if (o.nics_per_host == 0) o.nics_per_host = o.gpus_per_host;
    plan_.hosts = o.gpus / o.gpus_per_host;
    if (plan_.hosts > kMaxHosts)
      return plan_error(fmt::format("{} hosts: two tiers of switches end before", plan_.hosts),
                        fmt::format("plan a pod of at most {} hosts", kMaxHosts));
    if (plan_.hosts < 2) return plan_error("one host needs no fabric", "take more --gpus, or fewer --gpus-per-host");
    if (o.nics_per_host > 16) return plan_error(fmt::format("{} NICs in a host", o.nics_per_host), "take 16 at most");
    if (!(o.oversubscription >= 1 && o.oversubscription <= 64))
      return plan_error("oversubscription is a number from 1 to 64", "1 is none");
    if (!lab::Catalog::built_in().has_gpu(o.gpu)) return unknown_model(o.gpu, lab::CatalogKind::kGpu, "GPU");
    if (o.hosts_per_rack == 0) return plan_error("no hosts in a rack", "take --hosts-per-rack 4");
    return {};
  }

  Planned<void> choose_nic() {
    const lab::Catalog& catalog = lab::Catalog::built_in();
    const auto runs_at = [&](std::string_view name) {
      const auto rates = catalog.link_rates_bps(name);
      return std::find(rates.begin(), rates.end(), options().rate_bps) != rates.end();
    };
    if (!options().nic.empty()) {
      if (catalog.nic(options().nic) == nullptr) return unknown_model(options().nic, lab::CatalogKind::kNic, "NIC");
      if (!runs_at(options().nic))
        return plan_error(fmt::format("{} does not run at {}", options().nic, rate_text(options().rate_bps)));
      plan_.nic = options().nic;
      return {};
    }
    double best = 0;
    for (std::string_view name : catalog.names(lab::CatalogKind::kNic)) {
      const auto device = market_.find(name);
      const auto price = device && runs_at(name) ? (*device)->number("price_used_USD") : std::nullopt;
      if (!price || (!plan_.nic.empty() && price->high >= best)) continue;
      best = price->high;
      plan_.nic = name;
    }
    if (plan_.nic.empty())
      return plan_error(fmt::format("no NIC of the catalog with a price runs at {}", rate_text(options().rate_bps)),
                        "take 25G, 100G, 200G or 400G, or name one with --nic-model");
    return {};
  }

  tl::unexpected<PlanError> unknown_model(const std::string& name, lab::CatalogKind kind, std::string_view what) const {
    const auto near = lab::Catalog::built_in().nearest(name, kind);
    return plan_error(fmt::format("no {} {} in the catalog", what, name),
                      near.empty() ? "weft catalog list shows them" : fmt::format("did you mean {}?", near.front()));
  }

  bool one_switch_holds(const SwitchPorts& leaf) const {
    const bool few = plan_.hosts <= kSingleSwitchNodes || options().single_switch;
    return few && leaf.at_rate(options().rate_bps) >= ends();
  }

  // Nothing: two tiers of these switches cannot do it.
  std::optional<ClosShape> shape_of(const SwitchPorts& leaf, const SwitchPorts& spine) const {
    if (one_switch_holds(leaf)) return ClosShape{1, 0, ends(), 0, 0};
    if (options().single_switch) return std::nullopt;
    return clos_shape(leaf, spine, ends(), options().rate_bps, options().oversubscription);
  }

  std::optional<double> price_of(std::string_view model) const {
    const auto device = market_.find(model);
    const MarketRow* row = device ? (*device)->price_row() : nullptr;
    const auto range = row == nullptr ? std::nullopt : parse_range(row->value);
    return range ? std::optional((range->low + range->high) / 2) : std::nullopt;
  }

  // Which switches were tried, for a message.
  std::string tried() const {
    const std::string &leaf = options().leaf, &spine = options().spine;
    if (leaf.empty() && spine.empty()) return "switches of the catalog";
    if (leaf == spine) return leaf;
    return fmt::format("switches, {} below {},", leaf.empty() ? "any leaf of the catalog" : leaf,
                       spine.empty() ? "any spine of the catalog" : spine);
  }

  Planned<void> choose_switches() {
    const lab::Catalog& catalog = lab::Catalog::built_in();
    for (const std::string& name : {options().leaf, options().spine}) {
      if (!name.empty() && catalog.switch_model(name) == nullptr)
        return unknown_model(name, lab::CatalogKind::kSwitch, "switch");
    }
    std::vector<std::string> models;
    for (std::string_view name : catalog.names(lab::CatalogKind::kSwitch)) {
      const auto device = market_.find(name);
      const auto buffer = device ? (*device)->number("buffer_MB") : std::nullopt;
      if (buffer && buffer->high >= kLeastBuffer_MB && price_of(name)) models.emplace_back(name);
    }
    const std::vector<std::string> leaves = options().leaf.empty() ? models : std::vector{options().leaf};
    double best = 0;
    std::optional<ClosShape> shape;
    for (const std::string& leaf : leaves) {
      // Spines are of the leaf's model unless something else is asked for or does it for less.
      std::vector<std::string> spines = options().spine.empty() ? models : std::vector{options().spine};
      if (options().spine.empty() && std::find(spines.begin(), spines.end(), leaf) == spines.end())
        spines.push_back(leaf);
      for (const std::string& spine : spines) {
        const auto found =
            shape_of(SwitchPorts(*catalog.switch_model(leaf)), SwitchPorts(*catalog.switch_model(spine)));
        if (!found) continue;
        const double cost =
            found->leaves * price_of(leaf).value_or(1e6) + found->spines * price_of(spine).value_or(1e6);
        if (shape && cost >= best) continue;
        best = cost;
        shape = found;
        plan_.leaf_model = leaf;
        plan_.spine_model = spine;
      }
    }
    if (!shape && options().single_switch)
      return plan_error(
          fmt::format("no {} has {} at {}: one switch does not hold {}",
                      options().leaf.empty() ? "switch of the catalog" : options().leaf, counted(ends(), "port"),
                      rate_text(options().rate_bps), counted(plan_.hosts, "host")),
          "leave --single-switch out, or take fewer --nics-per-host");
    if (!shape)
      return plan_error(fmt::format("two tiers of {} do not hold {} at {} with oversubscription {:g}", tried(),
                                    counted(ends(), "port"), rate_text(options().rate_bps), options().oversubscription),
                        "plan a smaller pod, take fewer --nics-per-host, or allow more --oversubscription");
    shape_ = *shape;
    plan_.leaves = shape->leaves;
    plan_.spines = shape->spines;
    plan_.down_ports = shape->per_leaf;
    plan_.uplinks = shape->spines * shape->cables_to_spine;
    plan_.uplink_rate_bps = shape->uplink_bps;
    plan_.routed = shape->leaves > 1;
    plan_.oversubscription =
        shape->spines == 0 ? 1
                           : static_cast<double>(plan_.down_ports) * static_cast<double>(options().rate_bps) /
                                 (static_cast<double>(plan_.uplinks) * static_cast<double>(plan_.uplink_rate_bps));
    return {};
  }

  void explain_routing() {
    const std::string nodes = counted(plan_.hosts, "node");
    if (!plan_.routed) {
      plan_.why = plan_.hosts <= kSingleSwitchNodes
                      ? fmt::format("L2: {}, up to {} one switch is fine", nodes, kSingleSwitchNodes)
                      : fmt::format("L2: {} on one switch, as asked for; a routed Clos pays from {} on", nodes,
                                    kSingleSwitchNodes);
      return;
    }
    if (plan_.hosts > kRoutedOnlyNodes) {
      plan_.why =
          fmt::format("routed: {}, above {} a routed Clos is the only sensible answer", nodes, kRoutedOnlyNodes);
    } else if (plan_.hosts > kSingleSwitchNodes) {
      plan_.why = fmt::format("routed: {}, from {} to {} a routed Clos with two spines starts to pay", nodes,
                              kSingleSwitchNodes, kRoutedOnlyNodes);
      const SwitchPorts leaf(*lab::Catalog::built_in().switch_model(plan_.leaf_model));
      if (leaf.at_rate(options().rate_bps) >= ends())
        plan_.notes.push_back(
            fmt::format("one {} has enough ports for all; --single-switch plans that", plan_.leaf_model));
    } else {
      plan_.why = fmt::format("routed: {} have more ports than one switch; L2 has no multipath over two spines", nodes);
    }
  }

  void name_switches() {
    const std::uint32_t count = plan_.leaves + plan_.spines;
    const std::uint32_t first = count <= kLastShortAs - kFirstAs + 1 ? kFirstAs : kFirstLongAs;
    for (std::uint32_t i = 0; i < count; ++i) {
      FabricSwitch device;
      const bool is_leaf = i < plan_.leaves;
      device.name = is_leaf ? fmt::format("leaf{}", i) : fmt::format("spine{}", i - plan_.leaves);
      device.model = is_leaf ? plan_.leaf_model : plan_.spine_model;
      if (plan_.routed) {
        device.asn = first + i;
        device.loopback = fmt::format("10.255.{}.{}", (i + 1) / 256, (i + 1) % 256);
      }
      plan_.switches.push_back(std::move(device));
    }
  }

  std::uint32_t leaf_of(std::uint32_t end) const { return end / shape_.per_leaf; }

  void place_hosts() {
    std::vector<std::uint32_t> used(plan_.leaves);
    for (std::uint32_t nic = 0; nic < nics(); ++nic) {
      for (std::uint32_t host = 0; host < plan_.hosts; ++host) {
        const std::uint32_t leaf = leaf_of(nic * plan_.hosts + host);
        // A subnet for each rail of each leaf: two NICs of a host are never in one.
        const std::string subnet = plan_.routed ? fmt::format("10.{}.{}.", 1 + 8 * nic + leaf / 256, leaf % 256)
                                                : fmt::format("10.10.{}.", 1 + nic);
        FabricSwitch& device = plan_.switches[leaf];
        if (device.subnets.empty() || device.subnets.back() != subnet + "0/24") {
          device.subnets.push_back(subnet + "0/24");
          used[leaf] = 0;
        }
        plan_.host_ports.push_back({host, nic, fmt::format("{}{}/24", subnet, ++used[leaf])});
      }
    }
  }

  std::uint32_t rack_of(const std::string& device, std::uint32_t middle_host) const {
    if (device.starts_with("spine") || nics() > 1 || plan_.leaves == 1) return (racks() - 1) / 2;
    return middle_host / options().hosts_per_rack;
  }
  std::uint32_t racks() const { return (plan_.hosts + options().hosts_per_rack - 1) / options().hosts_per_rack; }

  Planned<void> draw_cables() {
    const lab::Catalog& catalog = lab::Catalog::built_in();
    const SwitchPorts leaf_ports(*catalog.switch_model(plan_.leaf_model));
    const SwitchPorts spine_ports(*catalog.switch_model(plan_.spine_model));
    std::vector<std::uint32_t> down(plan_.leaves), taken(plan_.leaves + plan_.spines);
    const auto middle = [&](std::uint32_t leaf) {
      return std::min(plan_.hosts - 1, leaf * shape_.per_leaf + shape_.per_leaf / 2);
    };
    for (std::size_t e = 0; e < plan_.host_ports.size(); ++e) {
      const FabricHostPort& port = plan_.host_ports[e];
      const std::uint32_t leaf = leaf_of(static_cast<std::uint32_t>(e));
      const FabricSwitch& device = plan_.switches[leaf];
      const std::uint32_t number = leaf_ports.down_port(options().rate_bps, down[leaf]++);
      ++taken[leaf];
      add_cable(fmt::format("h{}:p{}", port.host, port.nic), port.host / options().hosts_per_rack,
                device.name + ":" + leaf_ports.name(number), rack_of(device.name, middle(leaf)), options().rate_bps);
    }
    std::vector<std::uint32_t> up(plan_.leaves), from_leaves(plan_.spines);
    for (std::uint32_t leaf = 0; leaf < plan_.leaves && plan_.spines > 0; ++leaf) {
      for (std::uint32_t spine = 0; spine < plan_.spines; ++spine) {
        for (std::uint32_t i = 0; i < shape_.cables_to_spine; ++i) {
          const FabricSwitch &below = plan_.switches[leaf], &above = plan_.switches[plan_.leaves + spine];
          const std::uint32_t a = leaf_ports.up_port(plan_.uplink_rate_bps, up[leaf]++);
          const std::uint32_t b = spine_ports.down_port(plan_.uplink_rate_bps, from_leaves[spine]++);
          ++taken[leaf];
          ++taken[plan_.leaves + spine];
          add_cable(below.name + ":" + leaf_ports.name(a), rack_of(below.name, middle(leaf)),
                    above.name + ":" + spine_ports.name(b), rack_of(above.name, 0), plan_.uplink_rate_bps);
        }
      }
    }
    for (std::uint32_t i = 0; i < plan_.switches.size(); ++i)
      plan_.switches[i].ports_left = (i < plan_.leaves ? leaf_ports : spine_ports).usable() - taken[i];
    return {};
  }

  void add_cable(std::string from, std::uint32_t rack, std::string to, std::uint32_t other_rack,
                 std::int64_t rate_bps) {
    FabricCable cable;
    cable.from = std::move(from);
    cable.to = std::move(to);
    cable.length_m = cable_length_m(rack, other_rack);
    cable.rate_bps = rate_bps;
    const MarketDevice* sold = cable_for(rate_bps, cable.length_m);
    cable.kind = sold == nullptr ? "fibre" : sold->value("cable_kind");
    plan_.cables.push_back(std::move(cable));
  }

  // The cheapest that reaches; null where none does.
  const MarketDevice* cable_for(std::int64_t rate_bps, std::uint32_t length_m) const {
    const MarketDevice* best = nullptr;
    for (const MarketDevice* cable : market_.of_kind("cable")) {
      const auto rate = cable->number("rate_G"), reach = cable->number("reach_m"),
                 price = cable->number("price_new_USD");
      if (!rate || !reach || !price || rate->low * 1e9 != static_cast<double>(rate_bps) || reach->low < length_m)
        continue;
      if (best == nullptr || price->high < best->number("price_new_USD")->high) best = cable;
    }
    return best;
  }

  // A port for each host, its BMC and each switch, and one of each management switch to the next.
  void plan_management() {
    plan_.management_ports = 2 * plan_.hosts + plan_.leaves + plan_.spines;
    constexpr std::uint32_t kPorts = 47;
    plan_.management_switches = (plan_.management_ports + kPorts - 1) / kPorts;
  }

  void add_item(std::string what, std::uint64_t count, const MarketDevice* device) {
    BillItem item;
    item.what = std::move(what);
    item.count = count;
    const MarketRow* price = device == nullptr ? nullptr : device->price_row();
    if (price != nullptr) {
      item.price_USD = parse_range(price->value);
      item.source = fmt::format("[{}] {}, {}", price->tag, price->source, price->date);
    } else {
      plan_.notes.push_back(fmt::format("{}: no price is known, it is not in the sum", item.what));
    }
    if (device != nullptr) {
      const auto typical = device->number("power_typical_W"), most = device->number("power_max_W");
      const auto ends = device->number("power_end_W");
      item.watts_typical = ends ? 2 * ends->low : typical ? typical->low : most ? most->low : 0;
      item.watts_max = ends ? 2 * ends->high : most ? most->high : item.watts_typical;
    }
    plan_.bill.push_back(std::move(item));
  }

  const MarketDevice* sold(std::string_view model) const {
    const auto found = market_.find(model);
    return found ? *found : nullptr;
  }

  void write_bill() {
    add_item("NIC " + plan_.nic, ends(), sold(plan_.nic));
    add_item("leaf " + plan_.leaf_model, plan_.leaves, sold(plan_.leaf_model));
    if (plan_.spines > 0) add_item("spine " + plan_.spine_model, plan_.spines, sold(plan_.spine_model));
    struct Group {
      FabricCable cable;
      std::uint64_t count = 0;
    };
    std::vector<Group> groups;
    for (const FabricCable& cable : plan_.cables) {
      const auto same = [&](const Group& group) {
        return group.cable.kind == cable.kind && group.cable.length_m == cable.length_m &&
               group.cable.rate_bps == cable.rate_bps;
      };
      auto found = std::find_if(groups.begin(), groups.end(), same);
      if (found == groups.end()) found = groups.insert(groups.end(), {cable, 0});
      ++found->count;
    }
    std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
      return std::pair(a.cable.rate_bps, a.cable.length_m) < std::pair(b.cable.rate_bps, b.cable.length_m);
    });
    for (const Group& group : groups)
      add_item(fmt::format("cable {} {} {} m", group.cable.kind, rate_text(group.cable.rate_bps), group.cable.length_m),
               group.count, cable_for(group.cable.rate_bps, group.cable.length_m));
    add_item("management switch, 48 x 1 GbE", plan_.management_switches, sold("Management-48x1G"));
  }

  const Market& market_;
  FabricPlan plan_;
  ClosShape shape_;
};

}  // namespace

Planned<FabricPlan> plan_fabric(const FabricOptions& options, const Market& market) {
  return FabricPlanner(options, market).run();
}

}  // namespace weft::gear

#include "gear/plan/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/nearest.h"
#include "base/plural.h"
#include "catalog/catalog.h"
#include "gear/plan/bill.h"
#include "gear/plan/ports.h"

namespace weft::gear {
namespace {

constexpr double kLeastBuffer_MB = 16;  // a switch that is chosen for you has as much: campus chips have less
constexpr std::uint32_t kMaxHosts = 8192;
constexpr std::uint32_t kMaxJoinedHosts = 3;                                                // without a switch
constexpr std::uint32_t kFirstAs = 65001, kLastShortAs = 65534, kFirstLongAs = 4200000001;  // RFC 6996

class FabricPlanner {
 public:
  FabricPlanner(const FabricOptions& options, const Market& market) : market_(market) { plan_.options = options; }

  Planned<FabricPlan> run() {
    if (auto done = check(); !done) return tl::unexpected(done.error());
    if (auto done = choose_nic(); !done) return tl::unexpected(done.error());
    if (options().leaf == kNoSwitch) {
      if (auto done = join_hosts(); !done) return tl::unexpected(done.error());
    } else {
      if (auto done = choose_switches(); !done) return tl::unexpected(done.error());
      explain_routing();
      name_switches();
      place_hosts();
      draw_cables();
    }
    plan_management();
    write_bill(plan_, market_);
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
      return plan_error(fmt::format("{} hosts: addresses and names are for fewer", plan_.hosts),
                        fmt::format("plan a pod of at most {} hosts", kMaxHosts));
    if (plan_.hosts < 2) return plan_error("one host needs no fabric", "take more --gpus, or fewer --gpus-per-host");
    if (o.nics_per_host > 16) return plan_error(fmt::format("{} NICs in a host", o.nics_per_host), "take 16 at most");
    if (!(o.oversubscription >= 1 && o.oversubscription <= 64))
      return plan_error("oversubscription is a number from 1 to 64", "1 is none");
    if (!lab::Catalog::built_in().has_gpu(o.gpu)) return unknown_model(o.gpu, lab::CatalogKind::kGpu, "GPU");
    if (o.budget_USD && !(*o.budget_USD > 0)) return plan_error("a budget is a number above zero", "add --budget 3000");
    if (o.single_switch && o.clos) return plan_error("--single-switch and --clos exclude each other");
    if (o.leaf == kNoSwitch && (o.single_switch || o.clos || !o.spine.empty()))
      return plan_error("without a switch there are no leaves and spines",
                        "leave --single-switch, --clos and --spine out, or name a switch");
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
        return plan_error(fmt::format("{} does not run at {}", options().nic, speed_name(options().rate_bps)));
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
      return plan_error(fmt::format("no NIC of the catalog with a price runs at {}", speed_name(options().rate_bps)),
                        "take 25G, 100G, 200G or 400G, or name one with --nic-model");
    return {};
  }

  tl::unexpected<PlanError> unknown_model(const std::string& name, lab::CatalogKind kind, std::string_view what) const {
    const auto near = lab::Catalog::built_in().nearest(name, kind);
    return plan_error(fmt::format("no {} {} in the catalog", what, name),
                      near.empty() ? "weft catalog list shows them" : fmt::format("did you mean {}?", near.front()));
  }

  bool one_switch_holds(const SwitchPorts& leaf) const {
    return !options().clos && leaf.at_rate(options().rate_bps) >= ends();
  }

  // Nothing: three tiers of these switches cannot do it.
  std::optional<ClosShape> shape_of(const SwitchPorts& leaf, const SwitchPorts& spine) const {
    if (one_switch_holds(leaf)) return ClosShape{1, 0, ends(), 0, 0};
    if (options().single_switch) return std::nullopt;
    const auto two = clos_shape(leaf, spine, ends(), options().rate_bps, options().oversubscription);
    return two ? two : three_tier_shape(leaf, spine, ends(), options().rate_bps, options().oversubscription);
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
        const double cost = found->leaves * price_of(leaf).value_or(1e6) +
                            (found->spines + found->cores()) * price_of(spine).value_or(1e6);
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
                      speed_name(options().rate_bps), counted(plan_.hosts, "host")),
          "leave --single-switch out, or take fewer --nics-per-host");
    if (!shape)
      return plan_error(
          fmt::format("three tiers of {} do not hold {} at {} with oversubscription {:g}", tried(),
                      counted(ends(), "port"), speed_name(options().rate_bps), options().oversubscription),
          "plan a smaller pod, take fewer --nics-per-host, or allow more --oversubscription");
    shape_ = *shape;
    plan_.leaves = shape->leaves;
    plan_.spines = shape->spines;
    plan_.cores = shape->cores();
    plan_.pods = shape->pods;
    plan_.down_ports = shape->per_leaf;
    plan_.uplinks = shape->planes() * shape->cables_to_spine;
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
      plan_.why = fmt::format("L2: one switch has ports for all {}", nodes);
      if (plan_.hosts > kSingleSwitchNodes)
        plan_.notes.push_back(
            fmt::format("everything depends on one switch; above {} nodes two spines start to pay for themselves: "
                        "--clos plans leaves and spines",
                        kSingleSwitchNodes));
      if (plan_.hosts <= kMaxJoinedHosts)
        plan_.notes.push_back(
            fmt::format("{} need no switch: --switch {} plans a cable between each two of them", nodes, kNoSwitch));
    } else if (plan_.cores > 0) {
      plan_.why = fmt::format("routed: {} have more ports than two tiers of these switches", nodes);
    } else if (plan_.hosts > kRoutedOnlyNodes) {
      plan_.why = fmt::format("routed: {}, above {} a routed Clos is the only sensible answer with several switches",
                              nodes, kRoutedOnlyNodes);
    } else if (plan_.hosts > kSingleSwitchNodes) {
      plan_.why = fmt::format("routed: {}, from {} to {} a routed Clos with two spines starts to pay", nodes,
                              kSingleSwitchNodes, kRoutedOnlyNodes);
    } else {
      plan_.why = fmt::format("routed: {} on several switches; L2 has no multipath over two spines", nodes);
    }
  }

  void name_switches() {
    const std::uint32_t count = plan_.leaves + plan_.spines + plan_.cores;
    const std::uint32_t first = count <= kLastShortAs - kFirstAs + 1 ? kFirstAs : kFirstLongAs;
    for (std::uint32_t i = 0; i < count; ++i) {
      FabricSwitch device;
      const bool is_leaf = i < plan_.leaves;
      const std::uint32_t above = i - plan_.leaves;
      device.name = is_leaf                ? fmt::format("leaf{}", i)
                    : above < plan_.spines ? fmt::format("spine{}", above)
                                           : fmt::format("core{}", above - plan_.spines);
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
    if (!device.starts_with("leaf") || plan_.leaves == 1) return (racks() - 1) / 2;
    return middle_host / options().hosts_per_rack;
  }
  std::uint32_t racks() const { return (plan_.hosts + options().hosts_per_rack - 1) / options().hosts_per_rack; }

  void draw_cables() {
    const lab::Catalog& catalog = lab::Catalog::built_in();
    const SwitchPorts leaf_ports(*catalog.switch_model(plan_.leaf_model));
    const SwitchPorts spine_ports(*catalog.switch_model(plan_.spine_model));
    // Ports that were taken of each switch: from the first on towards hosts, from the last on towards spines and cores.
    const auto host_side = leaf_ports.in_order(options().rate_bps),
               leaf_uplinks = leaf_ports.in_order(plan_.uplink_rate_bps),
               spine_links = spine_ports.in_order(plan_.uplink_rate_bps);
    std::vector<std::uint32_t> down(plan_.switches.size()), up(plan_.switches.size());
    // Rail by rail: the ports of a leaf are those of hosts side by side.
    const auto middle = [&](std::uint32_t leaf) {
      return (leaf * shape_.per_leaf + shape_.per_leaf / 2) % plan_.hosts;
    };
    for (std::size_t e = 0; e < plan_.host_ports.size(); ++e) {
      const FabricHostPort& port = plan_.host_ports[e];
      const std::uint32_t leaf = leaf_of(static_cast<std::uint32_t>(e));
      const FabricSwitch& device = plan_.switches[leaf];
      const std::uint32_t number = host_side.at(down[leaf]++);
      add_cable(fmt::format("h{}:p{}", port.host, port.nic), port.host / options().hosts_per_rack,
                device.name + ":" + leaf_ports.name(number), rack_of(device.name, middle(leaf)), options().rate_bps);
    }
    const auto join = [&](std::uint32_t below, std::uint32_t below_rack, std::uint32_t above) {
      const bool is_leaf = below < plan_.leaves;
      const auto& uplinks = is_leaf ? leaf_uplinks : spine_links;
      const std::uint32_t a = uplinks.at(uplinks.size() - 1 - up[below]++), b = spine_links.at(down[above]++);
      add_cable(plan_.switches[below].name + ":" + (is_leaf ? leaf_ports : spine_ports).name(a), below_rack,
                plan_.switches[above].name + ":" + spine_ports.name(b), rack_of(plan_.switches[above].name, 0),
                plan_.uplink_rate_bps);
    };
    const std::uint32_t planes = shape_.planes(), first_core = plan_.leaves + plan_.spines;
    for (std::uint32_t leaf = 0; leaf < plan_.leaves && plan_.spines > 0; ++leaf) {
      const std::uint32_t pod = shape_.leaves_per_pod == 0 ? 0 : leaf / shape_.leaves_per_pod;
      for (std::uint32_t plane = 0; plane < planes; ++plane) {
        for (std::uint32_t i = 0; i < shape_.cables_to_spine; ++i)
          join(leaf, rack_of(plan_.switches[leaf].name, middle(leaf)), plan_.leaves + pod * planes + plane);
      }
    }
    for (std::uint32_t spine = 0; spine < plan_.spines; ++spine) {
      for (std::uint32_t core = 0; core < shape_.cores_per_plane; ++core) {
        for (std::uint32_t i = 0; i < shape_.cables_to_core; ++i)
          join(plan_.leaves + spine, rack_of("spine", 0), first_core + spine % planes * shape_.cores_per_plane + core);
      }
    }
    for (std::uint32_t i = 0; i < plan_.switches.size(); ++i)
      plan_.switches[i].ports_left = (i < plan_.leaves ? leaf_ports : spine_ports).usable() - down[i] - up[i];
  }

  // A cable, and a subnet of its own, between each two hosts; with several NICs for each two several.
  Planned<void> join_hosts() {
    if (plan_.hosts > kMaxJoinedHosts)
      return plan_error(fmt::format("{} hosts without a switch", plan_.hosts),
                        fmt::format("{} at most: each needs a port for each other", kMaxJoinedHosts));
    const std::uint32_t others = plan_.hosts - 1;
    if (nics() % others != 0)
      return plan_error(fmt::format("{} of each host for {}", counted(nics(), "port"), counted(others, "other")),
                        fmt::format("take --nics-per-host {}", (nics() / others + 1) * others));
    plan_.host_ports.resize(std::size_t{plan_.hosts} * nics());
    std::uint32_t subnet = 0;
    for (std::uint32_t round = 0; round < nics() / others; ++round) {
      for (std::uint32_t a = 0; a < plan_.hosts; ++a) {
        for (std::uint32_t b = a + 1; b < plan_.hosts; ++b, ++subnet) {
          const std::uint32_t nic_a = round * others + b - 1, nic_b = round * others + a;
          plan_.host_ports[nic_a * plan_.hosts + a] = {a, nic_a, fmt::format("10.10.{}.1/24", 1 + subnet)};
          plan_.host_ports[nic_b * plan_.hosts + b] = {b, nic_b, fmt::format("10.10.{}.2/24", 1 + subnet)};
          add_cable(fmt::format("h{}:p{}", a, nic_a), a / options().hosts_per_rack, fmt::format("h{}:p{}", b, nic_b),
                    b / options().hosts_per_rack, options().rate_bps);
        }
      }
    }
    plan_.why = fmt::format("no switch: {}, a cable and a subnet for each two", counted(plan_.hosts, "node"));
    plan_.oversubscription = 1;
    plan_.notes.emplace_back("NICs without a switch show PFC and no ECN: nothing between them marks packets");
    if (others > 1) plan_.notes.emplace_back("a NIC with two ports counts as two NICs in the bill");
    return {};
  }

  void add_cable(std::string from, std::uint32_t rack, std::string to, std::uint32_t other_rack,
                 std::int64_t rate_bps) {
    FabricCable cable;
    cable.from = std::move(from);
    cable.to = std::move(to);
    cable.length_m = cable_length_m(rack, other_rack);
    cable.rate_bps = rate_bps;
    const auto [kind, is_new] = cable_kinds_.try_emplace({rate_bps, cable.length_m});
    if (is_new) {
      const MarketDevice* sold = cable_for(market_, rate_bps, cable.length_m);
      kind->second = sold == nullptr ? "fibre" : sold->value("cable_kind");
    }
    cable.kind = kind->second;
    plan_.cables.push_back(std::move(cable));
  }

  // A port for each host, its BMC and each switch, and one of each management switch to the next.
  void plan_management() {
    plan_.management_ports = 2 * plan_.hosts + static_cast<std::uint32_t>(plan_.switches.size());
    constexpr std::uint32_t kPorts = 47;
    plan_.management_switches = (plan_.management_ports + kPorts - 1) / kPorts;
  }

  const Market& market_;
  FabricPlan plan_;
  ClosShape shape_;
  std::map<std::pair<std::int64_t, std::uint32_t>, std::string> cable_kinds_;  // by rate and length
};

}  // namespace

Planned<FabricPlan> plan_fabric(const FabricOptions& options, const Market& market) {
  return FabricPlanner(options, market).run();
}

}  // namespace weft::gear

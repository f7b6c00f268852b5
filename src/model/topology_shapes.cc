// The shapes of the templates: which ports are joined. Hosts take the first ports of a switch, uplinks the last of the
// fastest ones.
#include <fmt/format.h>

#include "model/topology_builder.h"

namespace weft::lab {
namespace {

// Hosts [begin, end) of `hosts` belong to leaf `leaf` of `leaves`: as even as it goes, in order.
std::uint32_t first_host(std::uint32_t leaf, std::uint32_t leaves, std::uint32_t hosts) {
  return static_cast<std::uint32_t>(std::uint64_t{leaf} * hosts / leaves);
}

void direct(FabricBuilder& builder) {
  const std::uint32_t a = builder.add_host(), b = builder.add_host();
  builder.join(builder.host_port(a, 0, 0, 0), builder.host_port(b, 0, 0, 1), builder.spec().cable);
}

// Port 1 of a host to port 0 of the next; each cable is a subnet.
void ring(FabricBuilder& builder) {
  const std::uint32_t count = builder.spec().hosts;
  for (std::uint32_t i = 0; i < count; ++i) builder.add_host(1, 2);
  for (std::uint32_t i = 0; i < count; ++i) {
    builder.join(builder.host_port(i, 1, i, 0), builder.host_port((i + 1) % count, 0, i, 1), builder.spec().cable);
  }
}

void single_switch(FabricBuilder& builder) {
  const FabricSpec& spec = builder.spec();
  if (!builder.fits("the switch", spec.hosts, 0, *spec.leaf)) return;
  const std::vector<std::uint32_t> ports = usable_ports(*spec.leaf).all;
  builder.set_subnet_members(spec.hosts);
  const std::uint32_t device = builder.add_switch("leaf", 0, *spec.leaf);
  for (std::uint32_t i = 0; i < spec.hosts; ++i) {
    builder.join(builder.host_port(builder.add_host(), 0, 0, i), FabricBuilder::switch_port(device, ports[i]),
                 spec.cable);
  }
}

// Every leaf to every spine, `uplinks` times.
void join_spines(FabricBuilder& builder, const std::vector<std::uint32_t>& leaves) {
  const FabricSpec& spec = builder.spec();
  if (spec.spines == 0) return;
  const auto up = usable_ports(*spec.leaf).uplinks(spec.spines * spec.uplinks);
  const auto down = usable_ports(*spec.spine).fast;
  for (std::uint32_t s = 0; s < spec.spines; ++s) {
    const std::uint32_t spine = builder.add_switch("spine", s, *spec.spine);
    for (std::uint32_t l = 0; l < leaves.size(); ++l) {
      for (std::uint32_t u = 0; u < spec.uplinks; ++u) {
        builder.join(FabricBuilder::switch_port(leaves[l], up[s * spec.uplinks + u]),
                     FabricBuilder::switch_port(spine, down[l * spec.uplinks + u]), spec.uplink_cable);
      }
      if (spec.uplink_lag) builder.bundle(spec.uplinks);
    }
  }
}

void leaf_spine(FabricBuilder& builder) {
  const FabricSpec& spec = builder.spec();
  const std::uint32_t most = (spec.hosts + spec.leaves - 1) / spec.leaves;
  if (!builder.fits("a leaf", most, spec.spines * spec.uplinks, *spec.leaf)) return;
  if (!builder.fits("a spine", 0, spec.leaves * spec.uplinks, *spec.spine)) return;
  builder.set_subnet_members(most);
  const auto ports = usable_ports(*spec.leaf).without_uplinks(spec.spines * spec.uplinks);
  std::vector<std::uint32_t> leaves;
  for (std::uint32_t l = 0; l < spec.leaves; ++l) leaves.push_back(builder.add_switch("leaf", l, *spec.leaf));
  for (std::uint32_t l = 0; l < spec.leaves; ++l) {
    const std::uint32_t begin = first_host(l, spec.leaves, spec.hosts),
                        end = first_host(l + 1, spec.leaves, spec.hosts);
    for (std::uint32_t i = begin; i < end; ++i) {
      builder.join(builder.host_port(builder.add_host(), 0, l, i - begin),
                   FabricBuilder::switch_port(leaves[l], ports[i - begin]), spec.cable);
    }
  }
  join_spines(builder, leaves);
}

// NIC r of every host goes to the leaf of rail r; `leaves` is how many leaves each rail has.
void rail_optimised(FabricBuilder& builder) {
  const FabricSpec& spec = builder.spec();
  const std::uint32_t most = (spec.hosts + spec.leaves - 1) / spec.leaves;
  if (!builder.fits("a leaf", most, spec.spines * spec.uplinks, *spec.leaf)) return;
  if (spec.spines > 0 && !builder.fits("a spine", 0, spec.leaves * spec.rails * spec.uplinks, *spec.spine)) return;
  builder.set_subnet_members(most);
  const auto ports = usable_ports(*spec.leaf).without_uplinks(spec.spines * spec.uplinks);
  std::vector<std::uint32_t> leaves;
  for (std::uint32_t l = 0; l < spec.leaves * spec.rails; ++l)
    leaves.push_back(builder.add_switch("leaf", l, *spec.leaf));
  for (std::uint32_t unit = 0; unit < spec.leaves; ++unit) {
    const std::uint32_t begin = first_host(unit, spec.leaves, spec.hosts);
    const std::uint32_t end = first_host(unit + 1, spec.leaves, spec.hosts);
    for (std::uint32_t i = begin; i < end; ++i) {
      const std::uint32_t host = builder.add_host(spec.rails);
      for (std::uint32_t r = 0; r < spec.rails; ++r) {
        const std::uint32_t leaf = unit * spec.rails + r;
        builder.join(builder.host_port(host, r, leaf, i - begin),
                     FabricBuilder::switch_port(leaves[leaf], ports[i - begin]), spec.cable);
      }
    }
  }
  join_spines(builder, leaves);
}

// k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 core switches (Al-Fares et al., SIGCOMM'08). Fewer hosts
// than k^3/4 fill the first pods.
void fat_tree(FabricBuilder& builder) {
  const FabricSpec& spec = builder.spec();
  const std::uint32_t half = spec.k / 2;
  if (!builder.fits("an edge switch", half, half, *spec.leaf)) return;
  if (!builder.fits("an aggregation or core switch", 0, spec.k, *spec.spine)) return;
  const auto edge_down = usable_ports(*spec.leaf).without_uplinks(half),
             edge_up = usable_ports(*spec.leaf).uplinks(half);
  const auto down = usable_ports(*spec.spine).fast, agg_up = usable_ports(*spec.spine).uplinks(half);
  const std::uint32_t pods = (spec.hosts + half * half - 1) / (half * half);
  builder.set_subnet_members(half);
  std::vector<std::uint32_t> edges, aggs, cores;
  for (std::uint32_t i = 0; i < pods * half; ++i) edges.push_back(builder.add_switch("edge", i, *spec.leaf));
  for (std::uint32_t i = 0; i < pods * half; ++i) aggs.push_back(builder.add_switch("agg", i, *spec.spine));
  for (std::uint32_t i = 0; i < half * half; ++i) cores.push_back(builder.add_switch("core", i, *spec.spine));
  for (std::uint32_t i = 0; i < spec.hosts; ++i) {
    const std::uint32_t edge = i / half;
    builder.join(builder.host_port(builder.add_host(), 0, edge, i % half),
                 FabricBuilder::switch_port(edges[edge], edge_down[i % half]), spec.cable);
  }
  for (std::uint32_t pod = 0; pod < pods; ++pod) {
    for (std::uint32_t e = 0; e < half; ++e) {
      for (std::uint32_t a = 0; a < half; ++a) {
        builder.join(FabricBuilder::switch_port(edges[pod * half + e], edge_up[a]),
                     FabricBuilder::switch_port(aggs[pod * half + a], down[e]), spec.uplink_cable);
      }
    }
    for (std::uint32_t a = 0; a < half; ++a) {
      for (std::uint32_t c = 0; c < half; ++c) {
        builder.join(FabricBuilder::switch_port(aggs[pod * half + a], agg_up[c]),
                     FabricBuilder::switch_port(cores[a * half + c], down[pod]), spec.uplink_cable);
      }
    }
  }
}

// Switches of a group are fully joined; each pair of groups has one cable, dealt to the switches in turn.
void dragonfly(FabricBuilder& builder) {
  const FabricSpec& spec = builder.spec();
  const std::uint32_t size = spec.switches, groups = spec.groups;
  const std::uint32_t global = (groups - 1 + size - 1) / size;
  if (!builder.fits("a switch", spec.hosts_per_switch, size - 1 + global, *spec.leaf)) return;
  const UsablePorts usable = usable_ports(*spec.leaf);
  const auto host_ports = usable.without_uplinks(size - 1 + global), trunks = usable.uplinks(size - 1 + global);
  builder.set_subnet_members(spec.hosts_per_switch);
  std::vector<std::uint32_t> devices, next_trunk(groups * size);
  for (std::uint32_t i = 0; i < groups * size; ++i) devices.push_back(builder.add_switch("sw", i, *spec.leaf));
  for (std::uint32_t i = 0; i < groups * size; ++i) {
    for (std::uint32_t p = 0; p < spec.hosts_per_switch; ++p) {
      builder.join(builder.host_port(builder.add_host(), 0, i, p), FabricBuilder::switch_port(devices[i], p),
                   spec.cable);
    }
  }
  const auto join = [&](std::uint32_t a, std::uint32_t b, const CableSpec& cable) {
    builder.join(FabricBuilder::switch_port(devices[a], trunks[next_trunk[a]++]),
                 FabricBuilder::switch_port(devices[b], trunks[next_trunk[b]++]), cable);
  };
  for (std::uint32_t g = 0; g < groups; ++g) {
    for (std::uint32_t a = 0; a < size; ++a) {
      for (std::uint32_t b = a + 1; b < size; ++b) join(g * size + a, g * size + b, spec.cable);
    }
  }
  // Seen from group g, the others are numbered without g itself.
  for (std::uint32_t g = 0; g < groups; ++g) {
    for (std::uint32_t h = g + 1; h < groups; ++h) {
      join(g * size + (h - 1) % size, h * size + g % size, spec.uplink_cable);
    }
  }
}

}  // namespace

void build_fabric(const FabricSpec& spec, LabDraft& draft) {
  FabricBuilder builder(spec, draft);
  switch (spec.shape) {
    case FabricTemplate::kDirect:
      return direct(builder);
    case FabricTemplate::kRing:
      return ring(builder);
    case FabricTemplate::kSingleSwitch:
      return single_switch(builder);
    case FabricTemplate::kLeafSpine:
      return leaf_spine(builder);
    case FabricTemplate::kRailOptimised:
      return rail_optimised(builder);
    case FabricTemplate::kFatTree:
      return fat_tree(builder);
    case FabricTemplate::kDragonfly:
      return dragonfly(builder);
  }
}

}  // namespace weft::lab

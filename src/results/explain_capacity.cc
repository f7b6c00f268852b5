// Why a queue had more than its link could carry, where the lab says so: flows that a hash put on one of several equal
// ports, more ports in than out, a burst beyond the pool.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/figures.h"
#include "base/plural.h"
#include "results/explain_parts.h"

namespace weft::lab {
namespace {

constexpr double kUneven = 1.25;          // times the average of a group: a hash has put too much there
constexpr double kOversubscribed = 1.05;  // more in than out
constexpr double kLongestBurst_s = 2e-3;  // what waits longer is a load, and no pool is meant to hold it

double busy_of(const ExplainContext& context, const std::string& port) {
  const auto use = context.use_of.find(port);
  return use == context.use_of.end() ? 0 : use->second.busy;
}

std::int64_t rate_of(const ExplainContext& context, const std::string& port) {
  const auto link = context.link_of.find(port);
  return link == context.link_of.end() ? 0 : link->second->rate_bps;
}

std::size_t queue_pairs_of(const ExplainContext& context, const std::string& port) {
  const auto users = context.users_of.find(port);
  return users == context.users_of.end() ? 0 : users->second.queue_pairs;
}

std::string port_part(const std::string& port) {
  return port.substr(port.find(':') + 1);
}

bool is_switch(const ExplainContext& context, const std::string& node) {
  return std::any_of(context.evidence.pools.begin(), context.evidence.pools.end(),
                     [&](const PoolEvidence& each) { return each.node == node; });
}

// The largest group of equal ports that it is in; null: none.
const RouteGroupEvidence* group_of(const ExplainContext& context, const std::string& port) {
  const RouteGroupEvidence* out = nullptr;
  for (const RouteGroupEvidence& each : context.evidence.route_groups) {
    if (std::find(each.ports.begin(), each.ports.end(), port) == each.ports.end()) continue;
    if (out == nullptr || each.ports.size() > out->ports.size()) out = &each;
  }
  return out;
}

// Flows went by the others meanwhile: that is no matter of the hash.
bool was_down(const ExplainContext& context, const RouteGroupEvidence& group) {
  return std::any_of(context.evidence.events.begin(), context.evidence.events.end(), [&](const EventEvidence& event) {
    return event.kind == "link_down" &&
           (std::find(group.ports.begin(), group.ports.end(), event.port) != group.ports.end() ||
            std::find(group.ports.begin(), group.ports.end(), event.peer) != group.ports.end());
  });
}

// "swp31 99 % busy with 2 queue pairs, swp32 idle", the busiest first.
std::string loads_text(const ExplainContext& context, std::vector<std::string> ports) {
  std::stable_sort(ports.begin(), ports.end(), [&](const std::string& a, const std::string& b) {
    return busy_of(context, a) > busy_of(context, b);
  });
  std::string out;
  for (const std::string& port : ports) {
    const std::size_t pairs = queue_pairs_of(context, port);
    out += fmt::format(
        "{}{} {}", out.empty() ? "" : ", ", port_part(port),
        pairs == 0 && busy_of(context, port) < 0.005
            ? std::string("idle")
            : fmt::format("{} busy with {}", share_text(busy_of(context, port)), counted(pairs, "queue pair")));
  }
  return out;
}

struct Load {
  std::set<std::string> sources, ingress;  // ports of hosts that send; ports of the node that they come in by
};
// Of data that leaves by one of these ports.
Load load_of(const ExplainContext& context, const std::vector<std::string>& ports) {
  Load load;
  for (const SenderEvidence& sender : context.evidence.senders) {
    if (sender.packets == 0 || sender.only_asks) continue;
    for (std::size_t i = 0; i < sender.path.size(); ++i) {
      if (std::find(ports.begin(), ports.end(), sender.path[i]) == ports.end()) continue;
      load.sources.insert(sender.from);
      const auto before = i == 0 ? context.link_of.end() : context.link_of.find(sender.path[i - 1]);
      if (before != context.link_of.end()) load.ingress.insert(before->second->to);
    }
  }
  return load;
}

std::int64_t sum_of(const ExplainContext& context, const auto& ports) {
  std::int64_t sum_bps = 0;
  for (const std::string& port : ports) sum_bps += rate_of(context, port);
  return sum_bps;
}

std::optional<CapacityCause> collision(const ExplainContext& context, const std::string& root) {
  const RouteGroupEvidence* group = group_of(context, root);
  if (group == nullptr || queue_pairs_of(context, root) < 2 || was_down(context, *group)) return std::nullopt;
  double sum = 0;
  std::size_t idle = 0;
  for (const std::string& port : group->ports) {
    sum += busy_of(context, port);
    idle += queue_pairs_of(context, port) == 0 ? 1 : 0;
  }
  const double mean = sum / static_cast<double>(group->ports.size());
  if (busy_of(context, root) < kUneven * mean) return std::nullopt;
  CapacityCause out;
  const std::size_t others = group->ports.size() - 1;
  const std::string name = group->lag.empty() ? "ECMP collision" : fmt::format("uneven LAG {}", group->lag);
  const std::string all = counted(others, group->lag.empty() ? "other equal port" : "other member");
  out.title = idle == 0       ? fmt::format("{}: {} less busy", name, all)
              : idle < others ? fmt::format("{}: {} of {} idle", name, idle, all)
                              : fmt::format("{}: {} idle", name, all);
  out.step =
      fmt::format("the hash of {} spreads flows unevenly: {}", node_name(root), loads_text(context, group->ports));
  return out;
}

std::optional<CapacityCause> oversubscription(const ExplainContext& context, const std::string& root) {
  const auto link = context.link_of.find(root);
  if (link == context.link_of.end() || !is_switch(context, node_name(root)) ||
      !is_switch(context, node_name(link->second->to)))
    return std::nullopt;
  const RouteGroupEvidence* group = group_of(context, root);
  const std::vector<std::string> ports = group == nullptr ? std::vector<std::string>{root} : group->ports;
  const Load load = load_of(context, ports);
  const std::int64_t in_bps = sum_of(context, load.sources), out_bps = sum_of(context, ports);
  if (out_bps <= 0 || static_cast<double>(in_bps) < kOversubscribed * static_cast<double>(out_bps)) return std::nullopt;
  CapacityCause out;
  out.title = fmt::format("oversubscription: {} in, {} out", rate_text(in_bps), rate_text(out_bps));
  out.step = fmt::format("{} of {} send through {}: {}", counted(load.sources.size(), "port"), rate_text(in_bps),
                         rate_text(out_bps), loads_text(context, ports));
  return out;
}

// Flows of a known size that pass this port; 0: some have none.
std::uint64_t burst_of(const ExplainContext& context, const std::vector<const FlowAnswer*>& through) {
  std::uint64_t sum_B = 0;
  for (const FlowAnswer* flow : through) {
    const auto found =
        std::find_if(context.evidence.flows.begin(), context.evidence.flows.end(), [&](const FlowEvidence& each) {
          return each.workload == flow->workload && fmt::format("{}/{}", each.workload, each.number) == flow->id;
        });
    if (found == context.evidence.flows.end() || found->size_B == 0) return 0;
    sum_B += found->size_B;
  }
  return sum_B;
}

std::optional<CapacityCause> small_pool(const ExplainContext& context, const std::string& root,
                                        const std::vector<const FlowAnswer*>& through, bool paused) {
  const auto pool = std::find_if(context.evidence.pools.begin(), context.evidence.pools.end(),
                                 [&](const PoolEvidence& each) { return each.node == node_name(root); });
  const std::uint64_t burst_B = burst_of(context, through);
  if (pool == context.evidence.pools.end() || pool->pool_B == 0 || burst_B == 0) return std::nullopt;
  const Load load = load_of(context, {root});
  const auto in_bps = static_cast<double>(sum_of(context, load.sources));
  const auto out_bps = static_cast<double>(rate_of(context, root));
  if (in_bps <= out_bps || out_bps <= 0) return std::nullopt;
  // While it arrives at line rate, the rest leaves. Each ingress group, or the one queue, may hold 2^alpha of what is
  // free (docs/mechanisms/shared-buffer.md).
  const double waits_B = static_cast<double>(burst_B) * (1 - out_bps / in_bps);
  const auto holders = static_cast<double>(paused ? std::max<std::size_t>(1, load.ingress.size()) : 1);
  const double alpha = std::exp2(pool->alpha);
  const double room_B = static_cast<double>(pool->pool_B) * alpha * holders / (1 + alpha * holders);
  if (waits_B <= room_B || waits_B * 8 > kLongestBurst_s * out_bps) return std::nullopt;
  CapacityCause out;
  out.title = "the pool is too small for the burst";
  out.step = fmt::format(
      "a burst of {} at {} into {} leaves {} waiting; {} has a pool of {}, of which {} with alpha 2^{} may take {}",
      size_text(burst_B), rate_text(static_cast<std::int64_t>(in_bps)), rate_text(static_cast<std::int64_t>(out_bps)),
      size_text(static_cast<std::uint64_t>(waits_B)), node_name(root), size_text(pool->pool_B),
      paused ? counted(static_cast<std::uint64_t>(holders), "ingress group") : std::string("one queue"), pool->alpha,
      size_text(static_cast<std::uint64_t>(room_B)));
  return out;
}

}  // namespace

std::optional<CapacityCause> capacity_cause(const ExplainContext& context, const std::string& root,
                                            const std::vector<const FlowAnswer*>& through, bool paused, bool dropped) {
  if (auto cause = collision(context, root)) return cause;
  if (auto cause = oversubscription(context, root)) return cause;
  return paused || dropped ? small_pool(context, root, through, paused) : std::nullopt;
}

}  // namespace weft::lab

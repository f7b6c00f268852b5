#include "results/results_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "results/counters/lag_results.h"
#include "results/json_rows.h"
#include "results/json_stream.h"
#include "results/kinds/workload_kind.h"
#include "results/lossless_loss.h"
#include "results/pause_rows.h"

namespace weft::lab {

namespace {

using Json = nlohmann::ordered_json;

Json expectation_object(const ExpectationOutcome& e) {
  Json x;
  x["what"] = e.expectation->subject + "." + e.expectation->metric;
  if (e.expectation->min) x["min"] = *e.expectation->min;
  if (e.expectation->max) x["max"] = *e.expectation->max;
  x["value"] = e.value ? Json(places(*e.value, 6)) : Json();
  x["met"] = e.met;
  return x;
}

Json command_object(const TakenCommand& command) {
  Json x;
  x["at_ps"] = command.at_ps;
  x["state"] = command.state;
  x["command"] = command.line;
  if (!command.problem.empty()) x["problem"] = command.problem;
  return x;
}

Json loss_object(const LosslessLoss& loss) {
  Json x;
  x[loss.by_nic ? "port" : "switch"] = loss.where;
  x[loss.by_nic ? "priority" : "group"] = loss.group;
  x["lossless_there"] = loss.is_lossless;
  x["packets"] = loss.lost;
  x["of"] = loss.taken;
  return x;
}

Json vm_object(const Lab& lab, const HostConfig& vm) {
  Json x;
  x["name"] = vm.name;
  x["host"] = lab.hosts[vm.vm->host].name;
  x["vcpus"] = vm.cpu.own;
  if (vm.vm->memory_B > 0) x["memory_B"] = vm.vm->memory_B;
  x["page_B"] = vm.places.page_B;
  if (!vm.vm->numatune.empty()) x["numatune"] = vm.vm->numatune;
  for (const NicConfig& nic : vm.nics) {
    Json function;
    function["port"] = vm.name + ":" + nic.ports.front().name;
    function["function"] = nic.function->is_vf() ? "vf" : "pf";
    if (nic.function->is_vf()) {
      function["number"] = nic.function->number;
      function["of"] = port_name(lab, *nic.function->carrier);
    }
    if (nic.function->max_tx_rate_bps > 0) function["max_tx_rate_bps"] = nic.function->max_tx_rate_bps;
    x["functions"].push_back(std::move(function));
  }
  return x;
}

// By the names that figures of a workload have: incast.latency_p99_ps.
Json latency_object(const WorkloadLatency& each) {
  const LogHistogram& of = each.latency_ps;
  Json x;
  x["workload"] = each.workload;
  x["messages"] = of.count();
  if (of.count() == 0) {
    x["none"] = each.none;
    return x;
  }
  x["latency_min_ps"] = of.least();
  x["latency_mean_ps"] = of.mean();
  x["latency_p50_ps"] = of.percentile(5'000);
  x["latency_p90_ps"] = of.percentile(9'000);
  x["latency_p99_ps"] = of.percentile(9'900);
  x["latency_p999_ps"] = of.percentile(9'990);
  x["latency_max_ps"] = of.most();
  return x;
}

Json lag_object(const LagDirection& each) {
  Json x{{"name", each.name}, {"from", each.from}, {"to", each.to}, {"rate_bps", each.rate_bps}};
  for (const LagMember& member : each.members)
    x["members"].push_back({{"port", member.port}, {"packets", member.packets}, {"bytes", member.bytes}});
  return x;
}

void write_switch(JsonStream& out, const SwitchOutcome& each, const fabric::AddressBook& book) {
  Json j;
  j["name"] = each.config->name;
  j["model"] = each.config->model.name;
  j["tier"] = each.config->tier;
  j["has_wjh"] = each.config->model.has_wjh;
  j["pool_B"] = each.pool_B;
  j["max_buffer_B"] = each.max_buffer_B;
  j["held_packets"] = each.held_packets;
  for (const fabric::SoftirqCounters& cpu : each.softirq)
    j["softnet"].push_back(
        {{"processed", cpu.packets}, {"time_squeeze", cpu.time_squeeze}, {"busy_ns", cpu.busy_ps / kNanosecond_ps}});
  out.open_with(j.dump());
  out.open("ports", '[');
  JsonText text;
  for (const SwitchPortOutcome& port : each.ports) write_item(out, text, add_switch_port, port);
  out.close(']');
  out.open("drops", '{');
  out.value("total", Json(each.drops.total()).dump());
  out.open("records", '[');
  for (const fabric::DropRecord& drop : each.drops.records()) write_item(out, text, add_drop, drop, each, book);
  out.close(']');
  out.close('}');
  out.close('}');
}

template <class List, class Write>
void write_list(JsonStream& out, std::string_view key, const List& list, const Write& write) {
  out.open(key, '[');
  for (const auto& each : list) write(each);
  out.close(']');
}

}  // namespace

void results_json(const Lab& lab, const RunResult& result, const TextSink& sink, std::span<const QueueNow> queues) {
  JsonStream out(sink);
  JsonText text;
  out.open("", '{');
  out.value("lab", Json(lab.name).dump());
  out.value("seed", Json(lab.seed).dump());
  out.value("set", Json(lab.overrides).dump());
  out.value("interrupted", Json(result.interrupted).dump());
  out.value("cut_off", Json(result.cut_off).dump());
  if (const std::vector<LosslessLoss> losses = lossless_losses(lab, result); !losses.empty())
    write_list(out, "lossless_lost", losses, [&](const LosslessLoss& loss) { out.item(loss_object(loss).dump()); });
  out.value("end_ns", Json(result.end_ps / kNanosecond_ps).dump());
  if (std::any_of(lab.hosts.begin(), lab.hosts.end(), [](const HostConfig& host) { return host.vm.has_value(); })) {
    write_list(out, "virtual_machines", lab.hosts, [&](const HostConfig& host) {
      if (host.vm) out.item(vm_object(lab, host).dump());
    });
  }
  write_list(out, "workloads", result.workloads, [&](const WorkloadOutcome& each) {
    each.visit([&](const auto& options, const auto& left) { write_json(options, left, lab, *each.config, out); });
  });
  write_list(out, "latency", result.latency.workloads,
             [&](const WorkloadLatency& each) { out.item(latency_object(each).dump()); });
  write_list(out, "ports", result.ports, [&](const auto& each) { write_item(out, text, add_port, each); });
  if (!result.switches.empty()) {
    write_list(out, "switches", result.switches, [&](const auto& each) { write_switch(out, each, result.book); });
    if (!lab.lags.empty())
      write_list(out, "lags", lag_directions(lab, result),
                 [&](const LagDirection& each) { out.item(lag_object(each).dump()); });
    out.value("circular_waits", Json(result.circular_waits).dump());
  }
  if (!queues.empty()) {
    write_list(out, "queues", queues, [&](const QueueNow& each) {
      out.item(Json{{"port", each.port}, {"class", each.queue}, {"queue_B", each.queue_B}}.dump());
    });
  }
  std::uint64_t left_out = 0;
  const auto pauses = merged_pauses(result, left_out);
  out.open("pauses", '{');
  out.value("left_out", Json(left_out).dump());
  write_list(out, "events", pauses, [&](const auto& each) { write_item(out, text, add_pause, each); });
  out.close('}');
  write_list(out, "ledger", result.links, [&](const auto& each) { write_item(out, text, add_link, each); });
  write_list(out, "faults", result.faults, [&](const FaultOutcome& each) {
    out.item(Json{{"name", each.name}, {"link", each.where}, {"hits", each.hits}}.dump());
  });
  if (!result.commands.empty())
    write_list(out, "commands", result.commands,
               [&](const TakenCommand& each) { out.item(command_object(each).dump()); });
  write_list(out, "expect", result.expectations, [&](const auto& each) { out.item(expectation_object(each).dump()); });
  out.value("captured_frames", Json(result.captured_frames).dump());
  if (result.uncaptured_frames > 0) out.value("uncaptured_frames", Json(result.uncaptured_frames).dump());
  out.close('}');
  sink("\n");
}

std::string results_json(const Lab& lab, const RunResult& result, std::span<const QueueNow> queues) {
  std::string text;
  results_json(
      lab, result, [&](std::string_view piece) { text += piece; }, queues);
  return text;
}

tl::expected<void, std::string> write_results_json(const std::string& path, const Lab& lab, const RunResult& result) {
  OutputFile file(path);
  results_json(lab, result, [&](std::string_view piece) { file.write(piece); });
  return file.close();
}

}  // namespace weft::lab

#include "results/results_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "results/counters/lag_results.h"
#include "results/json_rows.h"
#include "results/kinds/workload_kind.h"
#include "results/latency_store.h"
#include "results/lossless_loss.h"
#include "results/pause_rows.h"
#include "results/view_store.h"
#include "store/json_stream.h"
#include "store/rows/object_rows.h"

namespace weft::lab {

namespace {

using Json = nlohmann::ordered_json;

store::CommandRow command_row(const TakenCommand& command) {
  store::CommandRow row{command.at_ps, command.state, command.line, {}};
  if (!command.problem.empty()) row.problem = command.problem;
  return row;
}

store::FunctionRow function_row(const Lab& lab, const HostConfig& vm, const NicConfig& nic) {
  store::FunctionRow row;
  row.port = vm.name + ":" + nic.ports.front().name;
  row.function = nic.function->is_vf() ? "vf" : "pf";
  if (nic.function->is_vf()) row.number = nic.function->number;
  if (nic.function->is_vf()) row.of = port_name(lab, *nic.function->carrier);
  if (nic.function->max_tx_rate_bps > 0) row.max_tx_rate_bps = nic.function->max_tx_rate_bps;
  return row;
}

store::VmRow vm_row(const Lab& lab, const HostConfig& vm) {
  store::VmRow row{vm.name, lab.hosts[vm.vm->host].name, vm.cpu.own, {}, vm.places.page_B, vm.vm->numatune, {}};
  if (vm.vm->memory_B > 0) row.memory_B = vm.vm->memory_B;
  for (const NicConfig& nic : vm.nics) row.functions.push_back(function_row(lab, vm, nic));
  return row;
}

store::LagRow lag_row(const LagDirection& each) {
  store::LagRow row{each.name, each.from, each.to, each.rate_bps, {}};
  for (const LagMember& member : each.members) row.members.push_back({member.port, member.packets, member.bytes});
  return row;
}

void write_switch(store::JsonStream& out, const SwitchOutcome& each, const fabric::AddressBook& book) {
  store::SwitchRow row{each.config->name, each.config->model.name, each.config->tier, each.config->model.has_wjh,
                       each.pool_B,       each.max_buffer_B,       each.held_packets, {}};
  for (const fabric::SoftirqCounters& cpu : each.softirq)
    row.softnet.push_back({cpu.packets, cpu.time_squeeze, cpu.busy_ps / kNanosecond_ps});
  store::JsonText text;
  store::add_row(text, row);
  out.open_with(std::string(text.text()));
  out.open("ports", '[');
  for (const SwitchPortOutcome& port : each.ports) write_item(out, text, add_switch_port, port);
  out.close(']');
  out.open("drops", '{');
  out.value("total", std::to_string(each.drops.total()));
  out.open("records", '[');
  for (const fabric::DropRecord& drop : each.drops.records()) store::write_row(out, text, drop_row(drop, each, book));
  out.close(']');
  out.close('}');
  out.close('}');
}

template <class List, class Write>
void write_list(store::JsonStream& out, std::string_view key, const List& list, const Write& write) {
  out.open(key, '[');
  for (const auto& each : list) write(each);
  out.close(']');
}

}  // namespace

void results_json(const Lab& lab, const RunResult& result, const store::TextSink& sink,
                  std::span<const QueueNow> queues) {
  store::JsonStream out(sink);
  store::JsonText text;
  out.open("", '{');
  out.value("lab", Json(lab.name).dump());
  out.value("seed", Json(lab.seed).dump());
  out.value("set", Json(lab.overrides).dump());
  out.value("interrupted", Json(result.interrupted).dump());
  out.value("cut_off", Json(result.cut_off).dump());
  const auto write = [&](const auto& row) { store::write_row(out, text, row); };
  if (const std::vector<LosslessLoss> losses = lossless_losses(lab, result); !losses.empty())
    write_list(out, "lossless_lost", losses, [&](const LosslessLoss& loss) { write(loss_row(loss)); });
  out.value("end_ns", Json(result.end_ps / kNanosecond_ps).dump());
  if (std::any_of(lab.hosts.begin(), lab.hosts.end(), [](const HostConfig& host) { return host.vm.has_value(); })) {
    write_list(out, "virtual_machines", lab.hosts, [&](const HostConfig& host) {
      if (host.vm) write(vm_row(lab, host));
    });
  }
  write_list(out, "workloads", result.workloads, [&](const WorkloadOutcome& each) {
    each.visit([&](const auto& options, const auto& left) { write_json(options, left, lab, *each.config, out); });
  });
  write_list(out, "latency", result.latency.workloads, [&](const WorkloadLatency& each) { write(latency_row(each)); });
  write_list(out, "ports", result.ports, [&](const auto& each) { write_item(out, text, add_port, each); });
  if (!result.switches.empty()) {
    write_list(out, "switches", result.switches, [&](const auto& each) { write_switch(out, each, result.book); });
    if (!lab.lags.empty())
      write_list(out, "lags", lag_directions(lab, result), [&](const LagDirection& each) { write(lag_row(each)); });
    out.value("circular_waits", Json(result.circular_waits).dump());
  }
  if (!queues.empty())
    write_list(out, "queues", queues, [&](const QueueNow& each) {
      write(store::QueueRow{each.port, each.queue, each.queue_B});
    });
  std::uint64_t left_out = 0;
  const auto pauses = merged_pauses(result, left_out);
  out.open("pauses", '{');
  out.value("left_out", Json(left_out).dump());
  write_list(out, "events", pauses, [&](const PauseRow& each) { write(pause_object(each)); });
  out.close('}');
  write_list(out, "ledger", result.links, [&](const LinkOutcome& each) { write(ledger_row(each)); });
  write_list(out, "faults", result.faults, [&](const FaultOutcome& each) {
    write(store::FaultHitsRow{each.name, each.where, each.hits});
  });
  if (!result.commands.empty())
    write_list(out, "commands", result.commands, [&](const TakenCommand& each) { write(command_row(each)); });
  write_list(out, "expect", result.expectations, [&](const ExpectationOutcome& each) { write(expectation_row(each)); });
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

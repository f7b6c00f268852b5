#include "lab/results_json.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/class_quantities.h"
#include "lab/drop_reason.h"
#include "lab/pause_rows.h"
#include "lab/port_counters.h"
#include "workload/perftest_report.h"

namespace weft::lab {

namespace {

using Json = nlohmann::ordered_json;
using workload::PerftestNumbers;
using workload::PerftestOptions;
using workload::PerftestRow;

// Decimal places as perftest prints them, so that files compare byte by byte on every machine.
double places(double value, int digits) {
  double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

Json perftest_row(const PerftestOptions& options, const PerftestRow& row) {
  PerftestNumbers n = workload::perftest_numbers(options, row);
  Json j;
  j["MsgSize"] = row.size_B;
  j["n_iterations"] = row.iterations;
  if (!row.failure.empty()) {
    j["failure"] = row.failure;
    return j;
  }
  if (!options.latency) {
    j["BW_peak"] = places(options.report_gbits ? n.bw_peak_Gbps : n.bw_peak_MiBps, 2);
    j["BW_average"] = places(options.report_gbits ? n.bw_average_Gbps : n.bw_average_MiBps, 2);
    j["MsgRate"] = places(n.msg_rate_Mpps, 6);
  } else if (options.duration_s > 0) {
    j["t_avg"] = places(n.t_avg_us, 2);
    j["tps_average"] = places(n.tps, 2);
  } else {
    j["t_min"] = places(n.t_min_us, 2);
    j["t_max"] = places(n.t_max_us, 2);
    j["t_typical"] = places(n.t_typical_us, 2);
    j["t_avg"] = places(n.t_avg_us, 2);
    j["t_stdev"] = places(n.t_stdev_us, 2);
    j["percentile_99"] = places(n.p99_us, 2);
    j["percentile_99.9"] = places(n.p999_us, 2);
  }
  return j;
}

Json perftest_object(const PerftestOptions& options, const workload::PerftestResult& result) {
  Json info = Json::object();
  for (const auto& [key, value] : workload::test_info(options, result)) {
    bool number =
        !value.empty() && std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (number) {
      info[key] = std::stoull(value);
    } else {
      info[key] = value;
    }
  }
  Json j;
  j["test_info"] = info;
  if (options.all_sizes) {
    j["results"] = Json::array();
    for (const PerftestRow& row : result.rows) j["results"].push_back(perftest_row(options, row));
  } else if (!result.rows.empty()) {
    j["results"] = perftest_row(options, result.rows.front());
  }
  return j;
}

Json transfer_object(const workload::TransferResult& t) {
  Json j;
  j["posted"] = t.posted;
  j["completed"] = t.completed;
  j["failed"] = t.failed;
  j["verified"] = t.verified;
  j["bytes_ok"] = t.bytes_ok;
  j["received"] = t.received;
  j["out_of_order"] = t.out_of_order;
  j["wc_status"] = t.wc_status;
  j["vendor_error"] = t.vendor_error;
  j["stalled"] = t.stalled;
  j["elapsed_ns"] = (t.finished_ps - t.started_ps) / kNanosecond_ps;
  return j;
}

Json flow_object(const FlowOutcome& flow) {
  static constexpr const char* kStates[] = {"waiting", "running", "done", "failed"};
  const workload::FlowRow& row = flow.row;
  Json j;
  j["id"] = row.id;
  j["from"] = flow.from;
  j["to"] = flow.to;
  j["qpn"] = row.qpn;
  j["size_B"] = row.size_B;
  j["start_ps"] = row.start_ps;
  j["state"] = kStates[static_cast<std::size_t>(row.state)];
  if (row.state == workload::FlowState::kDone) {
    j["fct_ps"] = row.fct_ps();
    j["goodput_Gbps"] = places(row.goodput_bps() / 1e9, 6);
    if (flow.slowdown > 0) j["slowdown"] = places(flow.slowdown, 6);
  }
  if (row.state == workload::FlowState::kFailed) j["failure"] = row.failure();
  j["retransmitted_packets"] = flow.retransmitted_packets;
  j["cnps_received"] = flow.cnps_received;
  for (const HopOutcome& hop : flow.hops)
    j["telemetry"].push_back({{"port", hop.port}, {"max_queue_B", hop.max_queue_B}, {"max_stay_ps", hop.max_stay_ps}});
  return j;
}

Json flows_object(const FlowsOutcome& outcome) {
  const workload::FlowSummary& s = outcome.summary;
  Json j;
  j["done"] = s.done;
  j["failed"] = s.failed;
  j["unfinished"] = s.unfinished;
  j["bytes_done_B"] = s.bytes_done_B;
  if (s.done > 0) {
    j["goodput_Gbps"] = places(s.goodput_bps / 1e9, 6);
    j["jain"] = places(s.jain, 6);
    j["fct_p50_ps"] = s.fct_p50_ps;
    j["fct_p99_ps"] = s.fct_p99_ps;
    j["fct_p999_ps"] = s.fct_p999_ps;
    j["fct_max_ps"] = s.fct_max_ps;
    j["slowdown_p50"] = places(s.slowdown_p50, 6);
    j["slowdown_p99"] = places(s.slowdown_p99, 6);
  }
  j["flows"] = Json::array();
  for (const FlowOutcome& flow : outcome.flows) j["flows"].push_back(flow_object(flow));
  return j;
}

void programs_object(Json& j, const workload::ProgramOptions& options, const ProgramsOutcome& outcome) {
  j["exit"] = outcome.exit_status();
  j["deterministic"] = outcome.deterministic;
  j["found"] = Json::object();
  for (const FoundValue& each : outcome.found)
    j["found"][each.name] = each.value ? Json(places(*each.value, 6)) : Json();
  j["programs"] = Json::array();
  for (std::size_t i = 0; i < outcome.programs.size(); ++i) {
    const workload::ProgramOutcome& each = outcome.programs[i];
    Json p;
    p["node"] = options.programs[i].node;
    p["command"] = options.programs[i].words;
    p["end"] = end_text(each);
    p["exit"] = each.exit_status();
    p["started_ps"] = each.started_ps;
    p["ended_ps"] = each.ended_ps;
    p["output"] = each.output;
    p["output_left_out_B"] = each.left_out_B;
    j["programs"].push_back(std::move(p));
  }
}

Json class_object(const SwitchPortOutcome& port, std::size_t c) {
  Json j;
  j["class"] = c;
  for (const ClassQuantity& quantity : class_quantities()) j[std::string(quantity.name)] = quantity.of_switch(port, c);
  return j;
}

Json drops_object(const SwitchOutcome& each, const fabric::AddressBook& book) {
  Json records = Json::array();
  for (const fabric::DropRecord& drop : each.drops.records) {
    const DropReason& reason = drop_reason(drop.reason);
    Json j;
    j["time_ps"] = drop.time_ps;
    j["in"] = each.ports[drop.in_port].name;
    if (drop.out_port < each.ports.size()) {
      j["out"] = each.ports[drop.out_port].name;
      j["queue"] = drop.queue;
      j["occupancy_B"] = drop.occupancy_B;
    }
    j["reason"] = reason.name;
    j["wjh_id"] = reason.wjh_id == 0 ? Json() : Json(reason.wjh_id);
    j["from"] = book[drop.source].name;
    j["to"] = book[drop.destination].name;
    j["src_ip"] = address_text(book[drop.source]);
    j["dst_ip"] = address_text(book[drop.destination]);
    j["udp_src_port"] = drop.udp_src_port;
    j["dest_qp"] = drop.dest_qp;
    j["psn"] = drop.psn;
    j["opcode"] = drop.opcode;
    records.push_back(std::move(j));
  }
  return {{"total", each.drops.total}, {"records", std::move(records)}};
}

Json switch_object(const SwitchOutcome& each, const fabric::AddressBook& book) {
  Json j;
  j["name"] = each.config->name;
  j["model"] = each.config->model.name;
  j["tier"] = each.config->tier;
  j["has_wjh"] = each.config->model.has_wjh;
  j["pool_B"] = each.pool_B;
  j["max_buffer_B"] = each.max_buffer_B;
  j["held_packets"] = each.held_packets;
  j["ports"] = Json::array();
  for (const SwitchPortOutcome& port : each.ports) {
    Json p;
    p["name"] = port.name;
    p["peer"] = port.peer;
    p["rate_bps"] = port.rate_bps;
    p["drops"] = Json::object();
    for (const DropReason& reason : drop_reasons()) {
      std::uint64_t count = port.counters.drops[static_cast<std::size_t>(reason.fate)];
      if (count > 0) p["drops"][std::string(reason.metric)] = count;
    }
    p["classes"] = Json::array();
    for (std::size_t c = 0; c < fabric::kClasses; ++c) p["classes"].push_back(class_object(port, c));
    j["ports"].push_back(std::move(p));
  }
  j["drops"] = drops_object(each, book);
  return j;
}

Json pauses_object(const RunResult& result) {
  static constexpr const char* kEnds[] = {"start", "xon", "expired", "link down", "watchdog"};
  std::uint64_t left_out = 0;
  Json events = Json::array();
  for (const PauseRow& row : merged_pauses(result, left_out)) {
    Json classes = Json::array();
    for (std::size_t c = 0; c < fabric::kClasses; ++c) {
      if (row.classes >> c & 1) classes.push_back(c);
    }
    events.push_back({{"time_ps", row.time_ps},
                      {"port", row.port},
                      {"peer", row.peer},
                      {"classes", std::move(classes)},
                      {"direction", row.sent ? "sent" : "received"},
                      {"what", kEnds[static_cast<std::size_t>(row.what)]}});
  }
  return {{"left_out", left_out}, {"events", std::move(events)}};
}

}  // namespace

std::string perftest_json(const PerftestOptions& options, const workload::PerftestResult& result) {
  return perftest_object(options, result).dump(2) + "\n";
}

std::string results_json(const Lab& lab, const RunResult& result) {
  Json j;
  j["lab"] = lab.name;
  j["seed"] = lab.seed;
  j["set"] = lab.overrides;
  j["interrupted"] = result.interrupted;
  j["cut_off"] = result.cut_off;
  j["end_ns"] = result.end_ps / kNanosecond_ps;
  j["workloads"] = Json::array();
  for (const WorkloadOutcome& outcome : result.workloads) {
    Json w;
    w["name"] = outcome.config->name;
    if (!outcome.flows && !outcome.programs) {
      w["client"] = port_name(lab, outcome.config->client);
      w["server"] = port_name(lab, outcome.config->server);
    }
    if (outcome.flows) w["flows"] = flows_object(*outcome.flows);
    if (outcome.programs) programs_object(w, *outcome.config->programs, *outcome.programs);
    if (outcome.perftest) w["perftest"] = perftest_object(*outcome.config->perftest, *outcome.perftest);
    if (outcome.transfer) w["transfer"] = transfer_object(*outcome.transfer);
    j["workloads"].push_back(w);
  }
  j["ports"] = Json::array();
  for (const PortOutcome& port : result.ports) {
    Json p;
    p["name"] = port.name;
    p["device"] = port.device;
    p["peer"] = port.peer;
    p["address"] = port.address;
    p["rate_bps"] = port.rate_bps;
    for (const nic::NamedCounter& counter : port_counters(port)) {
      p[counter.group == nic::CounterGroup::kHardware ? "hw_counters" : "ethtool"][counter.name] = counter.value;
    }
    p["weft"]["retransmitted_packets"] = port.counters.retransmitted_packets;
    p["weft"]["acks_sent"] = port.counters.acks_sent;
    p["weft"]["naks_sent"] = port.counters.naks_sent;
    j["ports"].push_back(p);
  }
  if (!result.switches.empty()) {
    j["switches"] = Json::array();
    for (const SwitchOutcome& each : result.switches) j["switches"].push_back(switch_object(each, result.book));
    j["circular_waits"] = result.circular_waits;
  }
  j["pauses"] = pauses_object(result);
  j["ledger"] = Json::array();
  for (const LinkOutcome& link : result.links) {
    Json l;
    l["from"] = link.from;
    l["to"] = link.to;
    l["sent"] = link.ledger.sent;
    l["copies"] = link.ledger.copies;
    for (std::size_t f = 0; f < fabric::kFateCount; ++f)
      l["fates"][std::string(fabric::kFateNames[f])] = link.ledger.fates[f];
    l["in_flight"] = link.in_flight;
    j["ledger"].push_back(l);
  }
  j["faults"] = Json::array();
  for (const FaultOutcome& fault : result.faults)
    j["faults"].push_back({{"name", fault.name}, {"link", fault.where}, {"hits", fault.hits}});
  j["expect"] = Json::array();
  for (const ExpectationOutcome& e : result.expectations) {
    Json x;
    x["what"] = e.expectation->subject + "." + e.expectation->metric;
    if (e.expectation->min) x["min"] = *e.expectation->min;
    if (e.expectation->max) x["max"] = *e.expectation->max;
    x["value"] = e.value ? Json(places(*e.value, 6)) : Json();
    x["met"] = e.met;
    j["expect"].push_back(x);
  }
  j["captured_frames"] = result.captured_frames;
  return j.dump(2) + "\n";
}

}  // namespace weft::lab

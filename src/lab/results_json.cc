#include "lab/results_json.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

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
  j["end_ns"] = result.end_ps / kNanosecond_ps;
  j["workloads"] = Json::array();
  for (const WorkloadOutcome& outcome : result.workloads) {
    Json w;
    w["name"] = outcome.config->name;
    w["client"] = port_name(lab, outcome.config->client);
    w["server"] = port_name(lab, outcome.config->server);
    if (outcome.perftest) w["perftest"] = perftest_object(*outcome.config->perftest, *outcome.perftest);
    if (outcome.transfer) w["transfer"] = transfer_object(*outcome.transfer);
    j["workloads"].push_back(w);
  }
  j["ports"] = Json::array();
  for (const PortOutcome& port : result.ports) {
    Json p;
    p["name"] = port.name;
    p["device"] = port.device;
    for (const nic::NamedCounter& counter : nic::named(port.counters)) {
      p[counter.group == nic::CounterGroup::kHardware ? "hw_counters" : "ethtool"][counter.name] = counter.value;
    }
    p["weft"]["retransmitted_packets"] = port.counters.retransmitted_packets;
    p["weft"]["acks_sent"] = port.counters.acks_sent;
    p["weft"]["naks_sent"] = port.counters.naks_sent;
    j["ports"].push_back(p);
  }
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

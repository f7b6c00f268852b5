#include "serve/runs/run_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "analyze/analyzer.h"
#include "base/figures.h"
#include "base/plural.h"
#include "explain/explain.h"
#include "gear/wire_contract.h"
#include "observe/capture.h"
#include "results/evidence_rows.h"
#include "results/report_text.h"
#include "serve/http/json_answer.h"
#include "serve/runs/cause_findings.h"
#include "serve/runs/run_entry.h"
#include "serve/runs/run_events.h"
#include "serve/runs/run_lab.h"
#include "store/rows/run_rows.h"
#include "store/table.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::chrono::seconds kLongestAnalysis{10};

struct TooLong : std::exception {};

Json finding(const char* severity, const char* from, std::string kind, std::string title) {
  return {{"severity", severity},      {"from", from}, {"kind", std::move(kind)}, {"title", std::move(title)},
          {"evidence", Json::array()}, {"cause", ""},  {"remedy", Json::array()}};
}

Json evidence_row(std::string text, Json time_ps, Json packet, Json port) {
  return {{"text", std::move(text)},
          {"time_ps", std::move(time_ps)},
          {"packet", std::move(packet)},
          {"port", std::move(port)}};
}

void add_expectations(OpenRun& run, Json& list) {
  for (const store::ExpectationRow& row :
       store::Reader<store::ExpectationRow>(run.file(), "WHERE met = 0 ORDER BY rowid")) {
    Json each =
        finding("error", "expect", "expectation",
                fmt::format("{} is {}, expected {}", row.what, row.value ? number_text(*row.value) : "not there",
                            lab::range_text(row.min, row.max)));
    each["cause"] = run.text("headline");
    list.push_back(std::move(each));
  }
}

void add_failures(OpenRun& run, Json& list) {
  for (const std::string& line : lines_of(run.text("failures")))
    list.push_back(finding("error", "run", "failure", line));
  if (run.text("interrupted") == "1")
    list.push_back(finding("warning", "run", "interrupted", "the run was interrupted: its results are incomplete"));
}

void add_causes(const std::vector<CauseFinding>& causes, Json& list) {
  for (const CauseFinding& cause : causes) {
    Json each = finding(cause.severity.c_str(), cause.from.c_str(), cause.kind, cause.title);
    for (const CauseFinding::Seen& seen : cause.evidence)
      each["evidence"].push_back(evidence_row(seen.text, seen.time_ps ? Json(*seen.time_ps) : Json(), nullptr,
                                              seen.port.empty() ? Json() : Json(seen.port)));
    each["cause"] = cause.cause;
    if (!cause.remedy.empty()) each["remedy"] = {cause.remedy};
    list.push_back(std::move(each));
  }
}

struct IncidentKind {
  const char* kind;
  const char* severity;
  const char* remedy;
};
constexpr IncidentKind kIncidentKinds[] = {
    {"deadlock", "error", "loop-free routing (up, then down), and a PFC watchdog as the last resort"},
    {"storm", "error", "find the port that sends the pauses; a PFC watchdog limits their effect"},
    {"loss", "error", "check the drop reasons at this port"},
    {"link", "error", "check the cable, its FEC and its counters"},
    {"receiver", "warning", "the receiver is the limit: its PCIe, its memory, or its CPU"},
    {"congestion", "warning", "fewer senders at once, ECN thresholds below XOFF, or more capacity there"},
};

void add_incidents(const lab::Explanation& explanation, Json& list) {
  constexpr std::size_t kMostIncidents = 50, kMostSteps = 40;
  for (std::size_t i = 0; i < std::min(explanation.incidents.size(), kMostIncidents); ++i) {
    const lab::Incident& incident = explanation.incidents[i];
    const auto* kind = std::find_if(std::begin(kIncidentKinds), std::end(kIncidentKinds),
                                    [&](const IncidentKind& each) { return each.kind == incident.kind; });
    const bool is_known = kind != std::end(kIncidentKinds);
    Json each = finding(is_known ? kind->severity : "warning", "explain", incident.kind, incident.title);
    for (std::size_t s = 0; s < std::min(incident.steps.size(), kMostSteps); ++s) {
      const lab::ChainStep& step = incident.steps[s];
      each["evidence"].push_back(evidence_row(step.text, step.time_ps, step.packet ? Json(*step.packet) : Json(),
                                              step.port.empty() ? step.where : step.port));
    }
    std::string cause = fmt::format("starts at {}", incident.root);
    if (!incident.flows.empty()) cause += fmt::format("; {} through it", counted(incident.flows.size(), "flow"));
    if (!incident.victims.empty()) cause += fmt::format("; {} stopped", counted(incident.victims.size(), "other flow"));
    each["cause"] = incident.root.empty() ? "" : cause;
    if (is_known) each["remedy"] = {kind->remedy};
    list.push_back(std::move(each));
  }
}

void add_settings(const lab::Explanation& explanation, Json& list) {
  for (const lab::SettingEvidence& each : explanation.settings) {
    Json out = finding("warning", "explain", "setting", lab::setting_text(each));
    out["cause"] = each.effect;
    out["remedy"] = {fmt::format("set {} to {} there, or change the lab's contract", each.key, each.usual)};
    list.push_back(std::move(out));
  }
}

void add_analysis_findings(const analyze::Analysis& analysis, Json& list) {
  for (const analyze::Finding& found : analysis.findings.all()) {
    const analyze::FindingKind& kind = analyze::finding_kinds()[analyze::rank_of(found.id)];
    Json each =
        finding(analyze::name(kind.severity), "analyze", std::string(found.id),
                fmt::format("{}{}: {}", kind.title, found.where.empty() ? "" : " (" + found.where + ")", found.what));
    for (const analyze::Evidence& seen : found.evidence) {
      const auto& points = analysis.capture.points;
      each["evidence"].push_back(evidence_row(seen.text, (seen.time_ns - observe::Capture::kEpoch_ns) * 1000,
                                              seen.frame,
                                              seen.point < points.size() ? Json(points[seen.point].name) : Json()));
    }
    each["cause"] = found.cause;
    for (const analyze::Remedy& remedy : found.remedies) each["remedy"].push_back(remedy.where + ": " + remedy.command);
    list.push_back(std::move(each));
  }
}

// The contents of the results, independent of findings.
void say_results(OpenRun& run, Json& looked_at) {
  store::SqliteFile& file = run.file();
  const std::uint64_t expected = store::count_rows<store::ExpectationRow>(file);
  looked_at.push_back(expected == 0
                          ? "expectations: the lab has none"
                          : fmt::format("expectations: {} of {} met",
                                        store::count_rows<store::ExpectationRow>(file, "WHERE met = 1"), expected));
  looked_at.push_back(fmt::format("results: {}, {}, {} with their counters",
                                  counted(store::count_rows<lab::WorkloadEvidence>(file), "workload"),
                                  counted(store::count_rows<lab::SenderEvidence>(file), "sender"),
                                  counted(store::count_rows<store::PortRow>(file), "port")));
  std::string events;
  for (const auto& [kind, count] : event_totals(run)) {
    if (count > 0) events += fmt::format("{} {} {}", events.empty() ? "" : ",", count, kind);
  }
  looked_at.push_back("events of the whole run:" + (events.empty() ? " none" : events));
}

void say_checks(const analyze::Analysis& analysis, Json& looked_at) {
  looked_at.push_back(fmt::format("capture: {} at {}", counted(analysis.capture.frames, "frame"),
                                  counted(analysis.capture.points.size(), "port")));
  for (const analyze::CheckResult& check : analysis.findings.checks()) {
    const char* const verdict = check.verdict == analyze::Verdict::kHealthy ? ", healthy" : ", see above";
    looked_at.push_back(check.verdict == analyze::Verdict::kNotEnough
                            ? fmt::format("{}: {}", check.check, check.missing)
                            : fmt::format("{}: {} {}{}", check.check, check.looked_at, check.unit, verdict));
  }
}

// An analysis that takes longer than kLongestAnalysis is left to `weft analyze`.
void add_analysis(OpenRun& run, Json& list, Json& looked_at) {
  std::vector<std::string> files = observe::capture_files(run.directory() + "/capture.pcapng");
  std::erase_if(files, [](const std::string& file) { return !is_own_file(file); });
  if (files.empty()) {
    looked_at.push_back("capture: the run has none, packets were not analysed (weft run --capture all)");
    return;
  }
  analyze::AnalyzeOptions options;
  if (const auto lab = lab_of_run(run)) options.contract = gear::wire_contract(*lab);
  options.origin_ns = observe::Capture::kEpoch_ns;
  const auto start = std::chrono::steady_clock::now();
  options.progress = [start](std::uint64_t, std::uint64_t) {
    if (std::chrono::steady_clock::now() - start > kLongestAnalysis) throw TooLong();
  };
  try {
    const auto analysis = analyze::analyze_files(files, options);
    if (analysis) {
      add_analysis_findings(*analysis, list);
      say_checks(*analysis, looked_at);
    } else {
      list.push_back(finding("warning", "analyze", "capture", analysis.error()));
    }
  } catch (const TooLong&) {
    Json each = finding("note", "analyze", "capture", "the capture takes too long to analyse here");
    each["remedy"] = {"run weft analyze capture.pcapng in the directory of the run"};
    list.push_back(std::move(each));
    looked_at.push_back("capture: not analysed, it takes too long");
  }
}

int rank_of_severity(const Json& each) {
  return each["severity"] == "error" ? 0 : each["severity"] == "warning" ? 1 : 2;
}

}  // namespace

std::string run_findings(OpenRun& run) {
  Json list = Json::array(), looked_at = Json::array();
  say_results(run, looked_at);
  add_expectations(run, list);
  add_failures(run, list);
  add_causes(lossless_loss_findings(run), list);
  if (const auto explanation = explain::explain_run({run.directory(), "", ""})) {
    add_incidents(*explanation, list);
    add_settings(*explanation, list);
    add_causes(held_findings(*explanation), list);
    for (const std::string& note : explanation->notes) list.push_back(finding("note", "explain", "note", note));
  }
  add_analysis(run, list, looked_at);
  std::vector<Json> all(list.begin(), list.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Json& a, const Json& b) { return rank_of_severity(a) < rank_of_severity(b); });
  return json_text(Json{{"findings", all}, {"looked_at", looked_at}});
}

}  // namespace weft::serve

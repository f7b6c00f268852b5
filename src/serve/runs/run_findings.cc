#include "serve/runs/run_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "analyze/analyzer.h"
#include "base/plural.h"
#include "explain/explain.h"
#include "gear/wire_contract.h"
#include "observe/capture.h"
#include "results/report_text.h"
#include "serve/http/json_answer.h"
#include "serve/runs/run_entry.h"
#include "serve/runs/run_lab.h"

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
  lab::SqliteRows rows(run.file(), "SELECT what, min, max, value FROM expectation WHERE met = 0 ORDER BY rowid");
  while (rows.next()) {
    const auto bound = [&](int column) {
      return rows.is_null(column) ? std::nullopt : std::optional(rows.real(column));
    };
    Json each = finding("error", "expect", "expectation",
                        fmt::format("{} is {}, expected {}", rows.text(0),
                                    rows.is_null(3) ? "not there" : lab::number_text(rows.real(3)),
                                    lab::range_text(bound(1), bound(2))));
    each["cause"] = run.text("headline");
    list.push_back(std::move(each));
  }
}

void add_failures(OpenRun& run, Json& list) {
  for (const std::string& line : lines_of(run.text("failures")))
    list.push_back(finding("error", "run", "failure", line));
  if (run.text("interrupted") == "1")
    list.push_back(finding("warning", "run", "interrupted", "the run was interrupted: what it has is not the whole"));
  lab::SqliteRows rows(run.file(), "SELECT place, by_nic, class, is_lossless, lost, taken FROM lossless_loss");
  while (rows.next()) {
    Json each = finding(
        "error", "run", "lossless loss",
        fmt::format("{} of {} of class {} lost at {}", rows.integer(4),
                    counted(static_cast<std::uint64_t>(rows.integer(5)), "packet"), rows.integer(2), rows.text(0)));
    each["evidence"].push_back(evidence_row("", nullptr, nullptr, rows.text(0)));
    if (rows.integer(3) == 0) {
      each["cause"] = "the hosts take this class for lossless, and the switch maps it to one that is not";
      each["remedy"] = {"switch: map the DSCP to the lossless priority, as the hosts do"};
    } else if (rows.integer(1) != 0) {
      each["cause"] = "the receive buffer of the NIC was full before its pause took effect";
      each["remedy"] = {"NIC: a lower XOFF threshold, or a shorter cable"};
    } else {
      each["cause"] = "there was no room left for what came after XOFF, or the link lost it";
      each["remedy"] = {"switch: headroom for this cable, MTU and rate; leave it to `headroom: auto`"};
    }
    list.push_back(std::move(each));
  }
}

struct IncidentKind {
  const char* kind;
  const char* severity;
  const char* remedy;
};
constexpr IncidentKind kIncidentKinds[] = {
    {"deadlock", "error", "routing without circles (up, then down), and a PFC watchdog as the last resort"},
    {"storm", "error", "find the port that sends the pauses; a PFC watchdog limits what it stops"},
    {"loss", "error", "see the reasons of the drops at this port"},
    {"link", "error", "see the cable, its FEC and its counters"},
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
    std::string cause = fmt::format("it began at {}", incident.root);
    if (!incident.flows.empty()) cause += fmt::format("; {} pass there", counted(incident.flows.size(), "flow"));
    if (!incident.victims.empty())
      cause += fmt::format("; {} stopped that do not", counted(incident.victims.size(), "flow"));
    each["cause"] = incident.root.empty() ? "" : cause;
    if (is_known) each["remedy"] = {kind->remedy};
    list.push_back(std::move(each));
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

// What takes longer than a person waits for is left to the verb.
void add_analysis(OpenRun& run, Json& list) {
  std::vector<std::string> files = observe::capture_files(run.directory() + "/capture.pcapng");
  std::erase_if(files, [](const std::string& file) { return !is_own_file(file); });
  if (files.empty()) return;
  analyze::AnalyzeOptions options;
  if (const auto lab = lab_of_run(run)) options.contract = gear::wire_contract(*lab);
  const auto start = std::chrono::steady_clock::now();
  options.progress = [start](std::uint64_t, std::uint64_t) {
    if (std::chrono::steady_clock::now() - start > kLongestAnalysis) throw TooLong();
  };
  try {
    const auto analysis = analyze::analyze_files(files, options);
    if (analysis) {
      add_analysis_findings(*analysis, list);
    } else {
      list.push_back(finding("warning", "analyze", "capture", analysis.error()));
    }
  } catch (const TooLong&) {
    Json each = finding("note", "analyze", "capture", "the capture is too large to be analysed here");
    each["remedy"] = {"weft analyze capture.pcapng, in the directory of the run"};
    list.push_back(std::move(each));
  }
}

int rank_of_severity(const Json& each) {
  return each["severity"] == "error" ? 0 : each["severity"] == "warning" ? 1 : 2;
}

}  // namespace

std::string run_findings(OpenRun& run) {
  Json list = Json::array();
  add_expectations(run, list);
  add_failures(run, list);
  if (const auto explanation = explain::explain_run({run.directory(), "", ""})) {
    add_incidents(*explanation, list);
    for (const std::string& note : explanation->notes) list.push_back(finding("note", "explain", "note", note));
  }
  add_analysis(run, list);
  std::vector<Json> all(list.begin(), list.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Json& a, const Json& b) { return rank_of_severity(a) < rank_of_severity(b); });
  return json_text(Json{{"findings", all}});
}

}  // namespace weft::serve

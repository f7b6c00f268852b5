#include "serve/runs/run_entry.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/figures.h"
#include "base/files.h"
#include "base/plural.h"
#include "observe/capture.h"
#include "results/evidence_rows.h"
#include "results/report_text.h"
#include "serve/http/bounded_json.h"
#include "serve/http/json_answer.h"
#include "serve/runs/ready_lab.h"
#include "serve/runs/run_explanation.h"
#include "serve/runs/workload_summary.h"
#include "store/rows/run_rows.h"
#include "store/table.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;
constexpr std::size_t kMostStudy_B = std::size_t{16} << 20;
constexpr std::size_t kMostLabText_B = std::size_t{16} << 20;
constexpr std::size_t kMostLinkedFlows = 64;

std::int64_t changed_s(const std::string& directory) {
  struct stat facts = {};
  return stat((directory + "/results.json").c_str(), &facts) == 0 ? facts.st_mtim.tv_sec : 0;
}

Json empty_entry(const std::string& id, const std::string& directory) {
  return {{"id", id},
          {"lab", ""},
          {"seed", 0},
          {"seed_text", "0"},
          {"set", Json::array()},
          {"changes", nullptr},
          {"end_ps", 0},
          {"state", "done"},
          {"met", 0},
          {"expectations", 0},
          {"headline", ""},
          {"study", nullptr},
          {"changed_s", changed_s(directory)}};
}

// Differences from the ready lab of the same name; null: there is none, or one of them cannot be read.
Json changes_of(const OpenRun& run) {
  const auto text = read_file(run.directory() + "/lab.yaml", kMostLabText_B);
  const std::vector<std::string> set = set_of(run);
  const auto changes = text ? changes_to_ready_lab(run.text("lab"), *text, set) : std::nullopt;
  if (!changes) return nullptr;
  Json list = Json::array();
  for (const study::LabDifference& each : *changes) {
    list.push_back({{"path", each.path}, {"ready", nullptr}, {"value", nullptr}});
    if (each.a) list.back()["ready"] = each.a->text;
    if (each.b) list.back()["value"] = each.b->text;
  }
  return list;
}

void fill_from_store(OpenRun& run, Json& entry) {
  entry["lab"] = run.text("lab");
  entry["seed"] = std::strtoull(run.text("seed").c_str(), nullptr, 10);
  entry["seed_text"] = run.text("seed");
  entry["set"] = set_of(run);
  entry["end_ps"] = run.end_ps();
  entry["state"] = run.text("interrupted") == "1" ? "interrupted" : run.text("cut_off") == "1" ? "cut off" : "done";
  entry["expectations"] = store::count_rows<store::ExpectationRow>(run.file());
  entry["met"] = store::count_rows<store::ExpectationRow>(run.file(), "WHERE met");
  entry["headline"] = run.text("headline");
  entry["changes"] = changes_of(run);
}

// The directory above the runs of several seeds, or of a sweep, has results.json alone.
void fill_from_study(const std::string& directory, Json& entry) {
  const auto text = read_file(directory + "/results.json", kMostStudy_B);
  const Json json = text ? bounded_json<Json>(*text) : Json();
  if (!json.is_object()) {
    entry["state"] = "damaged";
    entry["headline"] = "results.json cannot be read.";
    return;
  }
  if (const auto lab = json.find("lab"); lab != json.end() && lab->is_string()) entry["lab"] = *lab;
  const auto seeds = json.find("seeds");
  if (json.contains("vary")) {
    entry["study"] = "sweep";
  } else if (seeds != json.end()) {
    entry["study"] = "seeds";
    const std::size_t count = seeds->is_array() ? seeds->size() : 0;
    entry["headline"] = fmt::format("{} of one lab: mean and spread of every figure.", counted(count, "seed"));
  } else {
    entry["state"] = "damaged";
    entry["headline"] = "The run has no results.sqlite.";
  }
}

Json expectations_of(OpenRun& run) {
  Json list = Json::array();
  for (const store::ExpectationRow& row : store::Reader<store::ExpectationRow>(run.file()))
    list.push_back({{"text", row.what + " " + lab::range_text(row.min, row.max)},
                    {"met", row.met},
                    {"value", row.value ? number_text(*row.value) : "not there"}});
  return list;
}

Json workloads_of(OpenRun& run) {
  Json list = Json::array();
  const auto summaries = workload_summaries(run);
  for (const lab::WorkloadEvidence& row : store::Reader<lab::WorkloadEvidence>(run.file())) {
    std::string summary = row.failure;
    if (const auto it = summaries.find(row.name); summary.empty() && it != summaries.end()) summary = it->second;
    list.push_back(
        {{"name", row.name}, {"kind", row.kind}, {"from_ps", row.from_ps}, {"to_ps", row.to_ps}, {"summary", summary}});
  }
  return list;
}

Json files_of(const std::string& directory) {
  std::vector<std::pair<std::string, std::uint64_t>> files;
  std::error_code error;
  for (auto it = fs::directory_iterator(directory, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (!is_plain_name(name) || it->is_symlink(ignored) || !it->is_regular_file(ignored)) continue;
    files.emplace_back(name, it->file_size(ignored));
  }
  std::sort(files.begin(), files.end());
  Json list = Json::array();
  for (const auto& [name, size_B] : files) list.push_back({{"name", name}, {"size_B", size_B}});
  return list;
}

template <class Row>
bool has_rows(OpenRun& run, const char* clause = "") {
  return store::count_rows<Row>(run.file(), clause) > 0;
}

Json has_of(OpenRun& run) {
  return {{"series", has_rows<store::SeriesRow>(run)},
          {"packets", !observe::capture_files(run.directory() + "/capture.pcapng").empty()},
          {"flows", has_rows<store::FlowRow>(run) || has_rows<lab::SenderEvidence>(run)},
          {"jobs", has_rows<lab::WorkloadEvidence>(run, "WHERE kind IN ('job', 'nccl')")},
          {"switches", has_rows<store::NodeRow>(run, "WHERE kind IN ('switch', 'forwarder')")}};
}

Json link(std::string text, const char* view, Json parameters) {
  return {{"text", std::move(text)}, {"view", view}, {"parameters", std::move(parameters)}};
}

// Links to the time, the port and the flows of the headline.
Json links_of(const lab::Explanation& explanation) {
  Json links = Json::array();
  if (!explanation.incidents.empty()) {
    const lab::Incident& first = explanation.incidents.front();
    const Json at{{"at", std::to_string(first.first_ps)}};
    links.push_back(link(first.title, "time", at));
    Json place = at;
    place["node"] = node_of_port(first.root);
    if (!first.root.empty()) links.push_back(link(first.root, "fabric", place));
    if (!first.flows.empty()) {
      std::string flows;
      const std::size_t chosen = std::min(first.flows.size(), kMostLinkedFlows);
      for (std::size_t i = 0; i < chosen; ++i) flows += (flows.empty() ? "" : ",") + first.flows[i];
      std::string text = counted(first.flows.size(), "flow");
      if (chosen < first.flows.size()) text = fmt::format("the first {} of {}", chosen, text);
      links.push_back(link(std::move(text), "flows", {{"flows", flows}}));
    }
    if (explanation.incidents.size() > 1)
      links.push_back(link(counted(explanation.incidents.size() - 1, "other incident"), "findings", Json::object()));
  }
  if (!explanation.links.empty() && explanation.links.front().busy > 0) {
    const lab::LinkUse& busiest = explanation.links.front();
    links.push_back(link(fmt::format("{} to {}: {} busy", busiest.from, busiest.to, share_text(busiest.busy)), "fabric",
                         {{"node", node_of_port(busiest.from)}}));
  }
  return links;
}

}  // namespace

std::string node_of_port(const std::string& port) {
  return port.substr(0, port.find(':'));
}

std::vector<std::string> set_of(const OpenRun& run) {
  std::vector<std::string> set;
  const auto list = bounded_json<nlohmann::json>(run.text("set"));
  if (!list.is_array()) return lines_of(run.text("set"));  // of an older weft
  for (const auto& each : list)
    if (each.is_string()) set.push_back(each.get<std::string>());
  return set;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

namespace {

Json entry_of(const std::string& id, const std::string& directory) {
  Json entry = empty_entry(id, directory);
  std::error_code ignored;
  if (!fs::is_regular_file(directory + "/results.sqlite", ignored)) {
    fill_from_study(directory, entry);
    return entry;
  }
  OpenRun run(id, directory);
  if (run.problem().empty()) fill_from_store(run, entry);
  if (!run.problem().empty() || !run.file().error().empty()) {
    entry["state"] = "damaged";
    entry["headline"] = run.problem().empty() ? run.file().error() : run.problem();
  }
  return entry;
}

}  // namespace

std::string run_entry(const std::string& id, const std::string& directory) {
  return json_text(entry_of(id, directory));
}

std::string running_entry(const std::string& id, const std::string& directory) {
  Json entry = empty_entry(id, directory);
  entry["state"] = "running";
  entry["headline"] = "The run is being written.";
  return json_text(entry);
}

std::string run_details(OpenRun& run) {
  Json entry = entry_of(run.id(), run.directory());

  entry["why"] = lines_of(run.text("why"));
  entry["expect"] = expectations_of(run);
  entry["workloads"] = workloads_of(run);
  entry["files"] = files_of(run.directory());
  entry["has"] = has_of(run);
  entry["sample_interval_ps"] = run.number("sample_interval_ps");
  entry["links"] = links_of(*explanation_of(run.directory()));
  return json_text(entry);
}

}  // namespace weft::serve

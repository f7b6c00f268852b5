#include "analyze/planted_run.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/bytes.h"

namespace weft::planted {
namespace {

using interop::run_command;
using interop::shell_quoted;

std::string lab_path(const PlantedCase& row, const PlantedRun& run) {
  return row.lab.ends_with(".yaml") ? row.lab : run.dir.file("lab.yaml");
}

void run_lab(const PlantedCase& row, PlantedRun& run) {
  if (!row.lab.ends_with(".yaml")) interop::write_bytes(run.dir.file("lab.yaml"), row.lab.data(), row.lab.size());
  std::string command = shell_quoted(WEFT_BINARY) + " run " + shell_quoted(lab_path(row, run)) + " --capture " +
                        row.ports + " --out " + shell_quoted(run.dir.file("out")) + " " + row.run_options;
  for (const std::string& set : row.sets) command += " --set " + shell_quoted(set);
  const auto result = run_command(command + " 2>&1");
  ASSERT_TRUE(std::filesystem::exists(run.capture_path)) << command << "\n" << result.output;
  std::ifstream json(run.dir.file("out/results.json"));
  run.results = nlohmann::json::parse(json, nullptr, false);
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

std::string options_of(const PlantedCase& row, const PlantedRun& run) {
  std::string options = row.options;
  replace(options, "$LAB", shell_quoted(lab_path(row, run)));
  replace(options, "$OUT", run.dir.file("out"));
  return options;
}

}  // namespace

void make_capture(const PlantedCase& row, PlantedRun& run) {
  run.capture_path = run.dir.file("out/" + row.file);
  EditableCapture capture;
  if (row.lab.empty()) {
    std::filesystem::create_directories(run.dir.file("out"));
  } else {
    run_lab(row, run);
    if (testing::Test::HasFatalFailure()) return;
    capture = EditableCapture::read(run.capture_path);
    ASSERT_FALSE(capture.records.empty()) << "an empty capture";
  }
  if (row.edit != nullptr) row.edit(capture);
  row.as_pcap ? capture.write_pcap(run.capture_path) : capture.write(run.capture_path);  // without comments
  if (row.edit_file != nullptr) {
    const std::string text = support::read_file(run.capture_path);
    std::vector<std::uint8_t> bytes(text.begin(), text.end());
    row.edit_file(bytes);
    interop::write_bytes(run.capture_path, bytes.data(), bytes.size());
  }
  if (!row.counters.empty())
    interop::write_bytes(run.dir.file("out/counters.txt"), row.counters.data(), row.counters.size());
  if (const char* folder = std::getenv("WEFT_KEEP_CAPTURES"); folder != nullptr) {
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(run.capture_path, std::string(folder) + "/" + row.name + ".pcapng",
                               std::filesystem::copy_options::overwrite_existing);
  }
}

AnalyzeRun analyze(const std::string& files, const std::string& options) {
  AnalyzeRun run;
  const std::string command = shell_quoted(WEFT_BINARY) + " analyze --json " + options + " " + files;
  const auto result = run_command(command + " 2>/dev/null");  // warnings of a lab go to stderr
  run.status = result.status;
  run.json = nlohmann::json::parse(result.output, nullptr, false);
  run.output = run.json.is_discarded() ? run_command(command + " 2>&1").output : result.output;
  return run;
}

AnalyzeRun analyze(const PlantedCase& row, const PlantedRun& run) {
  return analyze(shell_quoted(run.capture_path), options_of(row, run));
}

std::string analyze_text(const PlantedCase& row, const PlantedRun& run) {
  const std::string command =
      shell_quoted(WEFT_BINARY) + " analyze " + options_of(row, run) + " " + shell_quoted(run.capture_path);
  return run_command(command + " 2>/dev/null").output;
}

Named named(const AnalyzeRun& run) {
  Named names;
  for (const auto& each : run.json.at("findings"))
    (each.at("severity") == "note" ? names.notes : names.findings).push_back(each.at("id"));
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& each : words) text += (text.empty() ? "" : ", ") + each;
  return text;
}

}  // namespace weft::planted

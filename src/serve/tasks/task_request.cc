#include "serve/tasks/task_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "labfile/nodes/permissions.h"
#include "labfile/reader.h"
#include "serve/http/bounded_json.h"
#include "serve/http/page_files.h"
#include "serve/runs/run_place.h"
#include "serve/tasks/seed_number.h"
#include "study/sweep_plan.h"

namespace weft::serve {

namespace {

using TaskJson = nlohmann::ordered_json;

constexpr std::size_t kMostSet = 1000, kMostVary = 8, kMostCells = 10'000;
constexpr std::size_t kMostWord_B = 100'000;
constexpr std::uint64_t kMostCapture_B = 2'000'000'000;
constexpr const char* kAutoSample = "sample=auto";

Response lab_errors(int status, const std::vector<lab::Problem>& problems, std::string_view remedy = "") {
  TaskJson errors = TaskJson::array();
  for (const lab::Problem& each : problems) {
    TaskJson error{{"message", each.message}};
    if (!each.where.empty()) error["message"] = each.where + ": " + each.message;
    if (!each.remedy.empty() || !remedy.empty()) error["remedy"] = each.remedy.empty() ? remedy : each.remedy;
    if (each.line > 0) {
      error["line"] = each.line;
      error["column"] = each.column;
    }
    errors.push_back(std::move(error));
  }
  return {status,
          "application/json",
          TaskJson{{"errors", errors}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
          {},
          {}};
}

// Reads the fields of a request by name and type; `wrong` is the first error.
class TaskReader {
 public:
  explicit TaskReader(const TaskJson& json) : json_(json) {}

  void text(const char* name, std::string& to) {
    if (const TaskJson* value = find(name)) take_text(*value, name, to);
  }
  void number(const char* name, std::uint64_t& to, std::uint64_t least, std::uint64_t most) {
    const TaskJson* value = find(name);
    if (value == nullptr) return;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() < least || value->get<std::uint64_t>() > most) {
      wrong = fmt::format("{} is not a whole number from {} to {}", name, least, most);
    } else {
      to = value->get<std::uint64_t>();
    }
  }
  void texts(const char* name, std::vector<std::string>& to) {
    const TaskJson* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array() || value->size() > kMostSet) {
      wrong = fmt::format("{} is not a list of at most {}", name, kMostSet);
      return;
    }
    for (const TaskJson& each : *value) take_text(each, name, to.emplace_back());
  }
  // [{path, values[]}] as "path=a,b,c"; commas in a value are in quotes or brackets.
  void vary(std::vector<std::string>& to) {
    const TaskJson* value = find("vary");
    if (value == nullptr) return;
    if (!value->is_array() || value->empty() || value->size() > kMostVary) {
      wrong = fmt::format("vary is not a list of 1 to {}", kMostVary);
      return;
    }
    std::size_t cells = 1;
    for (const TaskJson& each : *value) {
      if (!each.is_object() || !each.contains("path") || !each.contains("values") || !each["values"].is_array() ||
          each["values"].empty()) {
        wrong = "an item of vary is not {path, values[]}";
        return;
      }
      std::string word;
      take_text(each["path"], "path", word);
      if (word.find('=') != word.npos) wrong = "a path contains =";
      char before = '=';
      for (const TaskJson& one : each["values"]) {
        std::string text;
        take_text(one, "a value of vary", text);
        word += before + text;
        before = ',';
      }
      const auto axis = study::parse_axis(word);
      if (!axis || axis->values.size() != each["values"].size())
        wrong = "a value of vary is empty, or has a comma outside of quotes and brackets";
      cells *= std::min(each["values"].size(), kMostCells + 1);
      if (cells > kMostCells) wrong = fmt::format("more than {} cells", kMostCells);
      to.push_back(word);
    }
  }
  const TaskJson* find(const char* name) const {
    const auto it = json_.find(name);
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }

  std::string wrong;

 private:
  void take_text(const TaskJson& value, const char* name, std::string& to) {
    if (!value.is_string()) {
      wrong = fmt::format("{} is not a text", name);
      return;
    }
    to = value.get<std::string>();
    if (to.find('\0') != std::string::npos) wrong = fmt::format("a NUL character in {}", name);
    if (to.size() > kMostWord_B && std::string_view(name) != "text") wrong = fmt::format("{} is too long", name);
  }

  const TaskJson& json_;
};

std::string unknown_port(const lab::Lab& lab, const std::string& capture) {
  if (capture == "none" || capture == "all") return {};
  std::istringstream names(capture);
  std::string name;
  bool any = false;
  while (std::getline(names, name, ',')) {
    any = true;
    const bool known = std::any_of(lab.links.begin(), lab.links.end(), [&](const lab::LinkConfig& link) {
      return lab::port_name(lab, link.a) == name || lab::port_name(lab, link.b) == name;
    });
    if (!known) return name;
  }
  return any ? "" : "(none)";
}

// A number, or a text of digits: JavaScript's numbers are exact only to 2^53, seeds have 64 bits.
std::optional<std::uint64_t> seed_of(const TaskJson& json) {
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  return json.is_string() ? seed_number(json.get_ref<const std::string&>()) : std::nullopt;
}

// Every combination of a sweep is a lab; here only the first value of each path is checked. The program that runs a lab
// reads it again with the same trust.
std::vector<std::string> first_of(const TaskRequest& request) {
  std::vector<std::string> set = request.set;
  for (const std::string& word : request.vary) {
    const auto axis = study::parse_axis(word);
    if (axis) set.push_back(axis->path + "=" + axis->values.front());
  }
  return set;
}

}  // namespace

tl::expected<TaskRequest, Response> read_task_request(const std::string& body, bool allow_programs) {
  const TaskJson json = bounded_json<TaskJson>(body);
  if (!json.is_object())
    return tl::unexpected(problem(400, "the body is not a JSON object, or is nested more than 64 deep"));
  TaskRequest request;
  TaskReader reader(json);
  std::string ready;
  reader.text("kind", request.kind);
  reader.text("lab", ready);
  reader.text("text", request.text);
  reader.text("name", request.name);
  reader.text("capture", request.capture);
  reader.texts("set", request.set);
  reader.number("snaplen_B", request.snaplen_B, 42, 65'535);
  reader.number("capture_size_B", request.capture_size_B, 100'000, kMostCapture_B);
  if (const TaskJson* seed = reader.find("seed"); seed != nullptr && !(request.seed = seed_of(*seed)))
    reader.wrong = fmt::format("seed is not a whole number from 0 to {}, or a text of its digits", UINT64_MAX);
  reader.vary(request.vary);
  if (reader.wrong.empty() && request.kind != "run" && request.kind != "sweep") reader.wrong = "kind is run or sweep";
  if (reader.wrong.empty() && (request.kind == "sweep") == request.vary.empty())
    reader.wrong = request.vary.empty() ? "a sweep needs vary" : "vary needs kind: sweep";
  if (reader.wrong.empty() && ready.empty() == request.text.empty()) reader.wrong = "give either lab or text";
  if (reader.wrong.empty() && !request.name.empty() && !is_plain_name(request.name))
    reader.wrong = "name may have letters, digits and . _ - and must not start with a dot";
  if (reader.wrong.empty() && request.capture.empty()) request.capture = "none";
  if (!reader.wrong.empty()) return tl::unexpected(problem(400, reader.wrong, "docs/api.md lists the fields"));
  if (!ready.empty()) {
    const auto labs = ready_labs();
    const auto it = std::find_if(labs.begin(), labs.end(), [&](const PageFile& file) { return file.path == ready; });
    if (it == labs.end())
      return tl::unexpected(problem(404, "there is no ready lab " + ready, "GET /api/labs lists them"));
    request.text = it->bytes;
  }
  // Checked before the lab is read, because its reader opens the files that it names.
  if (!allow_programs) {
    if (const auto needed = lab::permissions_needed(request.text, first_of(request)); !needed.empty())
      return tl::unexpected(
          lab_errors(403, needed, "weft serve --allow-programs permits it; weft run runs it from a shell"));
  }
  request.untrusted = !allow_programs;
  const lab::Trust trust = allow_programs ? lab::Trust::kAll : lab::Trust::kNothing;
  const std::vector<std::string> set = first_of(request);
  const auto lab = lab::read_lab(request.text, "lab.yaml", set, request.seed, trust);
  if (!lab) return tl::unexpected(lab_errors(422, lab.error()));
  if (const lab::HostConfig* outside = lab::first_outside(*lab))
    return tl::unexpected(problem(422, outside->name + " is a port to the outside", "use: weft up LAB --clock wall"));
  if (const std::string port = unknown_port(*lab, request.capture); !port.empty())
    return tl::unexpected(problem(422, fmt::format("capture: no cable ends at {}", port), "all, none, or NODE:PORT"));
  if (request.name.empty()) request.name = lab->name;
  // The page draws series: a lab without samples gets `sample=auto` if it can be read with it.
  std::vector<std::string> sampled = set;
  sampled.emplace_back(kAutoSample);
  request.samples =
      lab->sample_ps.has_value() || !lab::read_lab(request.text, "lab.yaml", sampled, request.seed, trust).has_value();
  return request;
}

std::vector<std::string> task_words(const TaskRequest& request, const std::string& program, const std::string& lab_file,
                                    const std::string& directory) {
  std::vector<std::string> words{program, request.kind, lab_file, "--out", directory, "--progress", "json"};
  if (request.untrusted) words.emplace_back("--untrusted");
  for (const std::string& each : request.set) words.push_back("--set=" + each);
  if (!request.samples) words.push_back(fmt::format("--set={}", kAutoSample));
  for (const std::string& each : request.vary) words.push_back("--vary=" + each);
  if (request.seed) words.insert(words.end(), {"--seed", std::to_string(*request.seed)});
  if (request.kind == "run" && request.capture != "none")
    words.insert(words.end(), {"--capture", request.capture, "--snaplen", std::to_string(request.snaplen_B),
                               "--capture-size", std::to_string(request.capture_size_B)});
  return words;
}

}  // namespace weft::serve

#include "serve/lab_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "catalog/catalog.h"
#include "catalog/catalog_text.h"
#include "labfile/knobs.h"
#include "labfile/nodes/permissions.h"
#include "labfile/reader.h"
#include "serve/http/bounded_json.h"
#include "serve/http/page_files.h"
#include "text/yaml_edit.h"

namespace weft::serve {

namespace {

using LabJson = nlohmann::ordered_json;

constexpr std::size_t kMostChanges = 100;  // each reads the text again

Response answer_json(const LabJson& json) {
  return {200, "application/json", json.dump(-1, ' ', false, LabJson::error_handler_t::replace), {}, {}};
}

// The comment at the start of a lab, its lines joined to paragraphs.
std::vector<std::string> lesson_of(std::string_view text) {
  std::vector<std::string> paragraphs(1);
  std::size_t at = 0;
  while (at < text.size() && text[at] == '#') {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at + 1, end - at - 1);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (line.empty()) {
      if (!paragraphs.back().empty()) paragraphs.emplace_back();
    } else {
      if (!paragraphs.back().empty()) paragraphs.back() += ' ';
      paragraphs.back() += line;
    }
    at = end + 1;
  }
  if (paragraphs.back().empty()) paragraphs.pop_back();
  return paragraphs;
}

LabJson lab_entry(const PageFile& file) {
  const std::vector<std::string> paragraphs = lesson_of(file.bytes);
  const std::size_t slash = file.path.rfind('/');
  const std::string name(file.path.substr(slash == file.path.npos ? 0 : slash + 1));
  std::string title = paragraphs.empty() ? "" : paragraphs.front(), lesson;
  if (const std::size_t end = title.find(". "); end != title.npos) {
    lesson = title.substr(end + 2);
    title.resize(end + 1);
  }
  for (std::size_t i = 1; i < paragraphs.size(); ++i) lesson += (lesson.empty() ? "" : "\n\n") + paragraphs[i];
  return {{"path", file.path},
          {"name", name.substr(0, name.rfind('.'))},
          {"group", std::string(slash == file.path.npos ? "" : file.path.substr(0, slash))},
          {"title", title},
          {"lesson", lesson},
          {"programs", !lab::permissions_needed(file.bytes).empty()}};
}

Response list_labs() {
  static const std::string labs = [] {
    LabJson list = LabJson::array();
    for (const PageFile& file : ready_labs()) list.push_back(lab_entry(file));
    return LabJson{{"labs", list}}.dump();
  }();
  return {200, "application/json", labs, {}, {}};
}

Response show_lab(const std::string& path) {
  const auto labs = ready_labs();
  const auto it = std::find_if(labs.begin(), labs.end(), [&](const PageFile& file) { return file.path == path; });
  if (it == labs.end()) return problem(404, fmt::format("no ready lab {}", path), "GET /api/labs lists them");
  return answer_json({{"path", path}, {"text", it->bytes}});
}

LabJson problem_list(const std::vector<lab::Problem>& problems) {
  LabJson list = LabJson::array();
  for (const lab::Problem& one : problems) {
    LabJson row{{"message", one.message}};
    if (!one.remedy.empty()) row["remedy"] = one.remedy;
    if (!one.where.empty()) row["where"] = one.where;
    if (one.line > 0) row["line"] = one.line;
    if (one.column > 0) row["column"] = one.column;
    list.push_back(row);
  }
  return list;
}

LabJson knob_list(const std::vector<lab::Knob>& knobs) {
  LabJson list = LabJson::array();
  for (const lab::Knob& knob : knobs) {
    list.push_back({{"path", knob.path},
                    {"group", knob.group},
                    {"title", knob.title},
                    {"kind", lab::knob_kind_name(knob.kind)},
                    {"value", knob.value},
                    {"in_force", knob.in_force},
                    {"choices", knob.choices},
                    {"help", knob.help}});
  }
  return list;
}

// The body, when it is an object with `text`.
std::optional<LabJson> body_with_text(const Request& request) {
  LabJson body = bounded_json<LabJson>(request.body);
  if (!body.is_object() || !body.contains("text") || !body["text"].is_string()) return std::nullopt;
  return body;
}

LabJson failed_check(const LabJson& errors, bool programs) {
  return {{"ok", false}, {"errors", errors},     {"warnings", LabJson::array()},
          {"name", ""},  {"programs", programs}, {"knobs", LabJson::array()}};
}

Response check_lab(const Request& request, bool allow_programs) {
  const auto body = body_with_text(request);
  if (!body) return problem(400, "the body has no lab text", "send {\"text\": …, \"set\": […]}");
  const std::string text = (*body)["text"];
  std::vector<std::string> set;
  if (body->contains("set") && (*body)["set"].is_array() && (*body)["set"].size() > kMostChanges)
    return problem(400, fmt::format("more than {} items in set", kMostChanges));
  if (body->contains("set") && (*body)["set"].is_array())
    for (const LabJson& change : (*body)["set"])
      if (change.is_string()) set.push_back(change.get<std::string>());
  // The reader opens the files that a lab names, and quotes them in its errors.
  if (auto named = lab::files_named(text, set); !named.empty() && !allow_programs) {
    for (lab::Problem& each : named) each.remedy = "weft serve --allow-programs permits it";
    return answer_json(failed_check(problem_list(named), true));
  }
  const auto lab = lab::read_lab(text, "lab.yaml", set, {}, allow_programs ? lab::Trust::kAll : lab::Trust::kNoFiles);
  if (!lab) return answer_json(failed_check(problem_list(lab.error()), false));
  return answer_json({{"ok", true},
                      {"errors", LabJson::array()},
                      {"warnings", problem_list(lab->warnings)},
                      {"name", lab->name},
                      {"programs", starts_programs(*lab)},
                      {"hosts", lab->hosts.size()},
                      {"switches", lab->switches.size()},
                      {"knobs", knob_list(lab::knobs_of(*lab, text))}});
}

Response edit_lab(const Request& request) {
  const auto body = body_with_text(request);
  if (!body || !body->contains("changes") || !(*body)["changes"].is_array())
    return problem(400, "the body has no text or no changes",
                   "send {\"text\": …, \"changes\": [{\"path\": …, \"value\": …}]}");
  std::string text = (*body)["text"];
  if ((*body)["changes"].size() > kMostChanges) return problem(400, fmt::format("more than {} changes", kMostChanges));
  for (const LabJson& change : (*body)["changes"]) {
    if (!change.is_object() || !change.contains("path") || !change["path"].is_string())
      return problem(400, "a change without a path");
    const std::string path = change["path"];
    const std::string value = change.contains("value") && change["value"].is_string() ? change["value"] : "";
    auto edited = lab::edit_yaml(text, path, value.empty() ? std::nullopt : std::optional(value));
    if (!edited) return problem(422, fmt::format("{}: {}", path, edited.error()), "change the file by hand");
    text = std::move(*edited);
  }
  return answer_json({{"text", text}});
}

}  // namespace

bool starts_programs(const lab::Lab& lab) {
  return lab::first_outside(lab) != nullptr ||
         std::any_of(lab.workloads.begin(), lab.workloads.end(), [](const lab::WorkloadConfig& workload) {
           return workload.as<workload::ProgramOptions>() != nullptr;
         });
}

void add_lab_routes(Router& router, bool allow_programs) {
  router.add("GET", "/api/labs", [](const Request&) { return list_labs(); });
  router.add("GET", "/api/labs/**", [](const Request& request) { return show_lab(request.match[0]); });
  router.add("POST", "/api/lab/check",
             [allow_programs](const Request& request) { return check_lab(request, allow_programs); });
  router.add("POST", "/api/lab/edit", edit_lab);
  router.add("GET", "/api/catalog", [](const Request&) {
    return Response{200, "application/json", lab::catalog_list_json(lab::Catalog::built_in()), {}, {}};
  });
}

}  // namespace weft::serve

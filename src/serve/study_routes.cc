#include "serve/study_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "serve/http/bounded_json.h"
#include "serve/runs/open_run.h"
#include "study/comparison.h"

namespace weft::serve {

namespace {

using StudyJson = nlohmann::ordered_json;

constexpr std::size_t kMostSweep_B = std::size_t{64} << 20;

Response compare(const RunPlace& place, const Request& request) {
  const std::string a = request.text("a"), b = request.text("b");
  const auto left = finished_run(place, a), right = finished_run(place, b);
  if (!left || !right) return left ? right.error() : left.error();
  auto comparison = study::compare_runs(*left, *right);
  if (!comparison) return problem(422, comparison.error().message, comparison.error().remedy);
  comparison->a.directory = a;
  comparison->b.directory = b;
  return {200, "application/json", study::comparison_json(*comparison), {}, {}};
}

// sweep.json, with the names of runs as the API has them.
Response sweep(const RunPlace& place, const std::string& id) {
  const std::string path = place.directory() + "/" + id + "/sweep.json";
  std::error_code ignored;
  if (!is_plain_name(id) || std::filesystem::is_symlink(place.directory() + "/" + id, ignored) || !is_own_file(path))
    return problem(404, fmt::format("no sweep {}", id), "GET /api/sweeps lists them");
  auto text = read_file(path, kMostSweep_B);
  if (!text) return problem(500, text.error());
  StudyJson json = bounded_json<StudyJson>(*text);
  if (!json.is_object() || !json.contains("cells") || !json["cells"].is_array())
    return problem(422, fmt::format("{}/sweep.json is not the file of a sweep", id), "run the sweep again");
  for (StudyJson& cell : json["cells"]) {
    if (!cell.is_object() || !cell.contains("run") || !cell["run"].is_string()) continue;
    cell["run"] = id + "~" + cell["run"].get<std::string>();
  }
  StudyJson answer{{"id", id}};
  answer.update(json);
  if (answer.contains("seed") && answer["seed"].is_number_unsigned())
    answer["seed_text"] = std::to_string(answer["seed"].get<std::uint64_t>());
  return {200, "application/json", answer.dump(-1, ' ', false, StudyJson::error_handler_t::replace), {}, {}};
}

Response list_sweeps(const RunPlace& place) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(place.directory(), error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (is_plain_name(name) && !it->is_symlink(ignored) && is_own_file(it->path() / "sweep.json"))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return {200, "application/json", StudyJson{{"sweeps", names}}.dump(), {}, {}};
}

}  // namespace

void add_study_routes(Router& router, const RunPlace& place) {
  router.add("GET", "/api/compare", [&place](const Request& request) { return compare(place, request); });
  router.add("GET", "/api/sweeps", [&place](const Request&) { return list_sweeps(place); });
  router.add("GET", "/api/sweeps/*", [&place](const Request& request) { return sweep(place, request.match[0]); });
}

}  // namespace weft::serve

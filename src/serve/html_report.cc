#include "serve/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "serve/http/json_answer.h"
#include "serve/http/page_files.h"
#include "serve/report_packets.h"
#include "serve/run_data_routes.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
                       std::string_view("-_.!~*'()").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

// Answers by the address under which the page requests them.
class Answers {
 public:
  Answers(const std::string& directory, std::size_t most_B)
      : place_(directory), most_B_(most_B), directory_(fs::path(directory).lexically_normal().string()) {
    while (directory_.size() > 1 && directory_.ends_with('/')) directory_.pop_back();
    std::error_code ignored;
    name_ = fs::absolute(directory_, ignored).lexically_normal().filename().string();
    if (name_.empty()) name_ = directory_;
    add_run_data_routes(router_, place_, cache_, runs_);
  }

  Response ask(const std::string& path, std::map<std::string, std::string> query = {}) {
    return router_.answer({"GET", "/api/runs/run" + path, std::move(query), {}, "", {}});
  }
  // Keeps the answer if there is one and it fits. False: it is not in the report.
  bool add(const std::string& path, const std::map<std::string, std::string>& query = {}) {
    std::string name = path;
    for (const auto& [key, value] : query)
      name += fmt::format("{}{}={}", name == path ? "?" : "&", key, encoded(value));
    const Response response = ask(path, query);
    if (response.status == 404) return false;  // the run has no such thing
    return put(name, response.status == 200 ? response.text() : std::string(), query.empty() || path == "/events");
  }
  bool put(const std::string& name, const std::string& json, bool must_be_known = true) {
    if (json.empty() || size_B_ + json.size() > most_B_) {
      if (must_be_known) left_out.push_back(name);
      return false;
    }
    size_B_ += json.size();
    parts_ += fmt::format("{}{}: {}", parts_.empty() ? "" : ",\n", Json("/api/runs/run" + name).dump(), json);
    return true;
  }
  void note(std::string what) { left_out.push_back(std::move(what)); }
  std::string json() {
    Json more{{"left_out", left_out}, {"name", name_}, {"directory", directory_}};
    return fmt::format("{{{},\n\"/report\": {}}}", parts_, json_text(more));
  }
  std::vector<std::string> left_out;

 private:
  RunPlace place_;
  AnswerCache cache_;
  RunList runs_{place_};
  Router router_;
  std::size_t most_B_, size_B_ = 0;
  std::string parts_;
  std::string directory_, name_;  // of the run, for the reader
};

Json parsed(const Response& response) {
  return response.status == 200 ? Json::parse(response.text(), nullptr, false) : Json();
}
const Json& part_of(const Json& json, const char* key) {
  static const Json kNone = Json::array();
  return json.is_object() && json.contains(key) && json[key].is_array() ? json[key] : kNone;
}

// The largest series of each metric; all of them have data in the report.
std::vector<const Json*> chosen_series(const Json& all) {
  std::map<std::string, std::vector<const Json*>> by_metric;
  for (const Json& each : all) by_metric[each.value("metric", "")].push_back(&each);
  std::vector<const Json*> chosen;
  for (auto& [metric, list] : by_metric) {
    const auto weight = [](const Json* s) { return std::max(s->value("most", 0.0), s->value("last", 0.0)); };
    std::stable_sort(list.begin(), list.end(), [&](auto* a, auto* b) { return weight(a) > weight(b); });
    list.resize(std::min(list.size(), metric == "rate_bps" ? kReportRates : kReportSeriesOfMetric));
    chosen.insert(chosen.end(), list.begin(), list.end());
  }
  return chosen;
}

void add_to_list(std::string& list, const std::string& item) {
  if (!list.empty()) list += ',';
  list += item;
}

std::string joined_ids(const std::vector<const Json*>& list) {
  std::string ids;
  for (const Json* each : list) add_to_list(ids, each->value("id", ""));
  return ids;
}

void add_series(Answers& answers) {
  const Json all = parsed(answers.ask("/series"));
  const Json& list = part_of(all, "series");
  const std::vector<const Json*> chosen = chosen_series(list);
  std::vector<const Json*> kept;
  // Metric by metric, so that a metric that does not fit does not exclude others.
  std::map<std::string, std::vector<const Json*>> by_metric;
  for (const Json* each : chosen) by_metric[each->value("metric", "")].push_back(each);
  Json data = Json::array();
  for (const auto& [metric, group] : by_metric) {
    const Json answer =
        parsed(answers.ask("/series/data", {{"match", joined_ids(group)}, {"points", std::to_string(kReportPoints)}}));
    for (const Json& each : part_of(answer, "series")) data.push_back(each);
    kept.insert(kept.end(), group.begin(), group.end());
  }
  Json known = Json::array();
  for (const Json* each : kept) known.push_back(*each);
  const bool has = answers.put("/series/data", json_text(Json{{"series", data}}));
  answers.put("/series", json_text(Json{{"series", has ? known : Json::array()}}));
  if (has && kept.size() < list.size())
    answers.note(fmt::format("{} of {} series", list.size() - kept.size(), list.size()));
}

void add_paths(Answers& answers) {
  const Json flows = parsed(answers.ask("/flows"));
  std::string ids;
  std::size_t count = 0;
  for (const Json& id : part_of(flows, "id")) {
    if (++count > 2000) break;
    if (id.is_string()) add_to_list(ids, id.get<std::string>());
  }
  if (ids.empty()) return;
  const Response response = answers.ask("/paths", {{"flows", ids}});
  if (response.status == 200) answers.put("/paths", response.text());
}

void add_packets(Answers& answers) {
  const ReportPackets chosen = choose_packets([&](const std::string& path, std::map<std::string, std::string> query) {
    return answers.ask(path, std::move(query));
  });
  if (chosen.page.empty() || !answers.put("/packets", chosen.page)) return;
  for (const std::uint64_t number : chosen.details) {
    const std::string name = fmt::format("/packets/{}", number);
    const Response response = answers.ask(name, {{"message", "0"}});
    if (response.status == 200) answers.put(name, response.text(), false);
  }
  if (chosen.total > chosen.rows)
    answers.note(fmt::format("{} of {} packets; the first ones and those around findings and events are included",
                             chosen.total - chosen.rows, chosen.total));
}

void add_fabric(Answers& answers) {
  const Json fabric = parsed(answers.ask("/fabric"));
  answers.add("/fabric");
  const std::size_t directions = std::max<std::size_t>(1, 2 * part_of(fabric, "links").size());
  const std::size_t bins = std::clamp<std::size_t>(1'000'000 / directions, 50, kReportBins);
  const Response activity = answers.ask("/activity", {{"bins", std::to_string(bins)}});
  if (activity.status == 200) answers.put("/activity", activity.text());
  const Response total = answers.ask("/activity/total", {{"bins", std::to_string(kReportBins)}});
  if (total.status == 200) answers.put("/activity/total", total.text());
  // In large fabrics the switches come first.
  const Json& nodes = part_of(fabric, "nodes");
  const std::size_t most = nodes.size() <= kReportNodes ? kReportNodes : kReportNodesOfMany;
  std::size_t count = 0;
  for (const bool hosts : {false, true}) {
    for (const Json& node : nodes) {
      if ((node.value("kind", "") == "host") == hosts && count++ < most)
        answers.add("/nodes/" + node.value("name", ""));
    }
  }
  if (nodes.size() > most) answers.note(fmt::format("counters of {} of {} nodes", nodes.size() - most, nodes.size()));
}

std::string replaced(const std::string& text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  std::size_t at = 0;
  for (std::size_t next = 0; (next = text.find(from, at)) != std::string::npos; at = next + from.size()) {
    out.append(text, at, next - at);
    out.append(to);
  }
  out.append(text, at);
  return out;
}

// Removes "<script …></script>" and "<link rel="stylesheet" …>": the files that they name are put inside.
std::string without(std::string html, std::string_view open, std::string_view close) {
  for (std::size_t at = 0; (at = html.find(open, at)) != std::string::npos;) {
    const std::size_t end = html.find(close, at);
    if (end == std::string::npos) break;
    html.erase(at, end + close.size() - at);
  }
  return html;
}

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

}  // namespace

std::string json_in_script(std::string_view json) {
  return replaced(std::string(json), "<", "\\u003c");
}

std::string code_in_script(std::string_view code) {
  // In strings, templates and regular expressions \x3c is "<"; elsewhere none of these can stand.
  std::string text(code);
  for (const char* name : {"/script", "script", "!--"})
    text = replaced(text, fmt::format("<{}", name), fmt::format("\\x3c{}", name));
  return text;
}

tl::expected<HtmlReport, std::string> html_report(const std::string& directory, std::size_t most_B) {
  const PageFile *page = find_page_file("index.html"), *code = find_page_file("app.js"),
                 *style = find_page_file("app.css");
  if (page == nullptr || code == nullptr || style == nullptr)
    return tl::make_unexpected("this weft was built without the page (WEFT_PAGE=OFF)");
  if (!RunPlace(directory).is_run()) return tl::make_unexpected("it is not the directory of a run");
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(directory + "/results.sqlite", ignored))
    return tl::make_unexpected("it has no results.sqlite: a study of several runs, or a run that did not finish");
  Answers answers(directory, most_B);
  const Response about = answers.ask("");
  if (about.status != 200) {
    const Json json = Json::parse(about.text(), nullptr, false);
    const Json& errors = part_of(json, "errors");
    return tl::make_unexpected(errors.empty() ? fmt::format("status {}", about.status)
                                              : errors[0].value("message", "it cannot be read"));
  }
  // The most important parts come first, so that they fit.
  for (const char* path : {"", "/findings", "/lab", "/flows/summary"}) answers.add(path);
  add_fabric(answers);
  answers.add("/flows");
  const Response events = answers.ask("/events", {{"limit", std::to_string(kReportEvents)}});
  if (events.status == 200) answers.put("/events", events.text());
  add_series(answers);
  answers.add("/jobs");
  add_paths(answers);
  add_packets(answers);

  std::string html = without(std::string(page->bytes), "<script", "</script>");
  html = without(std::move(html), "<link rel=\"stylesheet\"", ">");
  html = without(std::move(html), "<link rel=\"modulepreload\"", ">");
  const Json run = parsed(about);
  html = replaced(html, "<title>Weft</title>",
                  fmt::format("<title>Weft: {}</title>", escaped_html(run.value("lab", "run"))));
  std::string inside = "<style>" + replaced(std::string(style->bytes), "</style", "<\\/style") + "</style>\n";
  inside += "<script>window.WEFT_REPORT = " + json_in_script(answers.json()) + ";</script>\n";
  inside += "<script type=\"module\">" + code_in_script(code->bytes) + "</script>\n";
  const std::size_t head = html.find("</head>");
  if (head == std::string::npos) return tl::make_unexpected("the page has no head");
  html.insert(head, inside);
  return HtmlReport{std::move(html), std::move(answers.left_out)};
}

}  // namespace weft::serve

#include "serve/report_packets.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "serve/http/json_answer.h"

namespace weft::serve {

namespace {

using ReportJson = nlohmann::ordered_json;

// A packet by its number, or by its time in the run where that is 0.
struct ReportMoment {
  std::uint64_t packet = 0;
  std::int64_t time_ps = 0;
};

const ReportJson& list_in(const ReportJson& json, const char* key) {
  static const ReportJson kNothing = ReportJson::array();
  return json.is_object() && json.contains(key) && json[key].is_array() ? json[key] : kNothing;
}

ReportJson answer_of(const AskRun& ask, const std::string& path, std::map<std::string, std::string> query) {
  const Response response = ask(path, std::move(query));
  return response.status == 200 ? ReportJson::parse(response.text(), nullptr, false) : ReportJson();
}

void add_moment(const ReportJson& from, std::vector<ReportMoment>& moments) {
  ReportMoment moment;
  if (from.contains("packet") && from["packet"].is_number_unsigned()) moment.packet = from["packet"];
  if (from.contains("time_ps") && from["time_ps"].is_number_integer()) moment.time_ps = from["time_ps"];
  if (moment.packet > 0 || moment.time_ps > 0) moments.push_back(moment);
}

// Findings first, then events: rare kinds before frequent ones, those of each kind spread over the run.
std::vector<ReportMoment> moments_of(const AskRun& ask) {
  std::vector<ReportMoment> moments;
  const ReportJson findings = answer_of(ask, "/findings", {});
  for (const ReportJson& finding : list_in(findings, "findings"))
    for (const ReportJson& each : list_in(finding, "evidence")) add_moment(each, moments);
  const ReportJson events = answer_of(ask, "/events", {{"limit", "5000"}});
  std::map<std::string, std::vector<const ReportJson*>> by_kind;
  for (const ReportJson& event : list_in(events, "events")) by_kind[event.value("kind", "")].push_back(&event);
  std::vector<std::vector<const ReportJson*>> kinds;
  for (auto& [kind, list] : by_kind) kinds.push_back(std::move(list));
  std::stable_sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  for (const auto& list : kinds) {
    const std::size_t count = std::min(list.size(), kReportMomentsOfKind);
    for (std::size_t i = 0; i < count; ++i) add_moment(*list[i * list.size() / count], moments);
  }
  return moments;
}

class ChosenPackets {
 public:
  explicit ChosenPackets(const AskRun& ask) : ask_(ask) {}

  // Rows from an offset on; the whole answer.
  ReportJson take(std::map<std::string, std::string> query, std::size_t most) {
    ReportJson page = answer_of(ask_, "/packets", std::move(query));
    for (const ReportJson& row : list_in(page, "packets"))
      if (rows_.size() < most) rows_.emplace(row.value("number", std::uint64_t{0}), row);
    return page;
  }
  // Those around a moment; the number of the packet there, 0: none.
  std::uint64_t take_around(const ReportMoment& moment, std::size_t most) {
    std::uint64_t number = moment.packet;
    if (number == 0) {
      const ReportJson at = answer_of(ask_, "/packets", {{"from_ps", std::to_string(moment.time_ps)}, {"limit", "1"}});
      if (list_in(at, "packets").empty()) return 0;
      number = at["packets"][0].value("number", std::uint64_t{0});
    }
    const std::uint64_t first = number > kReportPacketsAround ? number - kReportPacketsAround : 1;
    if (rows_.contains(first) && rows_.contains(number + kReportPacketsAround)) return number;
    take({{"offset", std::to_string(first - 1)}, {"limit", std::to_string(2 * kReportPacketsAround + 1)}}, most);
    return number;
  }
  const std::map<std::uint64_t, ReportJson>& rows() const { return rows_; }

 private:
  const AskRun& ask_;
  std::map<std::uint64_t, ReportJson> rows_;
};

}  // namespace

ReportPackets choose_packets(const AskRun& ask) {
  ReportPackets out;
  ChosenPackets chosen(ask);
  ReportJson page = chosen.take({{"limit", std::to_string(kReportFirstPackets)}}, kReportPackets);
  if (list_in(page, "packets").empty()) return out;
  out.total = page.value("total", std::size_t{0});
  const auto add_detail = [&](std::uint64_t number) {
    const bool known = std::find(out.details.begin(), out.details.end(), number) != out.details.end();
    if (!known && chosen.rows().contains(number) && out.details.size() < kReportPacketDetails)
      out.details.push_back(number);
  };
  for (const ReportMoment& moment : moments_of(ask)) {
    if (chosen.rows().size() >= kReportPackets) break;
    add_detail(chosen.take_around(moment, kReportPackets));
  }
  // The rest is filled from the start of the capture.
  const std::size_t free = kReportPackets - chosen.rows().size();
  if (free > 0 && out.total > kReportFirstPackets)
    chosen.take({{"offset", std::to_string(kReportFirstPackets)}, {"limit", std::to_string(free)}}, kReportPackets);
  ReportJson rows = ReportJson::array();
  for (const auto& [number, row] : chosen.rows()) {
    rows.push_back(row);
    add_detail(number);
  }
  out.rows = rows.size();
  page["packets"] = std::move(rows);
  page["next"] = nullptr;
  out.page = json_text(page);
  return out;
}

}  // namespace weft::serve

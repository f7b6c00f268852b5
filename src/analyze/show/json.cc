#include <nlohmann/json.hpp>

#include "analyze/findings/analysis.h"
#include "analyze/show/diff.h"
#include "pcap/link_type.h"

namespace weft::analyze {
namespace {

using Json = nlohmann::ordered_json;

Json pause_json(const ClassPause& pause) {
  Json j = {{"direction", pause.sent ? "sent" : "received"}};
  if (!pause.sender.empty()) j = {{"sender", pause.sender}};
  j["priority"] = pause.priority < 0 ? Json("all") : Json(pause.priority);
  j["frames"] = pause.frames;
  j["xoff"] = pause.xoff;
  j["xon"] = pause.xon;
  j["pauses"] = pause.pauses;
  j["expired"] = pause.expired;
  j["paused_ns"] = pause.paused_ns;
  j["longest_ns"] = pause.longest_ns;
  j["refresh_ns"] = pause.refresh_ns < 0 ? Json() : Json(pause.refresh_ns);
  j["share"] = pause.share;
  j["response_ns"] = pause.response_ns < 0 ? Json() : Json(pause.response_ns);
  j["response_mean_ns"] = pause.response_mean_ns < 0 ? Json() : Json(pause.response_mean_ns);
  j["response_limit_ns"] = pause.response_limit_ns;
  if (pause.speed_is_estimated) j["speed_is_estimated"] = true;
  return j;
}

Json table_json(const Table& table) {
  Json rows = Json::array();
  for (const std::vector<Cell>& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) std::visit([&cells](const auto& value) { cells.push_back(value); }, cell);
    rows.push_back(std::move(cells));
  }
  return {{"columns", table.columns}, {"rows", std::move(rows)}};
}

Json point_json(const CapturePoint& point) {
  Json j = {{"file", point.path},           {"interface", point.name},
            {"speed_bps", point.speed_bps}, {"link_type", pcap::link_type_name(point.link_type)},
            {"frames", point.frames},       {"ce_marked", point.ce_marked},
            {"cnps", point.cnps},           {"pause_frames", point.pause_frames}};
  j["pauses"] = Json::array();
  for (const ClassPause& pause : point.pauses) j["pauses"].push_back(pause_json(pause));
  return j;
}

Json conversation_json(const Conversation& each) {
  Json j = {{"a", each.a}, {"b", each.b}};
  j["a_qp"] = each.a_qp ? Json(*each.a_qp) : Json();
  j["b_qp"] = each.b_qp ? Json(*each.b_qp) : Json();
  j["transport"] = each.transport;
  j["verbs"] = each.verbs;
  j["path_mtu_B"] = each.path_mtu_B;
  j["packets"] = each.packets;
  j["payload_B"] = each.payload_B;
  j["wire_B"] = each.wire_B;
  j["messages"] = each.messages;
  j["message_B_least"] = each.sizes_known ? Json(each.message_B_least) : Json();
  j["message_B_most"] = each.sizes_known ? Json(each.message_B_most) : Json();
  j["goodput_B"] = each.goodput_B;
  j["to_a_B"] = each.to_a_B;
  j["to_b_B"] = each.to_b_B;
  j["goodput_bps"] = each.goodput_bps;
  j["retransmitted"] = each.retransmitted;
  j["cnps"] = each.cnps;
  j["ce_marked"] = each.ce_marked;
  j["naks"] = each.naks;
  j["ack_latency_p50_ns"] = each.ack_latency_p50_ns;
  j["ack_latency_p99_ns"] = each.ack_latency_p99_ns;
  j["message_latency_p50_ns"] = each.message_latency_p50_ns;
  j["message_latency_p99_ns"] = each.message_latency_p99_ns;
  j["first_ns"] = each.first_ns;
  j["last_ns"] = each.last_ns;
  j["points"] = each.points;
  j["dscp"] = each.dscp < 0 ? Json() : Json(each.dscp);
  j["ecn"] = each.ect < 0 ? Json() : Json(each.ect == 0 ? "not-ECT" : "ECT");
  return j;
}

Json finding_json(const Analysis& analysis, const Finding& finding) {
  const FindingKind& kind = finding_kinds()[rank_of(finding.id)];
  Json j = {
      {"id", finding.id},     {"severity", name(kind.severity)}, {"title", kind.title},   {"where", finding.where},
      {"what", finding.what}, {"cause", finding.cause},          {"count", finding.count}};
  j["evidence"] = Json::array();
  for (const Evidence& evidence : finding.evidence)
    j["evidence"].push_back({{"frame", evidence.frame},
                             {"time_ns", evidence.time_ns},
                             {"interface", analysis.capture.points[evidence.point].name},
                             {"text", evidence.text}});
  j["remedies"] = Json::array();
  for (const Remedy& remedy : finding.remedies)
    j["remedies"].push_back({{"where", remedy.where}, {"command", remedy.command}});
  return j;
}

const char* verdict_name(Verdict verdict) {
  return verdict == Verdict::kHealthy ? "healthy" : verdict == Verdict::kFound ? "found" : "not enough";
}

}  // namespace

std::string analysis_json(const Analysis& analysis) {
  const CaptureSummary& capture = analysis.capture;
  Json j;
  j["capture"] = {{"frames", capture.frames},
                  {"roce", capture.roce},
                  {"uet", capture.uet},
                  {"pauses", capture.pauses},
                  {"tcp", capture.tcp},
                  {"other", capture.other},
                  {"unreadable", capture.unreadable},
                  {"captured_B", capture.captured_B},
                  {"wire_B", capture.wire_B},
                  {"cut_frames", capture.cut_frames},
                  {"begin_ns", capture.begin_ns},
                  {"first_ns", capture.first_ns},
                  {"last_ns", capture.last_ns},
                  {"icrc_good", capture.icrc_good},
                  {"icrc_bad", capture.icrc_bad},
                  {"streams", capture.streams},
                  {"streams_counted", capture.streams_counted},
                  {"frames_left_out", capture.streams_left_out}};
  j["clocks"] = Json::array();
  for (const ClockSummary& clock : capture.clocks)
    j["clocks"].push_back({{"file", clock.file},
                           {"reference", clock.reference},
                           {"ahead_ns", clock.ahead_ns},
                           {"uncertainty_ns", clock.uncertainty_ns},
                           {"drift_ppm", clock.drift * 1e6},
                           {"packets", clock.packets},
                           {"corrected", clock.is_corrected}});
  j["points"] = Json::array();
  for (const CapturePoint& point : capture.points) j["points"].push_back(point_json(point));
  j["conversations"] = Json::array();
  for (const Conversation& each : analysis.conversations) j["conversations"].push_back(conversation_json(each));
  j["findings"] = Json::array();
  for (const Finding& finding : analysis.findings.all()) j["findings"].push_back(finding_json(analysis, finding));
  j["checks"] = Json::array();
  for (const CheckResult& check : analysis.findings.checks()) {
    Json row = {{"name", check.check}, {"verdict", verdict_name(check.verdict)}, {"looked_at", check.looked_at}};
    if (check.verdict == Verdict::kNotEnough)
      row["missing"] = check.missing;
    else
      row["unit"] = check.unit;
    j["checks"].push_back(std::move(row));
  }
  for (const Table& table : analysis.tables) j["tables"][table.name] = table_json(table);
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string changes_json(const std::vector<Change>& changes, const std::string& before, const std::string& after) {
  Json j = {{"before", before}, {"after", after}, {"changes", Json::array()}};
  for (const Change& change : changes)
    j["changes"].push_back({{"what", change.what},
                            {"unit", change.unit},
                            {"before", change.before},
                            {"after", change.after},
                            {"where", change.where},
                            {"places", change.places}});
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::analyze

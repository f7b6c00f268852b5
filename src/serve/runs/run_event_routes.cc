#include "serve/runs/run_event_routes.h"

#include <nlohmann/json.hpp>

#include "serve/http/json_answer.h"

namespace weft::serve {

namespace {

using Json = nlohmann::ordered_json;

std::set<std::string> kinds_of(const std::string& text) {
  std::set<std::string> kinds;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at) kinds.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return kinds;
}

Response events_of(const Request& request, OpenRun& run, const FindPackets& find_packets) {
  const auto window = window_of(request, run);
  const auto limit = request.number("limit", 2000, 1, 50'000);
  if (!window) return problem(422, "from_ps and to_ps are times in picoseconds, from_ps before to_ps");
  if (!limit) return problem(422, "limit is a number from 1 to 50000");
  RunEvents read = read_events(run, *window, kinds_of(request.text("kinds")));
  const std::uint64_t merged = thin_events(read.events, *window, static_cast<std::size_t>(*limit));
  find_packets(run, read.events);
  Json list = Json::array();
  for (const RunEvent& each : read.events)
    list.push_back({{"id", each.id},
                    {"time_ps", each.time_ps},
                    {"last_ps", each.last_ps},
                    {"count", each.count},
                    {"kind", each.kind},
                    {"port", each.port},
                    {"text", each.text},
                    {"flow", each.flow.empty() ? Json() : Json(each.flow)},
                    {"packet", each.packet == 0 ? Json() : Json(each.packet)}});
  return json_answer(Json{{"events", list},
                          {"left_out", merged},
                          {"not_recorded", run.number("left_out") + run.number("pauses_left_out")},
                          {"kinds", read.kinds}});
}

}  // namespace

void add_run_event_routes(Router& router, const RunPlace& place, AnswerCache& cache, FindPackets find_packets) {
  router.add("GET", "/api/runs/*/events",
             on_run(place, cache, [find_packets = std::move(find_packets)](const Request& request, OpenRun& run) {
               return events_of(request, run, find_packets);
             }));
}

}  // namespace weft::serve

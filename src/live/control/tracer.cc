#include "live/control/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/nearest.h"
#include "store/json_text.h"
#include "text/problem.h"

namespace weft::live {

namespace {

constexpr std::string_view kKinds[] = {
    "process_start", "process_end", "pd_alloc",    "pd_dealloc", "mr_reg",    "mr_dereg",   "cq_create", "cq_destroy",
    "srq_create",    "srq_modify",  "srq_destroy", "qp_create",  "qp_modify", "qp_destroy", "qp_error",  "ah_create",
    "ah_destroy",    "async",       "cm_state",    "cm_event",   "link_up",   "link_down",  "routes",    "command"};

std::string_view group_of(std::string_view kind) {
  return kind.substr(0, kind.find('_'));
}

bool is_in(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

tl::expected<void, CommandProblem> check(const std::vector<std::string>& given, std::span<const std::string_view> known,
                                         std::string_view label) {
  for (const std::string& each : given) {
    if (std::find(known.begin(), known.end(), each) == known.end())
      return problem(fmt::format("no {} {}", label.substr(0, label.size() - 1), lab::in_quotes(each)),
                     did_you_mean(each, known, label));
  }
  return {};
}

}  // namespace

bool TraceFilter::takes(const TraceEvent& event) const {
  if (!is_in(nodes, event.node) || !is_in(programs, event.program)) return false;
  if (!is_in(kinds, event.kind) && !is_in(kinds, group_of(event.kind))) return false;
  return (!qpn || qpn == event.qpn) && (!pid || *pid == event.pid);
}

tl::expected<TraceFilter, CommandProblem> read_trace_filter(const lab::Lab& lab, CommandWords words) {
  TraceFilter filter;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& option = words[i];
    if (i + 1 == words.size()) return problem(fmt::format("{} without a value", option), "weft trace --help");
    const std::string& value = words[i + 1];
    if (option == "--node") {
      filter.nodes = split_list(value);
      std::vector<std::string_view> names;
      for (const auto& host : lab.hosts) names.push_back(host.name);
      for (const auto& device : lab.switches) names.push_back(device.name);
      if (auto good = check(filter.nodes, names, "nodes"); !good) return tl::unexpected(good.error());
    } else if (option == "--event") {
      filter.kinds = split_list(value);
      std::vector<std::string_view> names(std::begin(kKinds), std::end(kKinds));
      for (std::string_view kind : kKinds) {
        if (std::find(names.begin(), names.end(), group_of(kind)) == names.end()) names.push_back(group_of(kind));
      }
      if (auto good = check(filter.kinds, names, "events"); !good) return tl::unexpected(good.error());
    } else if (option == "--qp") {
      filter.qpn = number_of(value);
      if (!filter.qpn) return problem(fmt::format("--qp {} is not a number", value), "write e.g. --qp 0x11 or --qp 17");
    } else if (option == "--process") {
      if (const auto pid = number_of(value)) {
        filter.pid = static_cast<int>(*pid);
      } else {
        filter.programs = split_list(value);
      }
    } else if (option == "--for") {
      const auto time = duration("--for", value);
      if (!time) return tl::unexpected(time.error());
      filter.for_ps = *time;
    } else {
      return problem(fmt::format("no option {}", lab::in_quotes(option)), "weft trace --help shows them");
    }
  }
  return filter;
}

std::string trace_line(const TraceEvent& event) {
  std::string line = fmt::format("{:.9f} {:<8} ", static_cast<double>(event.at_ps) / 1e12, event.node);
  if (event.pid != 0) line += fmt::format("{}/{} ", event.program, event.pid);
  line += event.kind;
  if (event.qpn) line += fmt::format(" qp={:#x}", *event.qpn);
  for (const TraceField& field : event.fields) {
    if (const auto* number = std::get_if<std::uint64_t>(&field.value)) {
      line += field.hex ? fmt::format(" {}={:#x}", field.key, *number) : fmt::format(" {}={}", field.key, *number);
    } else {
      line += fmt::format(" {}={}", field.key, std::get<std::string>(field.value));
    }
  }
  return line + "\n";
}

std::string trace_json(const TraceEvent& event) {
  store::JsonText json;
  json.open('{');
  json.add("at_ps", event.at_ps);
  json.add("node", event.node);
  json.add("event", event.kind);
  if (event.pid != 0) {
    json.add("pid", event.pid);
    json.add("program", event.program);
  }
  if (event.qpn) json.add("qp", *event.qpn);
  for (const TraceField& field : event.fields)
    std::visit([&](const auto& value) { json.add(field.key, value); }, field.value);
  json.close('}');
  return std::string(json.text()) + "\n";
}

void Tracer::emit(const TraceEvent& event) {
  for (Watcher& watcher : watchers_) {
    if (!watcher.filter.takes(event)) continue;
    ++watcher.events;
    if (!watcher.stream->write(watcher.json ? trace_json(event) : trace_line(event))) ++watcher.lost;
  }
}

void Tracer::add(TraceFilter filter, bool json, std::shared_ptr<OutputStream> stream) {
  watchers_.push_back({std::move(filter), json, std::move(stream)});
  active_ = true;
}

std::string Tracer::remove(const OutputStream& stream) {
  std::string notice;
  const auto found = std::find_if(watchers_.begin(), watchers_.end(),
                                  [&](const Watcher& each) { return each.stream.get() == &stream; });
  if (found == watchers_.end()) return notice;
  if (found->lost > 0)
    notice = fmt::format("{} of {} events were lost: the reader was too slow", found->lost, found->events);
  watchers_.erase(found);
  active_ = !watchers_.empty();
  return notice;
}

}  // namespace weft::live

#include "export/trace_writer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weft::exports {

namespace {

constexpr std::size_t kPending_B = 1 << 16;

// Picoseconds as microseconds with six places: exact.
std::string microseconds(std::int64_t time_ps) {
  constexpr std::int64_t kMicrosecond = 1'000'000;
  const bool negative = time_ps < 0;
  const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(time_ps) : static_cast<std::uint64_t>(time_ps);
  return fmt::format("{}{}.{:06}", negative ? "-" : "", size / kMicrosecond, size % kMicrosecond);
}

}  // namespace

std::string trace_text(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

TraceWriter::TraceWriter(const std::string& path)
    : file_(path), pending_("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n") {}

void TraceWriter::event(const std::string& text) {
  if (events_++ > 0) pending_ += ",\n";
  pending_ += text;
  if (pending_.size() < kPending_B) return;
  file_.write(pending_);
  pending_.clear();
}

int TraceWriter::process(const std::string& node) {
  const auto [at, is_new] = processes_.try_emplace(node, static_cast<int>(processes_.size()) + 1);
  if (is_new) {
    event(fmt::format(R"({{"ph": "M", "name": "process_name", "pid": {}, "args": {{"name": {}}}}})", at->second,
                      trace_text(node)));
    event(fmt::format(R"({{"ph": "M", "name": "process_sort_index", "pid": {0}, "args": {{"sort_index": {0}}}}})",
                      at->second));
  }
  return at->second;
}

int TraceWriter::thread(int process, const std::string& name) {
  const auto [at, is_new] = threads_.try_emplace({process, name}, 0);
  if (is_new) {
    at->second = ++thread_counts_[process];
    event(fmt::format(R"({{"ph": "M", "name": "thread_name", "pid": {}, "tid": {}, "args": {{"name": {}}}}})", process,
                      at->second, trace_text(name)));
  }
  return at->second;
}

void TraceWriter::slice(const std::string& node, const std::string& track, const std::string& name,
                        std::int64_t start_ps, std::int64_t end_ps, const std::string& arguments) {
  const int pid = process(node);
  std::vector<std::int64_t>& lanes = busy_ps_[{pid, track}];
  std::size_t lane = 0;
  while (lane < lanes.size() && lanes[lane] > start_ps) ++lane;
  if (lane == lanes.size()) lanes.push_back(0);
  lanes[lane] = std::max(end_ps, start_ps);
  const int tid = thread(pid, lane == 0 ? track : fmt::format("{} ({})", track, lane + 1));
  event(fmt::format(R"({{"ph": "X", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}{}{}}})", trace_text(name),
                    pid, tid, microseconds(start_ps), microseconds(std::max<std::int64_t>(end_ps - start_ps, 0)),
                    arguments.empty() ? "" : ", \"args\": ", arguments));
}

void TraceWriter::instant(const std::string& node, const std::string& track, const std::string& name,
                          std::int64_t time_ps, const std::string& arguments) {
  const int pid = process(node);
  const int tid = thread(pid, track);
  event(fmt::format(R"({{"ph": "i", "s": "t", "name": {}, "pid": {}, "tid": {}, "ts": {}{}{}}})", trace_text(name), pid,
                    tid, microseconds(time_ps), arguments.empty() ? "" : ", \"args\": ", arguments));
}

void TraceWriter::counter(const std::string& node, const std::string& name, std::int64_t time_ps, std::int64_t value) {
  event(fmt::format(R"({{"ph": "C", "name": {}, "pid": {}, "ts": {}, "args": {{"value": {}}}}})", trace_text(name),
                    process(node), microseconds(time_ps), value));
}

tl::expected<void, std::string> TraceWriter::close() {
  file_.write(pending_ + "\n]}\n");
  return file_.close();
}

}  // namespace weft::exports

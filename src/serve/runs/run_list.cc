#include "serve/runs/run_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "serve/runs/open_run.h"
#include "serve/runs/run_entry.h"

namespace weft::serve {

namespace {

constexpr int kShareOfLooking = 10;

// When a run's results were written, in nanoseconds; 0 for a study, which has no results.sqlite.
std::int64_t written_ns(const std::string& directory) {
  struct stat facts = {};
  if (stat((directory + "/results.sqlite").c_str(), &facts) != 0) return 0;
  return facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

}  // namespace

bool RunList::is_fresh(Clock::time_point asked) const {
  if (latest_ == nullptr) return false;
  // A scan that started after the request has the state at the request.
  if (began_ >= asked) return true;
  const auto age = age_.count() == 0 ? Clock::duration{} : std::max<Clock::duration>(age_, kShareOfLooking * took_);
  return began_ > changed_ && asked - began_ < age;
}

std::shared_ptr<const RunList::Look> RunList::look() {
  const auto asked = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (is_fresh(asked)) return latest_;
  }
  const std::lock_guard looking(looking_);
  {
    const std::lock_guard lock(mutex_);
    if (is_fresh(asked)) return latest_;
  }
  const auto began = Clock::now();
  auto made = look_through();
  const std::lock_guard lock(mutex_);
  ++looks_;
  latest_ = std::move(made);
  began_ = began;
  took_ = Clock::now() - began;
  return latest_;
}

void RunList::changed() {
  const std::lock_guard lock(mutex_);
  changed_ = Clock::now();
}

std::uint64_t RunList::looks() const {
  const std::lock_guard lock(mutex_);
  return looks_;
}

const RunList::Entry& RunList::entry_of(const NamedRun& run, bool is_written,
                                        std::unordered_map<std::string, Entry>& kept) {
  std::string stamp = is_written ? "running" : stamp_of(run.directory);
  const auto known = entries_.find(run.id);
  if (known != entries_.end() && known->second.stamp == stamp)
    return kept.emplace(run.id, std::move(known->second)).first->second;
  std::string json = is_written ? running_entry(run.id, run.directory) : run_entry(run.id, run.directory);
  return kept.emplace(run.id, Entry{std::move(stamp), std::move(json)}).first->second;
}

std::shared_ptr<const RunList::Look> RunList::look_through() {
  auto look = std::make_shared<Look>();
  std::unordered_map<std::string, Entry> kept;  // without runs that are gone
  std::string json = R"({"runs":[)";
  if (latest_) json.reserve(latest_->json->size() + 1024);
  std::int64_t latest_ns = 0;
  for (const NamedRun& run : place_.list()) {
    const bool is_written = is_being_written(run.directory);
    json += (look->count++ == 0 ? "" : ",") + entry_of(run, is_written, kept).json;
    const std::int64_t at_ns = is_written ? 0 : written_ns(run.directory);
    if (at_ns == 0 || at_ns < latest_ns) continue;
    latest_ns = at_ns;
    look->newest = run.id;
  }
  json += "]}";
  entries_ = std::move(kept);
  const bool same = latest_ && *latest_->json == json;
  look->json = same ? latest_->json : std::make_shared<const std::string>(std::move(json));
  look->version = (latest_ ? latest_->version : 0) + (same ? 0 : 1);
  return look;
}

}  // namespace weft::serve

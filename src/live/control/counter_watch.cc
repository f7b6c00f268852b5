#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "live/control/watchers.h"
#include "results/counters/counter_numbers.h"
#include "results/counters/counters_text.h"
#include "results/results_json.h"
#include "store/json_text.h"
#include "text/units.h"

namespace weft::live {

namespace {

constexpr Time_ps kShortest_ps = us(10);  // a look at all counters takes longer than what happens meanwhile

}  // namespace

tl::expected<std::shared_ptr<CounterWatch>, CommandProblem> CounterWatch::start(CommandContext& context,
                                                                                CommandWords words, bool json,
                                                                                std::shared_ptr<OutputStream> stream,
                                                                                Time_ps now_ps) {
  if (words.size() != 3) return problem("what is to be watched?", "write weft counters NODE[:PORT] --watch [INTERVAL]");
  const auto interval = duration("--watch", words[1]);
  if (!interval) return tl::unexpected(interval.error());
  if (*interval < kShortest_ps) return problem(fmt::format("--watch {} is too short", words[1]), "write 10 us or more");
  const auto count = lab::parse_unsigned(words[2]);
  if (!count) return problem(fmt::format("--count {} is not a number", words[2]), "write a whole number");
  std::shared_ptr<CounterWatch> watch(new CounterWatch(context, std::move(stream)));
  watch->where_ = words[0];
  watch->interval_ps_ = *interval;
  watch->left_ = *count;
  watch->endless_ = *count == 0;
  watch->json_ = json;
  watch->last_ps_ = now_ps;
  auto first = watch->take();
  if (!first) return tl::unexpected(first.error());
  watch->last_ = std::move(*first);
  watch->plan();
  return watch;
}

tl::expected<CounterWatch::Numbers, CommandProblem> CounterWatch::take() const {
  const std::string results = lab::results_json(context_.lab(), context_.session.snapshot());
  auto text = lab::counters_of(results, "this world", where_, std::nullopt, true);
  if (!text) return problem(text.error().message, text.error().remedy);
  return lab::counter_numbers(*text);
}

void CounterWatch::plan() {
  context_.session.changes().at(last_ps_ + interval_ps_, [weak = weak_from_this()](Time_ps now_ps) {
    if (auto self = weak.lock(); self && !self->stopped_) self->step(now_ps);
  });
}

void CounterWatch::step(Time_ps now_ps) {
  auto now = take();
  if (!now) return;
  const double seconds = static_cast<double>(now_ps - last_ps_) / static_cast<double>(kSecond_ps);
  std::string text =
      fmt::format("{} at {:.9f} s, in {}\n", where_, static_cast<double>(now_ps) / static_cast<double>(kSecond_ps),
                  lab::format_quantity(now_ps - last_ps_, lab::Quantity::kTime));
  store::JsonText json;
  json.open('{');
  json.add("at_ps", now_ps);
  json.add("interval_ps", now_ps - last_ps_);
  json.add("where", where_);
  json.open("deltas", '{');
  // Both are in the same order; what is only in one of them is new.
  std::size_t before = 0;
  for (const auto& [name, value] : *now) {
    while (before < last_.size() && last_[before].first < name) ++before;
    const double delta = value - (before < last_.size() && last_[before].first == name ? last_[before].second : 0);
    if (delta == 0) continue;
    text += fmt::format("  {:<48} {:>16} {:>14.6g}/s\n", name, delta, delta / seconds);
    json.add(name, delta);
  }
  json.close('}');
  json.close('}');
  last_ = std::move(*now);
  last_ps_ = now_ps;
  if (!stream_->write(json_ ? std::string(json.text()) + "\n" : text)) ++lost_;
  if (!endless_ && --left_ == 0) {
    stopped_ = true;
    if (on_end_) on_end_();
    return;
  }
  plan();
}

std::string CounterWatch::stop() {
  stopped_ = true;
  return lost_ == 0 ? "" : fmt::format("{} intervals were lost: the reader was too slow", lost_);
}

}  // namespace weft::live

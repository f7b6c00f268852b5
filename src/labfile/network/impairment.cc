// The words of tc-netem(8): an impairment read from them, and written in them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/nearest.h"
#include "labfile/live_reader.h"
#include "text/problem.h"
#include "text/word.h"

namespace weft::lab {
namespace {

using fabric::Chance;
using fabric::DelayDistribution;
using fabric::Impairment;

constexpr Time_ps kLongest_ps = 3600 * kSecond_ps;
constexpr std::uint64_t kMostFrames = 1'000'000;
constexpr std::uint32_t kCertain_ppb = 1'000'000'000;

constexpr std::string_view kWords[] = {"delay", "loss", "corrupt", "duplicate",   "reorder",
                                       "gap",   "rate", "limit",   "distribution"};
constexpr Word<DelayDistribution> kDistributions[] = {{"uniform", DelayDistribution::kUniform},
                                                      {"normal", DelayDistribution::kNormal},
                                                      {"pareto", DelayDistribution::kPareto},
                                                      {"paretonormal", DelayDistribution::kParetoNormal}};

struct UnitOfTc {
  std::string_view tc, lab;
};
// A number alone is microseconds.
constexpr UnitOfTc kTimeUnits[] = {{"", "us"},     {"s", "s"},      {"sec", "s"},    {"secs", "s"},  {"ms", "ms"},
                                   {"msec", "ms"}, {"msecs", "ms"}, {"us", "us"},    {"usec", "us"}, {"usecs", "us"},
                                   {"ns", "ns"},   {"nsec", "ns"},  {"nsecs", "ns"}, {"ps", "ps"}};
constexpr UnitOfTc kRateUnits[] = {{"", "bps"},      {"bit", "bps"},   {"kbit", "kbps"},
                                   {"mbit", "Mbps"}, {"gbit", "Gbps"}, {"tbit", "Tbps"}};

class NetemReader {
 public:
  explicit NetemReader(std::span<const std::string> words) : words_(words) {}

  tl::expected<Impairment, TextError> read() {
    if (words_.empty()) fail("no impairment", "write e.g. delay 10us loss 1%; the words are those of tc-netem(8)");
    while (!error_ && next_ < words_.size()) read_word();
    if (!error_ && impairment_.gap == 0 && impairment_.reorder.ppb > 0) impairment_.gap = 1;
    if (!error_ && impairment_.reorder.ppb == 0 && impairment_.gap > 0)
      fail("gap without reorder", "write reorder PERCENT gap N");
    if (!error_ && impairment_.reorder.ppb > 0 && impairment_.delay_ps == 0 && impairment_.rate_bps == 0)
      fail("reorder without delay", "frames overtake others only while those are delayed: add delay 10us");
    if (error_) return tl::unexpected(*error_);
    return impairment_;
  }

 private:
  void read_word() {
    const std::string& word = words_[next_++];
    if (word == "delay" || word == "latency") {
      read_delay();
    } else if (word == "distribution") {
      read_distribution();
    } else if (word == "loss" || word == "drop") {
      read_loss();
    } else if (word == "corrupt") {
      chance(word, impairment_.corrupt);
    } else if (word == "duplicate") {
      chance(word, impairment_.duplicate);
    } else if (word == "reorder") {
      chance(word, impairment_.reorder);
    } else if (word == "gap") {
      impairment_.gap = count(word, 1);
    } else if (word == "limit") {
      impairment_.limit = count(word, 1);
    } else if (word == "rate") {
      read_rate();
    } else if (word == "slot" || word == "ecn" || word == "seed") {
      fail(fmt::format("{} of tc-netem is not simulated", word), "leave it out");
    } else {
      fail(fmt::format("{} is no word of tc-netem", in_quotes(word)), did_you_mean(word, kWords, "words"));
    }
  }

  void read_delay() {
    impairment_.delay_ps = time("delay");
    if (is_number()) impairment_.jitter_ps = time("jitter");
    if (is_number()) impairment_.delay_correlation_ppb = percent("correlation of delay");
  }

  void read_distribution() {
    const std::string word = take("distribution");
    for (const auto& each : kDistributions) {
      if (each.text != word) continue;
      impairment_.distribution = each.value;
      if (impairment_.jitter_ps == 0)
        fail("distribution without jitter", "write delay TIME JITTER distribution normal");
      return;
    }
    std::vector<std::string_view> names;
    for (const auto& each : kDistributions) names.push_back(each.text);
    fail(fmt::format("{} is no distribution", in_quotes(word)), did_you_mean(word, names, "distributions"));
  }

  void read_loss() {
    if (next_ < words_.size() && words_[next_] == "state")
      return fail("loss state is not simulated", "use loss PERCENT or loss gemodel");
    if (next_ < words_.size() && words_[next_] == "gemodel") {
      ++next_;
      fabric::GilbertElliott model;
      model.to_bad_ppb = percent("p of gemodel");
      model.to_good_ppb = is_number() ? percent("r of gemodel") : kCertain_ppb - model.to_bad_ppb;
      if (is_number()) model.bad_loss_ppb = percent("1-h of gemodel");
      if (is_number()) model.good_loss_ppb = percent("1-k of gemodel");
      impairment_.gemodel = model;
      return;
    }
    if (next_ < words_.size() && words_[next_] == "random") ++next_;
    chance("loss", impairment_.loss);
  }

  void read_rate() {
    const std::string word = take("rate");
    const std::size_t digits = std::min(word.find_first_not_of("0123456789."), word.size());
    std::string unit = word.substr(digits);
    std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::tolower(c); });
    if (unit.ends_with("bps")) {
      return fail(fmt::format("rate {}: in tc, {} counts bytes", word, unit), "write bits, e.g. rate 10gbit");
    }
    impairment_.rate_bps = quantity("rate", word, digits, unit, kRateUnits, Quantity::kBitRate, "10gbit");
    if (!error_ && impairment_.rate_bps < 1000) fail(fmt::format("rate {} is too low", word), "write 1kbit or more");
  }

  void chance(std::string_view what, Chance& target) {
    target.ppb = percent(what);
    if (is_number()) target.correlation_ppb = percent(fmt::format("correlation of {}", what));
  }

  Time_ps time(std::string_view what) {
    const std::string word = take(what);
    const std::size_t digits = std::min(word.find_first_not_of("0123456789."), word.size());
    const Time_ps value = quantity(what, word, digits, word.substr(digits), kTimeUnits, Quantity::kTime, "10us");
    if (!error_ && value > kLongest_ps) fail(fmt::format("{} {} is too long", what, word), "write an hour at most");
    return value;
  }

  std::uint32_t percent(std::string_view what) {
    std::string word = take(what);
    if (word.ends_with('%')) word.pop_back();
    const auto value = parse_quantity(word + " %", Quantity::kProbability);
    if (!error_ && (!value || *value > kCertain_ppb))
      fail(fmt::format("{} {} is not a percentage", what, in_quotes(word)), "write e.g. 0.1%, between 0% and 100%");
    return error_ ? 0 : static_cast<std::uint32_t>(*value);
  }

  std::uint32_t count(std::string_view what, std::uint64_t least) {
    const std::string word = take(what);
    const auto value = parse_unsigned(word);
    if (!error_ && (!value || *value < least || *value > kMostFrames))
      fail(fmt::format("{} {} is not a number of frames", what, in_quotes(word)),
           fmt::format("write a whole number from {} to {}", least, kMostFrames));
    return error_ ? 0 : static_cast<std::uint32_t>(*value);
  }

  std::int64_t quantity(std::string_view what, const std::string& word, std::size_t digits, const std::string& unit,
                        std::span<const UnitOfTc> units, Quantity kind, std::string_view example) {
    if (error_) return 0;
    const auto known = std::find_if(units.begin(), units.end(), [&](const UnitOfTc& each) { return each.tc == unit; });
    const auto value = known == units.end() || digits == 0
                           ? tl::expected<std::int64_t, TextError>(tl::unexpect, TextError{})
                           : parse_quantity(fmt::format("{} {}", word.substr(0, digits), known->lab), kind);
    if (!value) {
      fail(fmt::format("{} {} cannot be read", what, in_quotes(word)), fmt::format("write e.g. {}", example));
      return 0;
    }
    return *value;
  }

  bool is_number() const {
    return !error_ && next_ < words_.size() && !words_[next_].empty() &&
           (words_[next_].front() == '.' || (words_[next_].front() >= '0' && words_[next_].front() <= '9'));
  }

  std::string take(std::string_view what) {
    if (error_) return "";
    if (next_ < words_.size()) return words_[next_++];
    fail(fmt::format("{} without a value", what), "write its value behind it");
    return "";
  }

  void fail(std::string message, std::string remedy) {
    if (!error_) error_ = TextError{std::move(message), std::move(remedy)};
  }

  std::span<const std::string> words_;
  std::size_t next_ = 0;
  Impairment impairment_;
  std::optional<TextError> error_;
};

// Without the space that a lab file has between number and unit.
std::string tc_text(std::int64_t value, Quantity quantity) {
  std::string text = format_quantity(value, quantity);
  std::erase(text, ' ');
  return text;
}

std::string rate_text(std::int64_t rate_bps) {
  std::string text = tc_text(rate_bps, Quantity::kBitRate);
  text.resize(text.size() - 2);  // "ps"
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text + "it";
}

std::string percent_text(std::uint32_t ppb) {
  std::string text = fmt::format("{}.{:07}", ppb / 10'000'000, ppb % 10'000'000);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return fmt::format("{}%", text);
}

std::string chance_text(std::string_view what, const Chance& chance) {
  if (chance.ppb == 0) return "";
  const std::string text = fmt::format(" {} {}", what, percent_text(chance.ppb));
  return chance.correlation_ppb == 0 ? text : fmt::format("{} {}", text, percent_text(chance.correlation_ppb));
}

}  // namespace

tl::expected<Impairment, TextError> read_impairment(std::span<const std::string> words) {
  return NetemReader(words).read();
}

std::string impairment_text(const Impairment& impairment) {
  std::string text;
  if (impairment.delay_ps > 0 || impairment.jitter_ps > 0) {
    text += fmt::format(" delay {}", tc_text(impairment.delay_ps, Quantity::kTime));
    if (impairment.jitter_ps > 0) text += fmt::format(" {}", tc_text(impairment.jitter_ps, Quantity::kTime));
    if (impairment.delay_correlation_ppb > 0)
      text += fmt::format(" {}", percent_text(impairment.delay_correlation_ppb));
    if (impairment.distribution != DelayDistribution::kUniform)
      text += fmt::format(" distribution {}", kDistributions[static_cast<std::size_t>(impairment.distribution)].text);
  }
  if (impairment.gemodel) {
    const fabric::GilbertElliott& model = *impairment.gemodel;
    text += fmt::format(" loss gemodel {} {} {} {}", percent_text(model.to_bad_ppb), percent_text(model.to_good_ppb),
                        percent_text(model.bad_loss_ppb), percent_text(model.good_loss_ppb));
  }
  text += chance_text("loss", impairment.loss) + chance_text("corrupt", impairment.corrupt) +
          chance_text("duplicate", impairment.duplicate) + chance_text("reorder", impairment.reorder);
  if (impairment.gap > 0) text += fmt::format(" gap {}", impairment.gap);
  if (impairment.rate_bps > 0) text += fmt::format(" rate {}", rate_text(impairment.rate_bps));
  if (impairment.limit != Impairment::kLimit) text += fmt::format(" limit {}", impairment.limit);
  return text.empty() ? text : text.substr(1);
}

}  // namespace weft::lab

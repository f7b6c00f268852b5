#include "analyze/pauses/response.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weft::analyze {
namespace {

constexpr std::int64_t kLargestFrame_B = 9216, kPauseLine_B = 84;
// Stamps may be whole microseconds; and at the far end of a cable of up to 500 m, what is on it still comes.
constexpr std::int64_t kStampAllowance_ps = 1'000'000, kCableAllowance_ps = 5'000'000;
constexpr std::uint64_t kFewestViolations = 10, kFewestSlow = 3;

}  // namespace

std::int64_t response_quanta(std::uint64_t speed_bps) {
  constexpr std::array<std::pair<std::uint64_t, std::int64_t>, 10> kLimits = {{{100'000'000, 1},
                                                                               {1'000'000'000, 2},
                                                                               {10'000'000'000, 67},
                                                                               {25'000'000'000, 80},
                                                                               {40'000'000'000, 118},
                                                                               {50'000'000'000, 147},
                                                                               {100'000'000'000, 394},
                                                                               {200'000'000'000, 453},
                                                                               {400'000'000'000, 905},
                                                                               {800'000'000'000, 905}}};
  for (const auto& [speed, quanta] : kLimits)
    if (speed_bps <= speed) return quanta;
  return kLimits.back().second;
}

std::int64_t response_limit_ps(std::uint64_t speed_bps) {
  return response_quanta(speed_bps) * (512 * 1'000'000'000'000'000 / static_cast<std::int64_t>(speed_bps)) / 1000;
}

std::int64_t response_allowance_ps(std::uint64_t speed_bps, bool at_far_end) {
  return (kPauseLine_B + kLargestFrame_B) * 8'000'000'000'000 / static_cast<std::int64_t>(speed_bps) +
         response_limit_ps(speed_bps) + kStampAllowance_ps + (at_far_end ? kCableAllowance_ps : 0);
}

void PauseResponse::see_sent(std::int64_t after_ps, std::int64_t allowance_ps, const Frame& frame) {
  last_ps_ = std::max<std::int64_t>(after_ps, 0);
  last_ = {frame.number, frame.time_ns};
  if (after_ps <= allowance_ps) return;
  if (violations++ == 0) first_violation = last_;
  last_violation = last_;
}

void PauseResponse::end(std::int64_t length_ps, std::int64_t allowance_ps) {
  const std::int64_t response_ps = std::exchange(last_ps_, -1);
  if (response_ps < 0) return;
  // It stopped in the end, for as long as it had gone on.
  const bool is_obeyed = response_ps <= allowance_ps || length_ps - response_ps >= response_ps;
  if (!is_obeyed) {
    ++ignored;
    ignored_most_ps = std::max(ignored_most_ps, response_ps);
    return;
  }
  ++answered;
  sum_ps += response_ps;
  slow += response_ps > allowance_ps ? 1 : 0;
  if (response_ps <= most_ps) return;
  most_ps = response_ps;
  most = last_;
}

bool PauseResponse::is_slow() const {
  return slow >= kFewestSlow && slow * 20 >= answered && ignored <= slow && ignored_most_ps <= 2 * most_ps;
}

bool PauseResponse::is_ignored() const {
  return violations >= kFewestViolations && !is_slow();
}

}  // namespace weft::analyze

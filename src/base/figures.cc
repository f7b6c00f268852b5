#include "base/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <span>

namespace weft {
namespace {

struct Scale {
  double factor;
  std::string_view unit;
};

constexpr Scale kSizes[] = {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}};
constexpr Scale kRates[] = {{1, "b/s"}, {1e3, "kb/s"}, {1e6, "Mb/s"}, {1e9, "Gb/s"}, {1e12, "Tb/s"}};
constexpr Scale kTimes[] = {{1, "ps"}, {1e3, "ns"}, {1e6, "us"}, {1e9, "ms"}, {1e12, "s"}};

double power_of_ten(int exponent) {
  double power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// A half is rounded up, as in web/src/lib/units.ts.
std::string fixed(double size, int decimals) {
  const double power = power_of_ten(decimals);
  return fmt::format("{:.{}f}", std::floor(size * power + 0.5) / power, decimals);
}

// Carry of rounding: 1000 of a unit is 1 of the next, 10.00 is 10.0.
double carry(int digits) {
  return 1 - 0.5 / power_of_ten(digits);
}

std::string significant(double size, int digits) {
  int decimals = digits - 1;
  for (double limit = 10; decimals > 0 && size >= limit * carry(digits); limit *= 10) --decimals;
  return fixed(size, decimals);
}

std::string scaled(double value, std::span<const Scale> scales, int digits) {
  const double size = std::abs(value);
  std::size_t at = 0;
  while (at + 1 < scales.size() && size >= scales[at + 1].factor * carry(digits)) ++at;
  const double number = size / scales[at].factor;
  return fmt::format("{}{} {}", value < 0 ? "-" : "", at == 0 ? fixed(number, 0) : significant(number, digits),
                     scales[at].unit);
}

// One decimal, of small ones one significant digit; `whole`: none from 10 % on, unless 100 % would be wrong.
std::string percent_of(double share, bool whole) {
  const double percent = 100 * share;
  int decimals = whole && (percent == 0 || percent >= 99.995 || (percent >= 9.95 && percent < 99.5)) ? 0 : 1;
  if (whole && percent >= 99.905 && percent < 99.995) decimals = 2;
  for (double step = 0.095; percent > 0 && percent < step && decimals < 9; step /= 10) ++decimals;
  return fixed(percent, decimals);
}

}  // namespace

namespace figures {

std::string size(double size_B, int digits) {
  return scaled(size_B, kSizes, digits);
}

std::string rate(double rate_bps, int digits) {
  return scaled(rate_bps, kRates, digits);
}

std::string time(double time_ps, int digits) {
  return time_ps == 0 ? "0 us" : scaled(time_ps, kTimes, digits);
}

std::string moment(double time_ps, Time_ps span_ps) {
  if (time_ps == 0) return "0 us";
  const double size_ps = std::abs(time_ps);
  std::size_t at = 1;
  while (at + 1 < std::size(kTimes) && size_ps >= kTimes[at + 1].factor) ++at;
  const double factor = kTimes[at].factor, step_ps = static_cast<double>(std::max<Time_ps>(1, span_ps)) / 1e3;
  const int most = 3 * (static_cast<int>(at) - 1);  // digits of a nanosecond
  int decimals = std::min(3, most);
  while (decimals < most && factor / power_of_ten(decimals) > step_ps) ++decimals;
  return fmt::format("{}{} {}", time_ps < 0 ? "-" : "", fixed(size_ps / factor, decimals), kTimes[at].unit);
}

}  // namespace figures

std::string exact_size_text(std::int64_t size_B) {
  for (const auto& [factor, unit] :
       {std::pair(1'000'000'000, "GB"), std::pair(1'000'000, "MB"), std::pair(1'000, "kB")}) {
    if (size_B < factor || size_B % (factor / 1000) != 0) continue;
    std::string number = fmt::format("{}.{:03}", size_B / factor, size_B % factor / (factor / 1000));
    while (number.back() == '0') number.pop_back();
    if (number.back() == '.') number.pop_back();
    return fmt::format("{} {}", number, unit);
  }
  return fmt::format("{} B", size_B);
}

std::string message_size_text(std::uint64_t size_B) {
  const auto in_units = [&](std::uint64_t base, std::initializer_list<const char*> names) {
    std::uint64_t number = size_B;
    const char* unit = "B";
    for (const char* name : names) {
      if (number == 0 || number % base != 0) break;
      number /= base;
      unit = name;
    }
    return fmt::format("{} {}", number, unit);
  };
  const std::string binary = in_units(1024, {"KiB", "MiB", "GiB"}), decimal = in_units(1000, {"kB", "MB", "GB", "TB"});
  const auto digits = [](const std::string& text) { return text.find(' '); };
  return digits(decimal) < digits(binary) ? decimal : binary;
}

std::string memory_text(std::int64_t size_B) {
  const double size_MiB = static_cast<double>(size_B) / (1 << 20);
  return size_MiB < 1024 ? fmt::format("{:.4g} MiB", size_MiB) : fmt::format("{:.4g} GiB", size_MiB / 1024);
}

std::string line_rate_text(std::int64_t rate_bps) {
  const double size_bps = static_cast<double>(rate_bps);
  if (rate_bps < 1'000'000) return fmt::format("{:g} kb/s", size_bps / 1e3);
  return rate_bps < 1'000'000'000 ? fmt::format("{:g} Mb/s", size_bps / 1e6) : fmt::format("{:g} Gb/s", size_bps / 1e9);
}

std::string share_text(double share) {
  return fmt::format("{}{} %", share < 0 ? "-" : "", percent_of(std::abs(share), true));
}

std::string change_text(double share) {
  if (std::abs(share) >= 9.995) return "x " + significant(1 + share, 3);
  return fmt::format("{}{} %", share < 0 ? '-' : '+', percent_of(std::abs(share), false));
}

std::string number_text(double value) {
  if (std::abs(value) >= 1e6 && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.6g}", value);
}

std::string kB_cell(std::uint64_t size_B) {
  return size_B == 0 ? "0" : fmt::format("{:.1f}", static_cast<double>(size_B) / 1e3);
}

std::string us_cell(Time_ps time_ps) {
  return time_ps == 0 ? "0" : fmt::format("{:.3f}", static_cast<double>(time_ps) / 1e6);
}

}  // namespace weft

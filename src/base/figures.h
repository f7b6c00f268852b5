// Numbers as text for people. A quantity is printed by the same rule wherever it stands: reports, verbs, diagnostics,
// findings and the page (web/src/lib/units.ts; tests/data/figures.txt has values with their text for both).
//
//   size          buffers, queues, traffic: decimal     "64 B", "150 kB", "14.5 MB"
//   threshold     a setting of a buffer: to the byte    "150 kB", "33.792 kB"
//   message size  exact, in the shortest whole unit     "2 B", "64 KiB", "60 GB"
//   memory        of hosts and virtual machines: binary "512 MiB", "62.8 GiB"
//   rate          measured or computed                  "40.0 Mb/s", "97.9 Gb/s"
//   line rate     of ports and links: exact             "2.5 Gb/s", "100 Gb/s"
//   time          a duration                            "850 ns", "1.41 us", "26.5 s"
//   moment        a time of a run, to its microsecond   "1.234 us", "865.818 ms"
//   share         of time, packets, line                "0.04 %", "7.9 %", "43 %", "99.7 %", "99.99 %"
//   change        relative to the first of two          "-0.3 %", "+12.3 %", "x 14.3"
//   count         exact, with its noun                  "1 flow", "11631 frames"; the page groups digits: "11,631"
//
// Measured values have three significant digits, also where the last ones are zeros; whole bytes and picoseconds have
// no decimals. Columns of a table whose title has the unit have fixed decimals. Settings are printed as a lab file has
// them (format_quantity, text/units.h). Tables that copy a tool (perftest, nccl-tests, iperf3, ethtool …) keep the
// tool's format.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/time.h"

namespace weft {

template <class T>
concept Figure = std::is_arithmetic_v<T>;

namespace figures {
std::string size(double size_B, int digits);
std::string rate(double rate_bps, int digits);
std::string time(double time_ps, int digits);
std::string moment(double time_ps, Time_ps span_ps);
}  // namespace figures

// Three significant digits, or as many as are asked for.
std::string size_text(Figure auto size_B, int digits = 3) {
  return figures::size(static_cast<double>(size_B), digits);
}
std::string rate_text(Figure auto rate_bps, int digits = 3) {
  return figures::rate(static_cast<double>(rate_bps), digits);
}
std::string time_text(Figure auto time_ps, int digits = 3) {
  return figures::time(static_cast<double>(time_ps), digits);
}
// In a narrow span it has the digits that tell its times apart, down to a nanosecond.
std::string moment_text(Figure auto time_ps, Time_ps span_ps = kNever_ps) {
  return figures::moment(static_cast<double>(time_ps), span_ps);
}
// A threshold or a reserve, to the byte.
std::string exact_size_text(std::int64_t size_B);
std::string message_size_text(std::uint64_t size_B);
std::string memory_text(std::int64_t size_B);
std::string line_rate_text(std::int64_t rate_bps);
std::string share_text(double share);
std::string change_text(double share);

// A value of which only a name is known: up to six significant digits, packets and bytes in full.
std::string number_text(double value);

// Cells of columns in kB or us: "12.3", "1.234"; nothing is "0".
std::string kB_cell(std::uint64_t size_B);
std::string us_cell(Time_ps time_ps);

}  // namespace weft

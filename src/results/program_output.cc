#include "results/program_output.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>

#include "base/plural.h"
#include "results/report_text.h"

namespace weft::lab {

namespace {

constexpr std::size_t kMostPattern_B = 256;
constexpr std::size_t kMostLines = 100;  // of the report, from the beginning and from the end

// regcomp's memory, with its end.
class Pattern {
 public:
  explicit Pattern(const std::string& text) : error_(regcomp(&compiled_, text.c_str(), REG_EXTENDED)) {}
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (error_ == 0) regfree(&compiled_);
  }

  std::string error() const {
    char text[128] = "";
    if (error_ != 0) regerror(error_, &compiled_, text, sizeof(text));
    return text;
  }
  std::size_t groups() const { return compiled_.re_nsub; }
  // The first group, or all of the match where there is none; nothing when the line does not match.
  std::optional<std::string> match(const std::string& line) const {
    regmatch_t places[2];
    if (error_ != 0 || regexec(&compiled_, line.c_str(), 2, places, 0) != 0) return std::nullopt;
    const regmatch_t& place = places[groups() > 0 ? 1 : 0];
    if (place.rm_so < 0) return "";
    return line.substr(static_cast<std::size_t>(place.rm_so), static_cast<std::size_t>(place.rm_eo - place.rm_so));
  }

 private:
  regex_t compiled_{};
  int error_;
};

// Length of the UTF-8 sequence at the beginning, 0 when it is not one.
std::size_t utf8_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t size = byte(0) < 0x80   ? 1
                           : byte(0) < 0xc2 ? 0
                           : byte(0) < 0xe0 ? 2
                           : byte(0) < 0xf0 ? 3
                           : byte(0) < 0xf5 ? 4
                                            : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong, surrogates, beyond the last plane.
  if (size == 3 && ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f))) return 0;
  if (size == 4 && ((byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f))) return 0;
  return size;
}

// Long output is shortened in the report: its beginning and its end.
std::string shortened(const std::string& text) {
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (lines <= 2 * kMostLines) return text;
  std::size_t head = 0, tail = text.size() - 1;
  for (std::size_t i = 0; i < kMostLines; ++i) head = text.find('\n', head) + 1;
  for (std::size_t i = 0; i < kMostLines; ++i) tail = text.rfind('\n', tail - 1);
  return fmt::format("{}… {} lines more in results.json …\n{}", text.substr(0, head), lines - 2 * kMostLines,
                     text.substr(tail + 1));
}

bool ended_by_itself(const workload::ProgramOutcome& outcome) {
  return outcome.end == workload::ProgramEnd::kExited || outcome.end == workload::ProgramEnd::kSignalled;
}

}  // namespace

int ProgramsOutcome::exit_status() const {
  for (const workload::ProgramOutcome& each : programs) {
    if (each.exit_status() != 0) return each.exit_status();
  }
  return 0;
}

bool ProgramsOutcome::all_ended() const {
  return std::all_of(programs.begin(), programs.end(), ended_by_itself);
}

tl::expected<void, std::string> check_pattern(const std::string& pattern) {
  if (pattern.empty()) return tl::unexpected(std::string("it is empty"));
  if (pattern.size() > kMostPattern_B) return tl::unexpected(fmt::format("it is longer than {} bytes", kMostPattern_B));
  // What makes the C library's patterns take time or memory without bounds.
  if (std::count(pattern.begin(), pattern.end(), '{') > 1) return tl::unexpected(std::string("it has more than one {"));
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '\\') continue;
    if (pattern[++i] >= '1' && pattern[i] <= '9') return tl::unexpected(std::string("it refers back to a group"));
    if (pattern[i] == 'd') return tl::unexpected(std::string("\\d is not in extended expressions: write [0-9]"));
  }
  const Pattern compiled(pattern);
  if (!compiled.error().empty()) return tl::unexpected(compiled.error());
  if (compiled.groups() > 1) return tl::unexpected(fmt::format("it has {} groups", compiled.groups()));
  return {};
}

std::optional<double> find_value(const std::string& pattern, std::string_view output) {
  const Pattern compiled(pattern);
  std::uint64_t lines = 0;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const auto found = compiled.match(std::string(output.substr(0, end)));
    output.remove_prefix(std::min(end + 1, output.size()));
    if (!found) continue;
    ++lines;
    if (compiled.groups() == 0) continue;
    double value = 0;
    const auto [rest, error] = std::from_chars(found->data(), found->data() + found->size(), value);
    return error == std::errc{} && rest == found->data() + found->size() ? std::optional(value) : std::nullopt;
  }
  return compiled.groups() == 0 ? std::optional(static_cast<double>(lines)) : std::nullopt;
}

std::string clean_text(std::string_view output) {
  std::string text;
  while (!output.empty()) {
    const std::size_t size = utf8_size(output);
    const auto first = static_cast<unsigned char>(output.front());
    const bool shown = size > 1 || (size == 1 && ((first >= 0x20 && first != 0x7f) || first == '\n' || first == '\t'));
    // The carriage return of a line's end says nothing.
    if (shown) {
      text += output.substr(0, size);
    } else if (first != '\r' || !output.starts_with("\r\n")) {
      text += '?';
    }
    output.remove_prefix(std::max<std::size_t>(size, 1));
  }
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || std::strchr("-_./:=,+@%", c) != nullptr;
    });
    if (!text.empty()) text += ' ';
    if (plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

std::string end_text(const workload::ProgramOutcome& outcome) {
  using workload::ProgramEnd;
  switch (outcome.end) {
    case ProgramEnd::kNotStarted:
      return "was not started";
    case ProgramEnd::kRunning:
    case ProgramEnd::kStopped:
      return "was stopped with the run";
    case ProgramEnd::kExited:
      return fmt::format("ended with status {}", outcome.status);
    case ProgramEnd::kSignalled:
      return fmt::format("was ended by signal {} ({})", outcome.status, strsignal(outcome.status));
    case ProgramEnd::kNotExecuted:
      return fmt::format("cannot be run: {}", std::strerror(outcome.status));
    case ProgramEnd::kTimedOut:
      return "was stopped: its timeout is over";
    case ProgramEnd::kStuck:
      return "was stopped: it waits for something that cannot happen any more";
  }
  return "";
}

std::string programs_text(const workload::ProgramOptions& options, const ProgramsOutcome& outcome) {
  std::string out;
  for (std::size_t i = 0; i < outcome.programs.size(); ++i) {
    const workload::ProgramCommand& command = options.programs[i];
    const workload::ProgramOutcome& each = outcome.programs[i];
    const bool well = each.end == workload::ProgramEnd::kExited && each.status == 0;
    out += fmt::format("{}{}: {}\n", i == 0 ? "" : "\n", command.node, command_text(command.words));
    out += fmt::format("  {}{}", well ? "" : "FAILED: ", end_text(each));
    if (each.end != workload::ProgramEnd::kNotStarted && each.end != workload::ProgramEnd::kNotExecuted)
      out += fmt::format("; it ran from {} to {}", time_text(each.started_ps), time_text(each.ended_ps));
    out += "\n";
    if (!each.output.empty()) {
      // Longer than any row of backquotes in it.
      std::string fence = "```";
      while (each.output.find(fence) != std::string::npos) fence += '`';
      out += fmt::format("\n{}\n{}{}\n", fence, shortened(each.output), fence);
    }
    if (each.left_out_B > 0) out += fmt::format("  and {} more that were not kept\n", counted(each.left_out_B, "byte"));
  }
  if (!outcome.found.empty()) {
    out += "\nFound:";
    for (const FoundValue& each : outcome.found)
      out += fmt::format(" {} = {}", each.name, each.value ? number_text(*each.value) : "nothing");
    out += "\n";
  }
  if (!outcome.deterministic)
    out += "\nNot deterministic: a program acted on its own clock; another run may print other numbers.\n";
  return out;
}

}  // namespace weft::lab

#include "results/kinds/program_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/figures.h"
#include "base/plural.h"
#include "results/report_text.h"

namespace weft::lab {

namespace {

constexpr std::size_t kMostLines = 100;  // of the report, from the beginning and from the end

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

}  // namespace

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
      out += fmt::format("; it ran from {} to {}", moment_text(each.started_ps), moment_text(each.ended_ps));
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

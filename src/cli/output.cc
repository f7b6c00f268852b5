#include "cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <vector>

namespace weft::cli {

namespace {

int g_output_errno = 0;
bool g_printed = false;
bool g_json = false;
std::vector<std::string> g_errors, g_warnings;  // JSON objects, printed by finish()

void diagnose(std::vector<std::string>& list, std::string_view file, const lab::Problem& problem,
              std::string_view text) {
  if (g_json) {
    list.push_back(json_problem(file, problem));
  } else {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  }
}

void print_complaint(std::string_view message, std::string_view remedy) {
  lab::Problem problem;
  problem.message = message;
  problem.remedy = remedy;
  diagnose(g_errors, "", problem, fmt::format("weft: {}{}{}", message, remedy.empty() ? "" : "\n  ", remedy));
}

// How many bytes the UTF-8 character at `at` has; 0 when it is none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 && first < 0xf5   ? 4
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xc2 && first < 0xe0 ? 2
                                                             : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : length;
}

}  // namespace

void guard_standard_streams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // Writing to it still fails, as it should.
    const int null = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (null >= 0 && null != fd) {
      dup2(null, fd);
      close(null);
    }
  }
}

void put(std::string_view text) {
  g_printed = g_printed || !text.empty();
  if (g_output_errno == 0 && std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) g_output_errno = errno;
}

int finish(int status) {
  if (g_json && !(g_errors.empty() && g_warnings.empty())) {
    std::string text;
    if (!g_errors.empty()) text = fmt::format("\"errors\": [\n  {}]", fmt::join(g_errors, ",\n  "));
    if (!g_warnings.empty())
      text += fmt::format("{}\"warnings\": [\n  {}]", text.empty() ? "" : ", ", fmt::join(g_warnings, ",\n  "));
    text = "{" + text + "}\n";
    if (g_printed) {
      std::fputs(text.c_str(), stderr);
    } else {
      put(text);
    }
  }
  errno = 0;
  std::cout.flush();  // CLI11 prints help and version there
  if (!std::cout && g_output_errno == 0) g_output_errno = errno != 0 ? errno : EIO;
  if (std::fflush(stdout) != 0 && g_output_errno == 0) g_output_errno = errno;
  if (g_output_errno == 0) return status;
  std::fprintf(stderr, "weft: cannot write to standard output: %s\n", std::strerror(g_output_errno));
  return status == kExitWell ? kExitFailed : status;
}

void use_json(bool json) {
  g_json = json;
}

int wrong_input(std::string_view message, std::string_view remedy) {
  print_complaint(message, remedy);
  return kExitWrongInput;
}

int failed(std::string_view message, std::string_view remedy) {
  print_complaint(message, remedy);
  return kExitFailed;
}

void report_problem(std::string_view file, const lab::Problem& problem) {
  diagnose(g_errors, file, problem, lab::format_problem(file, problem));
}

void report_warning(std::string_view file, const lab::Problem& problem) {
  lab::Problem marked = problem;
  marked.message = "warning: " + marked.message;
  diagnose(g_warnings, file, problem, lab::format_problem(file, marked));
}

void forget_warnings() {
  g_warnings.clear();
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = utf8_length(text, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else if (length == 0) {
      out += "\\ufffd";
    } else {
      out += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return out + "\"";
}

std::string json_problem(std::string_view file, const lab::Problem& problem) {
  std::string out = "{";
  if (!problem.where.empty()) out += fmt::format("\"where\": {}, ", json_string(problem.where));
  if (!file.empty() && problem.where.empty())
    out += fmt::format("\"file\": {}, \"line\": {}, \"column\": {}, ", json_string(file), problem.line, problem.column);
  out += "\"message\": " + json_string(problem.message);
  if (!problem.remedy.empty()) out += ", \"remedy\": " + json_string(problem.remedy);
  return out + "}";
}

}  // namespace weft::cli

// Output of the verbs: results to stdout, diagnostics to stderr. With --json a diagnostic is an object, on stdout
// where nothing else was printed. Output that did not arrive makes the exit status 1.
#pragma once

#include <string>
#include <string_view>

#include "text/problem.h"

namespace weft::cli {

inline constexpr int kExitWell = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitWrongInput = 2;
inline constexpr int kExitInterrupted = 130;

// Before anything is opened: a file must not get the number of a stdout that is closed.
void guard_standard_streams();

void put(std::string_view text);
// At the end of every verb: the exit status, which is 1 in place of 0 when something printed did not arrive.
int finish(int status);

// Diagnostics are JSON from here on.
void use_json(bool json);

// Print and return 2 and 1. The remedy may be empty.
int wrong_input(std::string_view message, std::string_view remedy = "");
int failed(std::string_view message, std::string_view remedy = "");
// A problem or a warning of a lab file.
void report_problem(std::string_view file, const lab::Problem& problem);
void report_warning(std::string_view file, const lab::Problem& problem);
// With --json: the result has them.
void forget_warnings();

// In quotes, with what JSON wants escaped; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);
// {"file": …, "line": …, "column": …, "message": …, "remedy": …}, without what is not known.
std::string json_problem(std::string_view file, const lab::Problem& problem);

}  // namespace weft::cli

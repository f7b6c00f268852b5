// The verbs of the command line. Each parses its arguments, calls lab and prints; no logic. Exit status: 0
// success, 1 a failed expectation, workload or write, 2 wrong input, 130 interrupted.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weft::cli {

// Each adds its subcommand; when it was chosen, `status` is set to the exit status.
void add_run(CLI::App& app, int& status);
void add_validate(CLI::App& app, int& status);
void add_schema(CLI::App& app, int& status);
void add_perftest(CLI::App& app, int& status);
void add_nccl(CLI::App& app, int& status);
void add_qos(CLI::App& app, int& status);
void add_catalog(CLI::App& app, int& status);
void add_counters(CLI::App& app, int& status);
void add_explain(CLI::App& app, int& status);
void add_up(CLI::App& app, int& status);
void add_exec(CLI::App& app, int& status);
void add_ps(CLI::App& app, int& status);
void add_down(CLI::App& app, int& status);
void add_link(CLI::App& app, int& status);
void add_fault(CLI::App& app, int& status);
void add_impair(CLI::App& app, int& status);
void add_set(CLI::App& app, int& status);
void add_trace(CLI::App& app, int& status);
void add_capture(CLI::App& app, int& status);
void add_analyze(CLI::App& app, int& status);
void add_emit(CLI::App& app, int& status);
void add_import(CLI::App& app, int& status);
void add_inspect(CLI::App& app, int& status);
void add_doctor(CLI::App& app, int& status);
void add_plan(CLI::App& app, int& status);
void add_choose(CLI::App& app, int& status);
void add_export(CLI::App& app, int& status);
void add_wireshark(CLI::App& app, int& status);
void add_serve(CLI::App& app, int& status);
void add_compare(CLI::App& app, int& status);
void add_sweep(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
// The words of the command line, with the "--" before the program that `exec` runs, which may be left out.
std::vector<std::string> with_end_of_options(std::vector<std::string> words);
// The same with the options of `perftest` and `nccl` that are weft's before those of the test: they may come last.
std::vector<std::string> with_own_options_first(std::vector<std::string> words);

}  // namespace weft::cli

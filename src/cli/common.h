// What the verbs share: reading a lab, choosing ports, progress, interruption.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/lab_model.h"

namespace weft::cli {

inline constexpr int kExitWell = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitWrongInput = 2;
inline constexpr int kExitInterrupted = 130;

struct LabFile {
  lab::Lab lab;
  std::string text;
};

// Prints every problem and warning to stderr and returns nothing when the lab cannot be used.
std::optional<LabFile> load_lab(const std::string& path, const std::vector<std::string>& overrides,
                                std::optional<std::uint64_t> seed);

// False, with a message on stderr, for a lab with a port to the outside: no run can simulate what is there.
bool is_simulated(const lab::Lab& lab);

// "all", "none", or "vm00:p0,vm01:p0". Prints to stderr and returns nothing for an unknown port.
std::optional<std::vector<lab::PortRef>> choose_ports(const lab::Lab& lab, const std::string& choice);

// False, with a message on stderr, when the file cannot be written whole.
bool write_file(const std::string& path, const std::string& text);

// Set by the first SIGINT or SIGTERM; another one half a second later ends the process.
const std::atomic<bool>& interrupted();
void catch_interrupts();

// A line on stderr that is rewritten, for runs over a second, when stderr is a terminal.
std::function<void(Time_ps, const std::string&)> progress_line();
void clear_progress_line();

}  // namespace weft::cli

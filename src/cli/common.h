// Common part of the verbs: reading a lab, choosing ports, progress, interruption.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/output.h"
#include "labfile/reader.h"
#include "model/lab.h"
#include "observe/capture.h"
#include "world/session.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct LabFile {
  lab::Lab lab;
  std::string text;
};

// Reports every problem and warning and returns nothing when the lab cannot be used.
std::optional<LabFile> load_lab(const std::string& path, const std::vector<std::string>& overrides,
                                std::optional<std::uint64_t> seed, bool warn = true,
                                lab::Trust trust = lab::Trust::kAll);
// --untrusted, which takes all trust away.
void add_untrusted_option(CLI::App& verb, lab::Trust& trust);

// False, with a message, for a lab with a port to the outside: no run can simulate what is there.
bool is_simulated(const lab::Lab& lab);

// "all", "none", or "vm00:p0,vm01:p0". Complains and returns nothing for an unknown port.
std::optional<std::vector<lab::PortRef>> choose_ports(const lab::Lab& lab, const std::string& choice);

// --snaplen, --capture-size and --capture-files.
struct CaptureArguments {
  std::string snaplen, size;
  std::uint32_t files = 0;
};
void add_capture_options(CLI::App& verb, CaptureArguments& arguments);
// Complains and returns nothing when they cannot be used.
std::optional<observe::CaptureOptions> read_capture_options(const CaptureArguments& arguments);
// A capture can fill a disk: where nothing limits it and it will be large by an estimate, or by its ports where there
// is none, says so and sets a limit. `runs_workloads` false: other things than the lab's workloads will send.
void limit_large_capture(const lab::Lab& lab, const std::vector<lab::PortRef>& ports, bool runs_workloads,
                         observe::CaptureOptions& options);

// A check of an option: a whole number between the two. CLI11's own would take -1 for the largest there is.
std::function<std::string(const std::string&)> whole_number(std::uint64_t least, std::uint64_t most);

// Locks this directory against other writers for its lifetime.
class DirectoryLock {
 public:
  // Makes the directory. Complains and returns nothing when that is not possible, or another run has it.
  static std::optional<DirectoryLock> take(const std::string& directory);
  DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_;
};

// Set by the first SIGINT, SIGTERM or SIGHUP (unless that is ignored, as under nohup); another one half a second later
// ends the process.
std::atomic<bool>& interrupted();
void catch_interrupts();

// A line on stderr that is rewritten, for runs over a second, when stderr is a terminal.
std::function<void(Time_ps, const std::string&)> progress_line();
// The same, of a session.
lab::Session::Subscriber show_progress();
// The line itself: the caller has found that stderr is a terminal.
void show_progress_text(const std::string& text);
void clear_progress_line();

}  // namespace weft::cli

// weft serve [DIR|LAB]: the page on 127.0.0.1 that shows runs, runs labs and compares (docs/page.md).
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "base/files.h"
#include "base/huge_pages.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "serve/change_watch.h"
#include "serve/http/event_hub.h"
#include "serve/http/event_routes.h"
#include "serve/http/server.h"
#include "serve/http/token.h"
#include "serve/lab_routes.h"
#include "serve/metrics_routes.h"
#include "serve/page_routes.h"
#include "serve/run_data_routes.h"
#include "serve/runs/run_list.h"
#include "serve/runs/run_place.h"
#include "serve/status_routes.h"
#include "serve/study_routes.h"
#include "serve/tasks/remove_route.h"
#include "serve/tasks/task_list.h"
#include "serve/tasks/task_routes.h"
#include "serve/worlds/world_routes.h"
#include "study/figures.h"
#include "text/units.h"

namespace weft::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestServedLab_B = 1'000'000;  // a body of the API
constexpr std::uint64_t kTaskMemory_B = 8'000'000'000;  // of address space; 8,192 hosts need less than 1 GB
constexpr std::uint64_t kTaskFile_B = 4'000'000'000;    // results and series of the largest labs
constexpr std::uint64_t kTaskTime_s = 600;
constexpr std::chrono::milliseconds kLookAge{200};  // of the list of runs

struct ServeArguments {
  std::string what, runs, listen = "127.0.0.1", memory;
  std::uint16_t port = 8420;
  bool allow_programs = false, open = false;
  std::size_t tasks = 0;
  std::uint64_t task_time_s = kTaskTime_s;
};

// For a file that is not a lab: what to give instead.
std::optional<study::StudyProblem> why_no_lab(const std::string& path, const std::string& text) {
  std::error_code ignored;
  const fs::path above = fs::path(path).parent_path();
  const bool is_of_run = fs::exists(above / "results.json", ignored) && fs::path(path).extension() != ".yaml";
  const bool is_binary = text.find('\0') != text.npos;
  if (!is_of_run && !is_binary) return std::nullopt;
  return study::StudyProblem{fmt::format("{} is not a lab file", path),
                             is_of_run ? fmt::format("name the run: weft serve {}", above.string())
                                       : "give a directory of runs, of one run, or a lab file"};
}

// The directory or lab of the command line. Prints an error and returns nothing if it does not exist.
struct Served {
  std::string directory = "runs";
  std::string lab, text;
};
std::optional<Served> find_served(const ServeArguments& arguments) {
  Served served;
  if (!arguments.runs.empty()) served.directory = arguments.runs;
  std::error_code error;
  if (!arguments.what.empty()) {
    if (fs::is_directory(arguments.what, error)) {
      if (!arguments.runs.empty()) {
        wrong_input("give either a directory or --runs");
        return std::nullopt;
      }
      served.directory = arguments.what;
    } else if (fs::exists(arguments.what, error)) {
      auto text = read_file(arguments.what, kLargestServedLab_B);
      if (!text) {
        wrong_input(fmt::format("cannot read {}: {}", arguments.what, text.error()),
                    "give a directory of runs, or a lab file of at most 1 MB");
        return std::nullopt;
      }
      if (const auto problem = why_no_lab(arguments.what, *text)) {
        wrong_input(problem->message, problem->remedy);
        return std::nullopt;
      }
      served.lab = arguments.what;
      served.text = std::move(*text);
    } else {
      wrong_input(fmt::format("there is no {}", arguments.what),
                  "give a directory of runs, of one run, or a lab file; the default is runs/");
      return std::nullopt;
    }
  }
  if (fs::exists(served.directory, error) && !fs::is_directory(served.directory, error)) {
    wrong_input(fmt::format("{} is not a directory", served.directory), "choose another with --runs DIR");
    return std::nullopt;
  }
  return served;
}

std::optional<serve::TaskLimits> task_limits(const ServeArguments& arguments) {
  serve::TaskLimits limits;
  limits.at_once = arguments.tasks > 0 ? arguments.tasks : std::max(1U, std::thread::hardware_concurrency());
  limits.time = std::chrono::seconds(arguments.task_time_s);
  limits.memory_B = kTaskMemory_B;
  limits.file_B = kTaskFile_B;
  if (arguments.memory.empty()) return limits;
  const bool plain = arguments.memory.find_first_not_of("0123456789") == std::string::npos;
  const auto size = lab::parse_quantity(plain ? arguments.memory + " B" : arguments.memory, lab::Quantity::kSize);
  if (!size || *size < 100'000'000) {
    wrong_input(fmt::format("--task-memory {}: {}", arguments.memory, size ? "less than 100 MB" : size.error().message),
                size ? "write 100 MB or more" : size.error().remedy);
    return std::nullopt;
  }
  limits.memory_B = static_cast<std::uint64_t>(*size);
  return limits;
}

// A file that redirects the browser to the address and that only this user can read: the address contains the token,
// and all users can see the arguments of a process. The destructor removes it.
class OpeningPage {
 public:
  explicit OpeningPage(const std::string& address) {
    const char* own = std::getenv("XDG_RUNTIME_DIR");
    std::error_code error;
    const fs::path folder =
        own != nullptr && fs::is_directory(own, error) ? fs::path(own) : fs::temp_directory_path(error);
    std::string path = (folder / "weft-XXXXXX.html").string();
    constexpr int kSuffix = 5;
    const int fd = mkostemps(path.data(), kSuffix, O_CLOEXEC);  // mode 0600
    if (fd < 0) return;
    path_ = path;
    const std::string text = fmt::format(
        "<!doctype html><meta charset=\"utf-8\"><title>Weft</title><meta http-equiv=\"refresh\" content=\"0; url={0}\">"
        "<p><a href=\"{0}\">Weft</a></p>\n",
        address);
    if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) path_.clear();
    close(fd);
  }
  ~OpeningPage() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove(path_, ignored);
  }
  OpeningPage(const OpeningPage&) = delete;
  OpeningPage& operator=(const OpeningPage&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Opens the user's browser if there is one. Its output is discarded, and Ctrl-C here does not end it.
void open_browser(const std::string& address) {
  const char* words[] = {"xdg-open", address.c_str(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, words[0], &actions, &attributes, const_cast<char**>(words), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    failed(fmt::format("no browser could be started: xdg-open: {}", std::strerror(error)), "open the address by hand");
    return;
  }
  std::thread([pid] { waitpid(pid, nullptr, 0); }).detach();  // it may run as long as the browser
}

std::string address_text(const std::string& listen, std::uint16_t port) {
  const bool any = listen == "0.0.0.0" || listen == "::";
  char host[256] = "localhost";
  if (any) gethostname(host, sizeof(host) - 1);
  const std::string name = any ? host : listen.find(':') != std::string::npos ? "[" + listen + "]" : listen;
  return fmt::format("http://{}:{}/", name, port);
}

int run(const ServeArguments& arguments) {
  const auto served = find_served(arguments);
  const auto limits = task_limits(arguments);
  // A heap for each client thread would keep the memory of the largest answers.
  mallopt(M_ARENA_MAX, 2);
  use_small_pages();
  if (!served || !limits) return kExitWrongInput;
  serve::ServerOptions options;
  options.port = arguments.port;
  options.address = arguments.listen;
  // Any user of this machine reaches 127.0.0.1, so starting programs as this user requires the token.
  if (arguments.allow_programs || !serve::is_loopback(arguments.listen)) {
    options.token = serve::make_token();
    if (options.token.empty()) return failed("cannot create a token: no random numbers");
  }

  const serve::RunPlace place(served->directory);
  serve::RunList runs(place, kLookAge);
  serve::EventHub hub;
  serve::TaskList tasks(*limits, serve::task_observer(hub, place, runs));
  serve::Router router;
  serve::ServeStatus status{WEFT_VERSION,   served->directory,        served->lab, served->text,
                            place.is_run(), arguments.allow_programs, *limits};
  serve::add_status_routes(router, status);
  serve::add_task_routes(router, place, tasks, {"/proc/self/exe", arguments.allow_programs});
  serve::add_remove_route(router, place, tasks, runs);
  serve::add_event_routes(router, hub);
  serve::add_world_routes(router);
  serve::AnswerCache answers;
  serve::add_run_data_routes(router, place, answers, runs);
  serve::add_lab_routes(router, arguments.allow_programs);
  serve::add_study_routes(router, place);
  serve::add_metrics_routes(router, place, answers, runs, {WEFT_VERSION, &tasks, &hub});
  serve::add_page_routes(router);
  auto server = serve::Server::open(options, router);
  if (!server) return wrong_input(server.error().message, server.error().remedy);
  catch_interrupts();
  serve::ChangeWatch watch(hub, runs);
  std::string address = address_text(arguments.listen, (*server)->port());
  if (!served->lab.empty()) address += "lab";
  if (!options.token.empty()) address += "?token=" + options.token;
  put(address + "\n");
  std::fflush(stdout);
  std::optional<OpeningPage> opening;
  if (arguments.open && !options.token.empty()) opening.emplace(address);
  if (opening && opening->path().empty()) {
    failed("no browser was started: the page with the token could not be written", "open the address by hand");
  } else if (arguments.open) {
    open_browser(opening ? opening->path() : address);
  }
  std::thread stopper([&] {
    while (!interrupted().load()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    hub.stop();
    (*server)->stop();
  });
  (*server)->run();
  interrupted() = true;  // also if it has ended by itself
  stopper.join();
  tasks.stop();
  return kExitWell;
}

}  // namespace

void add_serve(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ServeArguments>();
  CLI::App* verb = app.add_subcommand("serve", "Open the page: watch runs, run labs, compare");
  verb->add_option("DIR", arguments->what, "Directory of runs or of one run, or a lab file to edit (default runs)");
  verb->add_option("--runs", arguments->runs, "Directory of runs, also for new runs (default runs)");
  verb->add_option("--port", arguments->port, "TCP port; 0: any free port (default 8420)")
      ->check(whole_number(0, 65535));
  verb->add_option("--listen", arguments->listen,
                   "Address to listen on (default 127.0.0.1); an address that others can reach requires a token");
  verb->add_flag("--allow-programs", arguments->allow_programs,
                 "Labs from the page may start programs and name files of this machine");
  verb->add_option("--tasks", arguments->tasks,
                   "Runs that the page may start at the same time (default: one for each core)")
      ->check(whole_number(1, 1024));
  verb->add_option("--task-time", arguments->task_time_s, "Time limit of such a run in seconds (default 600)")
      ->check(whole_number(1, 1'000'000));
  verb->add_option("--task-memory", arguments->memory, "Memory limit of such a run, e.g. '4 GB' (default 8 GB)");
  verb->add_flag("--open", arguments->open, "Open the page in the browser");
  verb->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace weft::cli

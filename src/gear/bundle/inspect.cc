#include "gear/bundle/inspect.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "gear/bundle/text.h"

extern "C" char** environ;  // NOLINT(readability-redundant-declaration)

namespace weft::gear {

tl::expected<std::string, std::string> inspect_this_host() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return tl::unexpected(fmt::format("no pipe: {}", std::strerror(errno)));
  std::string script(inspect_script()), shell = "sh", option = "-c";
  char* words[] = {shell.data(), option.data(), script.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, "/bin/sh", &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char buffer[65'536];
  ssize_t size = 0;
  while (error == 0 && text.size() <= kLargestBundle_B && (size = read(ends[0], buffer, sizeof(buffer))) != 0) {
    if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
    if (size < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  if (error != 0) return tl::unexpected(fmt::format("cannot run /bin/sh: {}", std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text.ends_with("=== end\n")) return tl::unexpected(std::string("the script did not come to its end"));
  return text;
}

}  // namespace weft::gear

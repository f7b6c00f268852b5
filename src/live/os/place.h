// Where worlds that are up keep their sockets: a directory that only its user can enter, one folder per world.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "live/os/process.h"
#include "live/protocol/connection.h"
#include "verbs/control_protocol.h"

namespace weft::live {

// $XDG_RUNTIME_DIR/weft, or /tmp/weft-UID. The error describes the problem.
tl::expected<std::string, std::string> runtime_directory();
// A folder and part of the path of a socket: letters, digits, '-', '_' and '.', not too long.
inline constexpr std::size_t kLongestWorldName = 64;
bool is_world_name(std::string_view name);
std::string socket_path(const std::string& directory, const std::string& world);
// Folder in place of a node's /sys/class and /dev/infiniband; with an empty node the folder of all nodes.
std::string sysfs_path(const std::string& directory, const std::string& world, const std::string& node);
// Names of the worlds that answer, sorted. Folders of worlds that have ended are removed; one that is coming up is not
// listed and not touched.
std::vector<std::string> worlds_up(const std::string& directory);

// A new world's place. The lock on its folder lasts from before the socket is there until the world's process ends.
struct WorldPlace {
  OwnedDescriptor lock;
  int listener = -1;  // listening SOCK_SEQPACKET socket
};
// The error gives the reason, for instance that the name is taken.
tl::expected<WorldPlace, std::string> listen_at(const std::string& directory, const std::string& world);

// One request on a connection of its own, and its reply.
tl::expected<Reply, std::string> ask_world(const std::string& socket, verbs::Op op,
                                           std::span<const std::byte> body = {});
// A command (verbs/control_protocol.h) and what the world says to it.
struct CommandAnswer {
  verbs::CommandReply head{};
  std::string text, remedy;
};
// Begins to watch. The error is an answer with a status, or one without when the world does not answer.
struct WatchConnection {
  OwnedDescriptor fd;
  CommandAnswer answer;
};
tl::expected<WatchConnection, std::string> watch_world(const std::string& socket, bool json,
                                                       const std::vector<std::string>& words);
// The next message; nothing at the end of the connection. Waits for `patience_ms` at most, and is empty then.
struct WatchMessage {
  std::int32_t error = 0;
  std::string bytes;
};
std::optional<WatchMessage> next_message(int fd, int patience_ms);
std::string command_body(std::int64_t at_ps, bool json, const std::vector<std::string>& words);
tl::expected<CommandAnswer, std::string> ask_command(const std::string& socket, std::int64_t at_ps, bool json,
                                                     const std::vector<std::string>& words);

// How the world is, without its processes.
tl::expected<verbs::WorldStatus, std::string> ask_status(const std::string& socket);

// The same, where the reply is a file: its text.
tl::expected<std::string, std::string> ask_world_text(const std::string& socket, verbs::Op op);

}  // namespace weft::live

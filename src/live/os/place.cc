#include "live/os/place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <span>

namespace weft::live {

namespace fs = std::filesystem;

tl::expected<std::string, std::string> runtime_directory() {
  const char* given = std::getenv("XDG_RUNTIME_DIR");
  std::string path =
      given != nullptr && *given != 0 ? std::string(given) + "/weft" : fmt::format("/tmp/weft-{}", getuid());
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return tl::unexpected(fmt::format("cannot make {}: {}", path, std::strerror(errno)));
  struct stat info {};
  // In /tmp other users could have created it: a folder open to others is rejected.
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != getuid() || (info.st_mode & 077) != 0)
    return tl::unexpected(fmt::format("{} must be your directory and closed to other users (chmod 700)", path));
  return path;
}

bool is_world_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return !name.empty() && name.size() <= kLongestWorldName && name.front() != '.' && name.front() != '-' &&
         name.find_first_not_of(kAllowed) == name.npos;
}

std::string socket_path(const std::string& directory, const std::string& world) {
  return directory + "/" + world + "/socket";
}

std::string sysfs_path(const std::string& directory, const std::string& world, const std::string& node) {
  return directory + "/" + world + "/sysfs/" + node;
}

namespace {

constexpr int kPatience_s = 20;  // for a world that is busy with a program

tl::expected<sockaddr_un, std::string> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return tl::unexpected(fmt::format("the path {} is too long for a socket; choose a shorter name", path));
  path.copy(address.sun_path, path.size());
  return address;
}

tl::expected<int, std::string> connect_to(const std::string& path) {
  auto address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&*address), sizeof(*address)) != 0) {
    std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    return tl::unexpected(why);
  }
  return fd;
}

}  // namespace

namespace {

// The lock of a world's folder; empty when it is held or the folder does not exist.
OwnedDescriptor lock_folder(const std::string& path) {
  OwnedDescriptor lock;
  lock.fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (lock.fd >= 0 && flock(lock.fd, LOCK_EX | LOCK_NB) != 0) lock.reset();
  return lock;
}

// Another process may have removed the folder between open and flock: then the lock is on nothing.
bool is_at(const OwnedDescriptor& lock, const std::string& path) {
  struct stat locked {
  }, there{};
  return fstat(lock.fd, &locked) == 0 && stat(path.c_str(), &there) == 0 && locked.st_ino == there.st_ino &&
         locked.st_dev == there.st_dev;
}

}  // namespace

std::vector<std::string> worlds_up(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string path = entry.path().string();
    if (auto fd = connect_to(path + "/socket")) {
      close(*fd);
      names.push_back(entry.path().filename().string());
    } else if (OwnedDescriptor lock = lock_folder(path); lock.fd >= 0 && is_at(lock, path)) {
      fs::remove_all(path, error);  // its process has ended: the lock was free
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

tl::expected<WorldPlace, std::string> listen_at(const std::string& directory, const std::string& world) {
  worlds_up(directory);
  const std::string folder = directory + "/" + world;
  WorldPlace place;
  for (;;) {
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
      return tl::unexpected(fmt::format("cannot make {}: {}", folder, std::strerror(errno)));
    place.lock = lock_folder(folder);
    if (place.lock.fd < 0 && fs::exists(folder))
      return tl::unexpected(
          fmt::format("a world named {} is up already; end it with 'weft down {}' or choose another "
                      "--name",
                      world, world));
    if (place.lock.fd >= 0 && is_at(place.lock, folder)) break;
  }
  std::string path = socket_path(directory, world);
  auto address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  unlink(path.c_str());
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&*address), sizeof(*address)) != 0 || listen(fd, 512) != 0) {
    std::string why = fmt::format("cannot listen at {}: {}", path, std::strerror(errno));
    if (fd >= 0) close(fd);
    return tl::unexpected(why);
  }
  place.listener = fd;
  return place;
}

namespace {

struct Answer {
  Reply reply;
  int file = -1;  // that came with it
};

tl::expected<Answer, std::string> ask(const std::string& socket, verbs::Op op, std::span<const std::byte> body = {}) {
  auto fd = connect_to(socket);
  if (!fd) return tl::unexpected(fd.error());
  timeval patience{kPatience_s, 0};
  setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  verbs::RequestHead head{op, static_cast<std::uint32_t>(body.size()), 0};
  std::vector<std::byte> question(sizeof(head) + body.size());
  std::memcpy(question.data(), &head, sizeof(head));
  std::copy(body.begin(), body.end(), question.begin() + sizeof(head));
  std::vector<std::byte> text(verbs::kMaxMessage_B);
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const bool asked =
      ::send(*fd, question.data(), question.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(question.size());
  ssize_t got = asked ? recvmsg(*fd, &message, MSG_CMSG_CLOEXEC) : -1;
  close(*fd);
  if (got < static_cast<ssize_t>(sizeof(verbs::ReplyHead)))
    return tl::unexpected(std::string("it does not answer; is it stopped?"));
  Answer answer;
  verbs::ReplyHead told;
  std::memcpy(&told, text.data(), sizeof(told));
  answer.reply.error = told.error;
  answer.reply.body.assign(text.begin() + sizeof(told), text.begin() + got);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) std::memcpy(&answer.file, CMSG_DATA(header), sizeof(int));
  return answer;
}

}  // namespace

tl::expected<Reply, std::string> ask_world(const std::string& socket, verbs::Op op, std::span<const std::byte> body) {
  auto answer = ask(socket, op, body);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->file >= 0) close(answer->file);
  return std::move(answer->reply);
}

namespace {

// All of it, and closes it.
std::string text_of_file(int fd) {
  std::string text;
  char bytes[1 << 14];
  for (;;) {
    ssize_t got = pread(fd, bytes, sizeof(bytes), static_cast<off_t>(text.size()));
    if (got <= 0) break;
    text.append(bytes, static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

constexpr const char* kOtherVersion = "it does not support this request; is it another version?";

}  // namespace

tl::expected<std::string, std::string> ask_world_text(const std::string& socket, verbs::Op op) {
  auto answer = ask(socket, op);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->file < 0) return tl::unexpected(std::string(kOtherVersion));
  return text_of_file(answer->file);
}

std::string command_body(std::int64_t at_ps, bool json, const std::vector<std::string>& words) {
  const verbs::Command command{at_ps, json ? 1u : 0u, static_cast<std::uint32_t>(words.size())};
  std::string body(reinterpret_cast<const char*>(&command), sizeof(command));
  for (const std::string& word : words) body += word + '\0';
  return body;
}

namespace {

// Checks what came; closes `file`.
std::optional<CommandAnswer> command_answer(int error, std::span<const std::byte> body, int file) {
  CommandAnswer said;
  const bool good = error == 0 && body.size() >= sizeof(said.head);
  if (good) {
    std::memcpy(&said.head, body.data(), sizeof(said.head));
    said.text.assign(reinterpret_cast<const char*>(body.data()) + sizeof(said.head), body.size() - sizeof(said.head));
  }
  if (file >= 0) said.text = text_of_file(file);
  if (!good || said.text.size() != std::size_t{said.head.text_B} + said.head.remedy_B) return std::nullopt;
  said.remedy = said.text.substr(said.head.text_B);
  said.text.resize(said.head.text_B);
  return said;
}

}  // namespace

tl::expected<CommandAnswer, std::string> ask_command(const std::string& socket, std::int64_t at_ps, bool json,
                                                     const std::vector<std::string>& words) {
  const std::string command = command_body(at_ps, json, words);
  auto answer = ask(socket, verbs::Op::kCommand, std::as_bytes(std::span(command)));
  if (!answer) return tl::unexpected(answer.error());
  auto said = command_answer(answer->reply.error, answer->reply.body, answer->file);
  if (!said) return tl::unexpected(std::string(kOtherVersion));
  return std::move(*said);
}

tl::expected<WatchConnection, std::string> watch_world(const std::string& socket, bool json,
                                                       const std::vector<std::string>& words) {
  auto fd = connect_to(socket);
  if (!fd) return tl::unexpected(fd.error());
  WatchConnection watch;
  watch.fd.fd = *fd;
  const std::string body = command_body(verbs::kNow_ps, json, words);
  const verbs::RequestHead head{verbs::Op::kWatch, static_cast<std::uint32_t>(body.size()), 0};
  const std::string request = std::string(reinterpret_cast<const char*>(&head), sizeof(head)) + body;
  if (::send(*fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return tl::unexpected(std::string(kOtherVersion));
  const auto first = next_message(*fd, kPatience_s * 1000);
  if (!first) return tl::unexpected(std::string("it does not answer; is it stopped?"));
  auto said = command_answer(first->error, std::as_bytes(std::span(first->bytes)), -1);
  if (!said) return tl::unexpected(std::string(kOtherVersion));
  watch.answer = std::move(*said);
  return watch;
}

std::optional<WatchMessage> next_message(int fd, int patience_ms) {
  pollfd ready{fd, POLLIN, 0};
  WatchMessage message;
  if (poll(&ready, 1, patience_ms) <= 0) return message;
  std::string bytes(verbs::kMaxMessage_B, '\0');
  const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
  verbs::ReplyHead head;
  if (got < static_cast<ssize_t>(sizeof(head))) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof(head));
  message.error = head.error;
  message.bytes = bytes.substr(sizeof(head), static_cast<std::size_t>(got) - sizeof(head));
  return message;
}

tl::expected<verbs::WorldStatus, std::string> ask_status(const std::string& socket) {
  auto reply = ask_world(socket, verbs::Op::kStatus);
  if (!reply) return tl::unexpected(reply.error());
  verbs::WorldStatus status;
  if (reply->body.size() < sizeof(status)) return tl::unexpected(std::string("it uses another protocol version"));
  std::memcpy(&status, reply->body.data(), sizeof(status));
  return status;
}

}  // namespace weft::live

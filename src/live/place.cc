#include "live/place.h"

#include <fcntl.h>
#include <fmt/format.h>
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

namespace weft::live {

namespace fs = std::filesystem;

tl::expected<std::string, std::string> runtime_directory() {
  const char* given = std::getenv("XDG_RUNTIME_DIR");
  std::string path =
      given != nullptr && *given != 0 ? std::string(given) + "/weft" : fmt::format("/tmp/weft-{}", getuid());
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return tl::unexpected(fmt::format("cannot make {}: {}", path, std::strerror(errno)));
  struct stat info {};
  // In /tmp anybody could have made it: what others can enter is not ours.
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != getuid() || (info.st_mode & 077) != 0)
    return tl::unexpected(fmt::format("{} must be a directory of yours that nobody else can enter (chmod 700)", path));
  return path;
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

// The lock of a world's directory, which its process holds from before it has a socket until it ends. -1: somebody else
// holds it, or it is no directory.
int lock_directory(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat locked {
  }, there{};
  // Whoever cleans up may have removed it between the two calls.
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &locked) == 0 && lstat(path.c_str(), &there) == 0 &&
      locked.st_ino == there.st_ino && locked.st_dev == there.st_dev)
    return fd;
  close(fd);
  return -1;
}

}  // namespace

std::vector<std::string> worlds_up(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (auto fd = connect_to(entry.path().string() + "/socket")) {
      close(*fd);
      names.push_back(entry.path().filename().string());
    } else if (int lock = lock_directory(entry.path().string()); lock >= 0) {
      // Nobody's: its world is gone. One that is only coming up holds the lock.
      fs::remove_all(entry.path(), error);
      close(lock);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

tl::expected<int, std::string> listen_at(const std::string& directory, const std::string& world) {
  std::vector<std::string> up = worlds_up(directory);
  if (std::find(up.begin(), up.end(), world) != up.end())
    return tl::unexpected(
        fmt::format("a world named {} is up already; end it with 'weft down {}' or choose another "
                    "--name",
                    world, world));
  // The lock is not released: it ends with the process, or with the child that the world goes on in.
  bool locked = false;
  for (int tries = 0; tries < 3 && !locked; ++tries) {
    if (mkdir((directory + "/" + world).c_str(), 0700) != 0 && errno != EEXIST)
      return tl::unexpected(fmt::format("cannot make {}/{}: {}", directory, world, std::strerror(errno)));
    locked = lock_directory(directory + "/" + world) >= 0;
  }
  if (!locked)
    return tl::unexpected(
        fmt::format("a world named {} is just coming up; wait for it, or choose another --name", world));
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
  return fd;
}

namespace {

struct Answer {
  Reply reply;
  int file = -1;  // that came with it
};

tl::expected<Answer, std::string> ask(const std::string& socket, verbs::Op op) {
  auto fd = connect_to(socket);
  if (!fd) return tl::unexpected(fd.error());
  timeval patience{kPatience_s, 0};
  setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  verbs::RequestHead head{op, 0, 0};
  std::vector<std::byte> text(verbs::kMaxMessage_B);
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got = ::send(*fd, &head, sizeof(head), MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(head))
                    ? recvmsg(*fd, &message, MSG_CMSG_CLOEXEC)
                    : -1;
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

tl::expected<Reply, std::string> ask_world(const std::string& socket, verbs::Op op) {
  auto answer = ask(socket, op);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->file >= 0) close(answer->file);
  return std::move(answer->reply);
}

tl::expected<std::string, std::string> ask_world_text(const std::string& socket, verbs::Op op) {
  auto answer = ask(socket, op);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->file < 0) return tl::unexpected(std::string("it does not know the question; is it of another version?"));
  std::string text;
  char bytes[1 << 14];
  for (;;) {
    ssize_t got = pread(answer->file, bytes, sizeof(bytes), static_cast<off_t>(text.size()));
    if (got <= 0) break;
    text.append(bytes, static_cast<std::size_t>(got));
  }
  close(answer->file);
  return text;
}

tl::expected<verbs::WorldStatus, std::string> ask_status(const std::string& socket) {
  auto reply = ask_world(socket, verbs::Op::kStatus);
  if (!reply) return tl::unexpected(reply.error());
  verbs::WorldStatus status;
  if (reply->body.size() < sizeof(status)) return tl::unexpected(std::string("it speaks another protocol"));
  std::memcpy(&status, reply->body.data(), sizeof(status));
  return status;
}

}  // namespace weft::live

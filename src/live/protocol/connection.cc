#include "live/protocol/connection.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <iterator>

namespace weft::live {

Lent::~Lent() {
  for (int fd : fds) close(fd);
}

Connection::~Connection() {
  close(fd_);
}

namespace {

// Whatever came, each descriptor is closed in the end.
std::shared_ptr<const Lent> take_lent(msghdr& message) {
  std::shared_ptr<Lent> lent;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (!lent) lent = std::make_shared<Lent>();
    std::size_t first = lent->fds.size();
    lent->fds.resize(first + count);
    std::memcpy(lent->fds.data() + first, CMSG_DATA(control), count * sizeof(int));
  }
  return lent;
}

}  // namespace

Connection::Got Connection::receive(Request& request) {
  verbs::RequestHead head;
  // Most messages are short: only as much as came is copied.
  static std::array<std::byte, verbs::kMaxMessage_B> room;
  iovec parts[2] = {{&head, sizeof(head)}, {room.data(), room.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))];  // as many as the kernel passes at a time
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got = recvmsg(fd_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Got::kNothing;
  request.lent = got < 0 ? nullptr : take_lent(message);
  if (got < static_cast<ssize_t>(sizeof(head)) || (message.msg_flags & MSG_TRUNC) != 0) return Got::kEnd;
  auto body_B = static_cast<std::size_t>(got) - sizeof(head);
  if (head.size_B != body_B) return Got::kEnd;
  request.op = head.op;
  request.local_ps = head.local_ps;
  request.body.assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(body_B));
  return Got::kRequest;
}

bool Connection::send(const Reply& reply, Time_ps now_ps) {
  verbs::ReplyHead head{reply.error, static_cast<std::uint32_t>(reply.body.size()), now_ps};
  iovec parts[2] = {{&head, sizeof(head)}, {const_cast<std::byte*>(reply.body.data()), reply.body.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(reply.fds))];
  auto count = static_cast<std::size_t>(std::find(std::begin(reply.fds), std::end(reply.fds), -1) - reply.fds);
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), reply.fds, count * sizeof(int));
  }
  return sendmsg(fd_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(head) + reply.body.size());
}

namespace {

// A program that is awake has posted and polled again within this.
constexpr std::chrono::microseconds kLongestLook{50};

double count_looks_per_us() {
  constexpr std::uint32_t kCount = 4'000;
  auto slot = std::make_unique<verbs::TurnSlot<verbs::RequestHead>>();
  slot->open();
  const auto start = std::chrono::steady_clock::now();
  slot->wait(kCount);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  return kCount / std::max(took.count(), 1.0);
}

bool has_other_cpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) > 1;
}

}  // namespace

std::uint32_t looks_in(std::chrono::microseconds time) {
  // On one CPU the other side cannot run meanwhile.
  static const double looks_per_us = has_other_cpu() ? count_looks_per_us() : 0;
  return static_cast<std::uint32_t>(looks_per_us * static_cast<double>(time.count()));
}

bool fill_slot(verbs::TurnSlot<verbs::ReplyHead>& slot, const Reply& reply, Time_ps now_ps) {
  if (!slot.is_open() || reply.body.size() > slot.kRoom_B || reply.fds[0] >= 0) return false;
  slot.head() = {reply.error, static_cast<std::uint32_t>(reply.body.size()), now_ps};
  if (!reply.body.empty()) std::memcpy(slot.body(), reply.body.data(), reply.body.size());
  return slot.fill();
}

bool wait_for_slot(verbs::TurnSlot<verbs::RequestHead>& slot, Request& request) {
  static const std::uint32_t looks = looks_in(kLongestLook);
  if (looks == 0) return false;
  slot.open();
  if (!slot.wait(looks)) return false;
  const verbs::RequestHead head = slot.head();
  const std::size_t body_B = std::min<std::size_t>(head.size_B, slot.kRoom_B);
  request.op = head.op;
  request.local_ps = head.local_ps;
  request.body.assign(slot.body(), slot.body() + body_B);
  request.lent = nullptr;
  slot.empty();
  return true;
}

int Connection::peer_pid() const {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return -1;
  return credentials.pid;
}

}  // namespace weft::live

#include "preload/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/real.h"

namespace weft::preload {

namespace {

constexpr std::size_t kMaxPieces = 8;

void take_descriptors(msghdr& message, verbs::Descriptors* passed) {
  std::size_t taken = 0;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
      if (passed != nullptr && taken < sizeof passed->fd / sizeof fd) {
        passed->fd[taken++] = fd;
      } else {
        kernel_call(SYS_close, fd);
      }
    }
  }
}

}  // namespace

void world_is_gone() {
  die("the world is gone%s", "");
}

namespace {

// Some descriptors cannot be passed: one that another thread has closed meanwhile, one of io_uring. A set of epoll that
// holds it stands for it, or for one that is closed, which its owner finds when it looks, a descriptor that is ready.
// Returns how many were replaced, in `made`.
std::size_t replace_unsendable(int* lent, std::size_t count, int* made) {
  std::size_t replaced = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool open = kernel_call(SYS_fcntl, lent[i], F_GETFD) >= 0;
    char path[64] = "/proc/self/fd/", target[32] = {};
    char digits[12];
    std::size_t at = strlen(path), digit = 0;
    for (auto rest = static_cast<unsigned>(lent[i]); rest != 0 || digit == 0; rest /= 10)
      digits[digit++] = static_cast<char>('0' + rest % 10);
    while (digit > 0) path[at++] = digits[--digit];
    if (open && kernel_call(SYS_readlinkat, AT_FDCWD, path, target, sizeof target - 1) > 0 &&
        strcmp(target, "anon_inode:[io_uring]") != 0)
      continue;
    int stand_in = -1;
    if (open) {
      epoll_event event{};
      event.events = EPOLLIN;
      stand_in = static_cast<int>(kernel_call(SYS_epoll_create1, EPOLL_CLOEXEC));
      kernel_call(SYS_epoll_ctl, stand_in, EPOLL_CTL_ADD, lent[i], &event);
    } else {
      stand_in = static_cast<int>(kernel_call(SYS_eventfd2, 1, EFD_CLOEXEC));
    }
    lent[i] = made[replaced++] = stand_in;
  }
  return replaced;
}

}  // namespace

void send_request(int fd, verbs::Op op, std::int64_t local_ps, const iovec* pieces, std::size_t count, const int* lent,
                  std::size_t lent_count) {
  iovec all[kMaxPieces + 1];
  verbs::RequestHead head{op, 0, local_ps};
  if (count > kMaxPieces) die("a request of %d pieces%s", "", static_cast<int>(count));
  all[0] = {&head, sizeof head};
  for (std::size_t i = 0; i < count; ++i) {
    all[i + 1] = pieces[i];
    head.size_B += static_cast<std::uint32_t>(pieces[i].iov_len);
  }
  msghdr message{};
  message.msg_iov = all;
  message.msg_iovlen = count + 1;
  alignas(cmsghdr) char control[CMSG_SPACE(verbs::kMaxRealItems * sizeof(int))];
  if (lent_count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(lent_count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(lent_count * sizeof(int));
    memcpy(CMSG_DATA(header), lent, lent_count * sizeof(int));
  }
  int made[verbs::kMaxRealItems];
  std::size_t made_count = 0;
  while (kernel_call(SYS_sendmsg, fd, &message, MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    const bool refused = errno == EBADF || errno == EINVAL;
    if (!refused || lent_count == 0 || made_count != 0) world_is_gone();
    int passed[verbs::kMaxRealItems];
    memcpy(passed, lent, lent_count * sizeof(int));
    made_count = replace_unsendable(passed, lent_count, made);
    if (made_count == 0) world_is_gone();
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), passed, lent_count * sizeof(int));
  }
  for (std::size_t i = 0; i < made_count; ++i) kernel_call(SYS_close, made[i]);
}

bool receive_reply(int fd, verbs::ReplyHead& head, void* reply, std::size_t* reply_B, verbs::Descriptors* passed) {
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
  iovec pieces[2] = {{&head, sizeof head}, {reply, reply_B != nullptr ? *reply_B : 0}};
  msghdr message;
  long size_B;
  do {
    message = {};
    message.msg_iov = pieces;
    message.msg_iovlen = 2;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    size_B = kernel_call(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
  } while (size_B < 0 && errno == EINTR);
  if (size_B < static_cast<long>(sizeof head)) return false;
  take_descriptors(message, passed);
  if ((message.msg_flags & MSG_TRUNC) != 0 && head.error == 0) head.error = EMSGSIZE;
  if (reply_B != nullptr) *reply_B = static_cast<std::size_t>(size_B) - sizeof head;
  return true;
}

AllSignalsBlocked::AllSignalsBlocked() {
  const std::uint64_t all = ~std::uint64_t{0};
  kernel_call(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before_, sizeof all);
}

AllSignalsBlocked::~AllSignalsBlocked() {
  kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
}

}  // namespace weft::preload

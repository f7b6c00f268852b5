#include "preload/sockets/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "preload/connection.h"
#include "preload/files/descriptors.h"
#include "preload/process/process.h"
#include "preload/real.h"
#include "preload/sockets/refusals.h"
#include "preload/sockets/streams.h"
#include "preload/wire.h"
#include "verbs/node_protocol.h"

namespace weft::preload {

namespace {

using Kind = Descriptor::Kind;

constexpr int kFamily = 16;  // AF_NETLINK

// Datagrams that the socket had no room for, in the order of their arrival; of all netlink sockets of the process,
// which are few.
struct Waiting {
  Waiting* next;
  int fd;
  std::size_t size_B;
  char bytes[];
};
constinit Waiting* first_waiting = nullptr;
pthread_mutex_t waiting_mutex = PTHREAD_MUTEX_INITIALIZER;

bool deliver(int fd, const void* bytes, std::size_t size_B) {
  return WEFT_REAL(send)(fd, bytes, size_B, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

// In the order of arrival: nothing overtakes what waits for the same socket.
void deliver_waiting(int fd) {
  AllSignalsBlocked blocked;
  preload::lock(waiting_mutex);
  for (Waiting** at = &first_waiting; *at != nullptr;) {
    Waiting* each = *at;
    if (each->fd != fd) {
      at = &each->next;
      continue;
    }
    if (!deliver(fd, each->bytes, each->size_B)) break;
    *at = each->next;
    free(each);
  }
  WEFT_REAL(pthread_mutex_unlock)(&waiting_mutex);
}

void add_waiting(int fd, const void* bytes, std::size_t size_B) {
  auto* made = static_cast<Waiting*>(malloc(sizeof(Waiting) + size_B));
  if (made == nullptr) return;
  made->next = nullptr;
  made->fd = fd;
  made->size_B = size_B;
  memcpy(made->bytes, bytes, size_B);
  AllSignalsBlocked blocked;
  preload::lock(waiting_mutex);
  Waiting** at = &first_waiting;
  while (*at != nullptr) at = &(*at)->next;
  *at = made;
  WEFT_REAL(pthread_mutex_unlock)(&waiting_mutex);
}

void take_reply(int fd, const char* bytes, std::size_t size_B) {
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= size_B;) {
    std::uint32_t datagram_B;
    memcpy(&datagram_B, bytes + at, sizeof datagram_B);
    at += sizeof datagram_B;
    if (datagram_B > size_B - at) return;
    add_waiting(fd, bytes + at, datagram_B);
    at += (datagram_B + 3) & ~std::size_t{3};
  }
  deliver_waiting(fd);
}

std::uint32_t port_id() {
  return static_cast<std::uint32_t>(this_process().pid);
}

void fill_address(sockaddr* address, socklen_t* size_B, std::uint32_t id) {
  if (address == nullptr || size_B == nullptr) return;
  sockaddr_nl own{};
  own.nl_family = kFamily;
  own.nl_pid = id;
  memcpy(address, &own, std::min<std::size_t>(*size_B, sizeof own));
  *size_B = sizeof own;
}

const Descriptor* find_netlink(int fd) {
  const Descriptor* found = descriptors().find(fd);
  return found != nullptr && found->kind == Kind::kNetlink && found->stream == nullptr ? found : nullptr;
}

int ask_world(int fd, std::uint32_t protocol, const char* bytes, std::size_t size_B) {
  verbs::NetlinkRequest head{protocol, port_id()};
  const iovec pieces[] = {{&head, sizeof head}, {const_cast<char*>(bytes), size_B}};
  auto* reply = static_cast<char*>(malloc(verbs::kMaxInlineReply_B));
  if (reply == nullptr) return ENOBUFS;
  std::size_t reply_B = verbs::kMaxInlineReply_B;
  verbs::Descriptors large;
  const int error = call_in_pieces(verbs::Op::kNetlink, pieces, 2, reply, &reply_B, &large);
  struct stat file {};
  if (error == 0 && large.fd[0] >= 0 && WEFT_REAL(fstat)(large.fd[0], &file) == 0 && file.st_size > 0) {
    const auto large_B = static_cast<std::size_t>(file.st_size);
    void* memory = mmap(nullptr, large_B, PROT_READ, MAP_SHARED, large.fd[0], 0);
    if (memory != MAP_FAILED) {
      take_reply(fd, static_cast<const char*>(memory), large_B);
      WEFT_REAL(munmap)(memory, large_B);
    }
  } else if (error == 0) {
    take_reply(fd, reply, reply_B);
  }
  if (large.fd[0] >= 0) WEFT_REAL(close)(large.fd[0]);
  free(reply);
  return error;
}

// Other than a question: of each object the kernel numbers NEW, DEL, GET, SET.
bool may_change(std::uint32_t protocol, const char* bytes, std::size_t size_B) {
  nlmsghdr head;
  if (size_B < sizeof head || (protocol != NETLINK_ROUTE && protocol != NETLINK_RDMA)) return false;
  memcpy(&head, bytes, sizeof head);
  return protocol == NETLINK_RDMA || (head.nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP;
}

}  // namespace

bool is_netlink_of_node(int domain, int protocol) {
  return domain == kFamily && this_process().attached &&
         (protocol == NETLINK_ROUTE || protocol == NETLINK_RDMA || protocol == NETLINK_GENERIC ||
          protocol == NETLINK_SOCK_DIAG);
}

bool is_netlink(int fd) {
  return find_netlink(fd) != nullptr;
}

int open_netlink(int type, int protocol) {
  const int flags = type & (SOCK_CLOEXEC | SOCK_NONBLOCK);
  if ((type & ~flags) != SOCK_RAW && (type & ~flags) != SOCK_DGRAM) return fail(ESOCKTNOSUPPORT);
  const int fd = WEFT_REAL(socket)(AF_UNIX, SOCK_DGRAM | flags, 0);
  if (fd < 0) return fd;
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  socklen_t own_B = sizeof own.sun_family;  // the kernel chooses a name
  const auto* address = reinterpret_cast<const sockaddr*>(&own);
  int done = WEFT_REAL(bind)(fd, address, own_B);
  own_B = sizeof own;
  if (done == 0) done = WEFT_REAL(getsockname)(fd, reinterpret_cast<sockaddr*>(&own), &own_B);
  if (done == 0) done = WEFT_REAL(connect)(fd, address, own_B);
  if (done != 0) {
    const int error = errno;
    WEFT_REAL(close)(fd);
    return fail(error);
  }
  descriptors().add_netlink(fd, static_cast<std::uint32_t>(protocol));
  return fd;
}

ssize_t send_netlink(int fd, const msghdr& message, int) {
  const Descriptor* socket = find_netlink(fd);
  std::size_t size_B = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) size_B += message.msg_iov[i].iov_len;
  if (size_B > verbs::kMaxNetlinkRequest_B) return fail(EMSGSIZE);
  auto* bytes = static_cast<char*>(malloc(size_B + 1));
  if (bytes == nullptr) return fail(ENOBUFS);
  std::size_t at = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
    memcpy(bytes + at, message.msg_iov[i].iov_base, message.msg_iov[i].iov_len);
    at += message.msg_iov[i].iov_len;
  }
  const int error = ask_world(fd, socket->what, bytes, size_B);
  if (may_change(socket->what, bytes, size_B)) say_refusal();
  free(bytes);
  return error == 0 ? static_cast<ssize_t>(size_B) : fail(error);
}

ssize_t receive_netlink(int fd, msghdr& message, int flags) {
  deliver_waiting(fd);
  auto* address = static_cast<sockaddr*>(message.msg_name);
  socklen_t room_B = message.msg_namelen;
  message.msg_name = nullptr;
  message.msg_namelen = 0;
  const ssize_t got = WEFT_REAL(recvmsg)(fd, &message, flags);
  message.msg_name = address;
  message.msg_controllen = 0;
  if (got >= 0) {
    fill_address(address, &room_B, 0);  // from the kernel
    message.msg_namelen = address == nullptr ? 0 : room_B;
  }
  return got;
}

int name_netlink(int, sockaddr* address, socklen_t* size_B) {
  fill_address(address, size_B, port_id());
  return 0;
}

int set_netlink_option(int fd, int level, int option, const void* value, socklen_t size_B) {
  // Options of netlink (extended acknowledgements, strict checks) change nothing here; membership brings nothing.
  if (level != SOL_SOCKET || option == SO_ATTACH_FILTER) return 0;
  return WEFT_REAL(setsockopt)(fd, level, option, value, size_B);
}

int get_netlink_option(int fd, int level, int option, void* value, socklen_t* size_B) {
  const Descriptor* socket = find_netlink(fd);
  int number = 0;
  if (level == SOL_SOCKET && option == SO_DOMAIN) {
    number = kFamily;
  } else if (level == SOL_SOCKET && option == SO_PROTOCOL) {
    number = static_cast<int>(socket->what);
  } else if (level == SOL_SOCKET) {
    return WEFT_REAL(getsockopt)(fd, level, option, value, size_B);
  }
  *size_B = std::min<socklen_t>(*size_B, sizeof number);
  memcpy(value, &number, *size_B);
  return 0;
}

}  // namespace weft::preload

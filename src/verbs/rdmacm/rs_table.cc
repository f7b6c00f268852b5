// Sockets over RDMA: their numbers, how they are made and how they end.
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "verbs/rdmacm/rs.h"

namespace weft::verbs::cm::rs {
namespace {

constexpr int kMostSockets = 1 << 16;
std::atomic<Socket*> sockets[kMostSockets];

std::atomic<std::uintptr_t> first_user{0};
std::atomic<bool> several_users{false};

}  // namespace

bool has_several_users() {
  return several_users.load(std::memory_order_relaxed);
}

Socket* find(int fd) {
  const auto user = static_cast<std::uintptr_t>(pthread_self());
  std::uintptr_t first = first_user.load(std::memory_order_relaxed);
  if (first != user && (first != 0 || !first_user.compare_exchange_strong(first, user)))
    several_users.store(true, std::memory_order_relaxed);
  Socket* socket = fd >= 0 && fd < kMostSockets ? sockets[fd].load(std::memory_order_acquire) : nullptr;
  if (socket == nullptr) errno = EBADF;
  return socket;
}

std::uint8_t* allocate(std::size_t size_B) {
  const auto page_B = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  size_B = (size_B + page_B - 1) / page_B * page_B;
  void* memory = nullptr;
  if (posix_memalign(&memory, page_B, size_B) != 0) return fail(ENOMEM);
  std::memset(memory, 0, size_B);
  return static_cast<std::uint8_t*>(memory);
}

Socket* make_socket(const Socket* listener, int type, int family) {
  auto* socket = make<Socket>();
  if (socket == nullptr) return fail(ENOMEM);
  socket->fd = -1;
  socket->type = type;
  socket->family = family;
  socket->keep_idle_s = 7200;
  if (listener != nullptr) socket->sizes = listener->sizes;
  pthread_mutex_init(&socket->mutex, nullptr);
  pthread_cond_init(&socket->changed, nullptr);
  return socket;
}

int enter(Socket& socket, int fd) {
  if (fd >= kMostSockets) return result(EMFILE);
  socket.fd = fd;
  sockets[fd].store(&socket, std::memory_order_release);
  return fd;
}

void free_socket(Socket* socket) {
  if (socket->fd >= 0) sockets[socket->fd].store(nullptr, std::memory_order_release);
  if (socket->datagrams != nullptr) close_datagrams(*socket);
  free_mappings(*socket);
  free_endpoint(*socket);
  if (socket->id != nullptr) rdma_destroy_id(socket->id);
  pthread_cond_destroy(&socket->changed);
  pthread_mutex_destroy(&socket->mutex);
  std::free(socket);
}

}  // namespace weft::verbs::cm::rs

using namespace weft::verbs::cm;
using namespace weft::verbs::cm::rs;

int rsocket(int domain, int type, int protocol) {
  const int flags = type & (SOCK_NONBLOCK | SOCK_CLOEXEC);
  type &= ~flags;
  const bool stream = type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP);
  const bool datagram = type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP);
  if ((domain != AF_INET && domain != AF_INET6) || (!stream && !datagram)) return result(ENOTSUP);
  Socket* socket = make_socket(nullptr, type, domain);
  if (socket == nullptr) return -1;
  if ((flags & SOCK_NONBLOCK) != 0) socket->flags = O_NONBLOCK;
  int status = rdma_create_id(nullptr, &socket->id, socket, stream ? RDMA_PS_TCP : RDMA_PS_UDP);
  if (status == 0) {
    socket->id->route.addr.src_addr.sa_family = static_cast<sa_family_t>(domain);
    socket->id->route.addr.dst_addr.sa_family = static_cast<sa_family_t>(domain);
    status = enter(*socket, socket->id->channel->fd) < 0 ? -1 : 0;
  }
  if (status == 0 && datagram) status = open_datagrams(*socket);
  if (status == 0) return socket->fd;
  const int error = errno;
  free_socket(socket);
  return result(error);
}

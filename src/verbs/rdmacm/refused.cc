// Calls that programs link to and that have nothing behind them here: ECE, and sockets over RDMA.
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstdarg>

#include "verbs/rdmacm/objects.h"

#pragma GCC visibility push(default)
#include <rdma/rsocket.h>
#pragma GCC visibility pop

using weft::verbs::cm::result;

int rdma_set_local_ece(rdma_cm_id*, ibv_ece*) {
  return result(EOPNOTSUPP);
}
int rdma_get_remote_ece(rdma_cm_id*, ibv_ece*) {
  return result(EOPNOTSUPP);
}

// rpoll takes descriptors of both kinds; with no socket over RDMA there are only the others.
int rpoll(pollfd* fds, nfds_t count, int timeout_ms) {
  return poll(fds, count, timeout_ms);
}
int rselect(int count, fd_set* reads, fd_set* writes, fd_set* excepts, timeval* timeout) {
  return select(count, reads, writes, excepts, timeout);
}
int rsocket(int, int, int) {
  return result(EOPNOTSUPP);
}
int rbind(int, const sockaddr*, socklen_t) {
  return result(EOPNOTSUPP);
}
int rlisten(int, int) {
  return result(EOPNOTSUPP);
}
int raccept(int, sockaddr*, socklen_t*) {
  return result(EOPNOTSUPP);
}
int rconnect(int, const sockaddr*, socklen_t) {
  return result(EOPNOTSUPP);
}
int rshutdown(int, int) {
  return result(EOPNOTSUPP);
}
int rclose(int) {
  return result(EOPNOTSUPP);
}
ssize_t rrecv(int, void*, size_t, int) {
  return result(EOPNOTSUPP);
}
ssize_t rrecvfrom(int, void*, size_t, int, sockaddr*, socklen_t*) {
  return result(EOPNOTSUPP);
}
ssize_t rrecvmsg(int, msghdr*, int) {
  return result(EOPNOTSUPP);
}
ssize_t rsend(int, const void*, size_t, int) {
  return result(EOPNOTSUPP);
}
ssize_t rsendto(int, const void*, size_t, int, const sockaddr*, socklen_t) {
  return result(EOPNOTSUPP);
}
ssize_t rsendmsg(int, const msghdr*, int) {
  return result(EOPNOTSUPP);
}
ssize_t rread(int, void*, size_t) {
  return result(EOPNOTSUPP);
}
ssize_t rreadv(int, const iovec*, int) {
  return result(EOPNOTSUPP);
}
ssize_t rwrite(int, const void*, size_t) {
  return result(EOPNOTSUPP);
}
ssize_t rwritev(int, const iovec*, int) {
  return result(EOPNOTSUPP);
}
int rgetpeername(int, sockaddr*, socklen_t*) {
  return result(EOPNOTSUPP);
}
int rgetsockname(int, sockaddr*, socklen_t*) {
  return result(EOPNOTSUPP);
}
int rsetsockopt(int, int, int, const void*, socklen_t) {
  return result(EOPNOTSUPP);
}
int rgetsockopt(int, int, int, void*, socklen_t*) {
  return result(EOPNOTSUPP);
}
int rfcntl(int, int, ...) {
  return result(EOPNOTSUPP);
}
off_t riomap(int, void*, size_t, int, int, off_t) {
  return result(EOPNOTSUPP);
}
int riounmap(int, void*, size_t) {
  return result(EOPNOTSUPP);
}
size_t riowrite(int, const void*, size_t, off_t, int) {
  errno = EOPNOTSUPP;
  return 0;
}

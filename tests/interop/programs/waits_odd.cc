// Descriptors that are closed, of io_uring, or sets in a circle, and times below zero: what poll, select and epoll say.
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interop/programs/waits_probe.h"
#include "interop/programs/waits_verbs.h"

namespace {

void say(const char* name, long result, int shown = 0) {
  printf("%s %ld %s %x\n", name, result, result < 0 ? strerrorname_np(errno) : "0", static_cast<unsigned>(shown));
  fflush(stdout);
}

int odd_descriptors() {
  fd_set set;
  timeval soon{0, 1000};
  FD_ZERO(&set);
  FD_SET(40, &set);
  say("select_closed", select(41, &set, nullptr, nullptr, &soon));
  say("select_closed_no_timeout", select(41, &set, nullptr, nullptr, nullptr));
  FD_ZERO(&set);
  FD_SET(900, &set);
  soon = {0, 1000};
  say("select_beyond_table", select(901, &set, nullptr, nullptr, &soon));
  FD_ZERO(&set);
  soon = {0, 1000};
  say("select_beyond_set", select(2000, &set, nullptr, nullptr, &soon));
  soon = {0, -5};
  say("select_negative_time", select(0, nullptr, nullptr, nullptr, &soon));
  soon = {0, 2'000'000};
  say("select_many_us", select(0, nullptr, nullptr, nullptr, &soon));
  say("select_negative_count", select(-1, nullptr, nullptr, nullptr, &soon));
  pollfd fds[2] = {{901, POLLIN, 0}, {-1, POLLIN, 0}};
  long ready = poll(fds, 2, 10);
  say("poll_closed", ready, fds[0].revents);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  say("poll_no_address", poll(reinterpret_cast<pollfd*>(8), 3, 10));
  const timespec bad{-1, 0};
  say("ppoll_negative_time", ppoll(nullptr, 0, &bad, nullptr));
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  listen(listener, 1);
  fds[0] = {listener, POLLIN, 0};
  fds[1] = {902, POLLIN, 0};
  ready = poll(fds, 2, 10);
  say("poll_closed_beside_listener", ready, fds[1].revents);
  io_uring_params wanted{};
  const auto ring = static_cast<int>(syscall(SYS_io_uring_setup, 8, &wanted));
  if (ring >= 0) {
    fds[0] = {ring, POLLIN, 0};
    ready = poll(fds, 1, 10);
    say("poll_io_uring", ready, fds[0].revents);
  }
  const int outer = epoll_create1(0), inner = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  say("epoll_itself", epoll_ctl(outer, EPOLL_CTL_ADD, outer, &event));
  say("epoll_inner", epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event));
  say("epoll_loop", epoll_ctl(inner, EPOLL_CTL_ADD, outer, &event));
  say("epoll_wait", epoll_wait(outer, &event, 1, 10));
  return 0;
}

// Whether a page that the program would bring in itself, and does not, fails a packet that is read from it. Where the
// kernel has no userfaultfd there is nothing to see.
int missing_pages() {
  const Verbs verbs;
  constexpr size_t kSize_B = 16 * 4096;
  void* const pages = mmap(nullptr, kSize_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int access = IBV_ACCESS_LOCAL_WRITE;
  const ibv_mr* const region = ibv_reg_mr(verbs.pd, pages, kSize_B, access);
  const auto faults = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
  uffdio_api api{};
  api.api = UFFD_API;
  uffdio_register range{};
  range.range = {reinterpret_cast<uintptr_t>(pages), kSize_B};
  range.mode = UFFDIO_REGISTER_MODE_MISSING;
  madvise(pages, kSize_B, MADV_DONTNEED);
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0 || ioctl(faults, UFFDIO_REGISTER, &range) != 0) {
    print("fails", 1);
    return 0;
  }
  ibv_sge part{reinterpret_cast<uint64_t>(pages), 64, region->lkey};
  ibv_send_wr wanted{}, *bad = nullptr;
  wanted.sg_list = &part;
  wanted.num_sge = 1;
  wanted.opcode = IBV_WR_RDMA_WRITE;
  wanted.send_flags = IBV_SEND_SIGNALED;
  wanted.wr.rdma = {reinterpret_cast<uint64_t>(verbs.memory), verbs.region->rkey};
  if (ibv_post_send(verbs.near, &wanted, &bad) != 0) return 1;
  ibv_wc entry{};
  while (ibv_poll_cq(verbs.cq, 1, &entry) == 0) {
  }
  print("fails", entry.status != IBV_WC_SUCCESS ? 1 : 0);
  return 0;
}

}  // namespace

extern const Case kOddCases[] = {
    {"odd_descriptors", odd_descriptors},
    {"missing_pages", missing_pages},
    {nullptr, nullptr},
};

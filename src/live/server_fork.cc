// How a process comes into a world by fork: it is announced (server_threads.cc) and holds what its parent holds. Many
// go on to execute another program, which closes the connection.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "live/os/process_end.h"
#include "live/os/signals.h"
#include "live/server.h"

namespace weft::live {

namespace {

// From exec to the first call: loading a program takes milliseconds, on a busy machine more.
constexpr std::chrono::seconds kExecPatience{10};
constexpr int kAsleepLooks = 5;  // a millisecond apart
constexpr int kQuietLooks = 3, kQuietLook_us = 200;

}  // namespace

std::optional<Reply> Server::answer_process_call(const std::shared_ptr<Thread>& thread, const Request& request,
                                                 Time_ps now_ps) {
  Process& process = *thread->process;
  switch (request.op) {
    case verbs::Op::kFork:
      return fork(thread, now_ps);
    case verbs::Op::kExec:
      process.executes = true;
      return Reply{};
    case verbs::Op::kStreamAdopt:
      return network_.adopt(process, request);
    case verbs::Op::kStreamSet:
      return network_.set(process, request);
    case verbs::Op::kStreamStatus:
      return network_.status(process, request);
    case verbs::Op::kStreamTcp:
      return network_.tcp_info(process, request);
    case verbs::Op::kCpuTime:
      return Reply::of(verbs::CpuTime{world_.lab().fabric_network ? 1U : 0U, 0, process.cpu_used_ps});
    default:
      return std::nullopt;
  }
}

Reply Server::fork(const std::shared_ptr<Thread>& parent_thread, Time_ps now_ps) {
  const std::shared_ptr<Process> parent = parent_thread->process;
  auto child = std::make_shared<Process>();
  child->node = parent->node;
  child->group = parent->group;
  child->parent_pid = parent->pid;
  child->name = parent->name;
  child->came = parent->came;
  child->page = SharedMemory::make("weft-process", sizeof(verbs::ProcessPage));
  if (wall_) wall_->adopt(*child);
  if (child->page.data() == nullptr || (wall_ && child->doorbell.fd < 0)) return Reply::failed(EAGAIN);
  Reply reply = announce(child, now_ps);
  if (reply.error != 0) return reply;
  // Queues and registered memory stay the parent's, as on Linux, where their pages do; commands reach them
  // (VerbsService::holder_of).
  child->last_handle = parent->last_handle;
  child->pds = parent->pds;
  child->ahs = parent->ahs;
  // Descriptors of timers and signals are inherited, timers that send signals are not.
  child->signal_sets = parent->signal_sets;
  for (const auto& [handle, timer] : parent->timers) {
    if (timer->made.expiry == verbs::Expiry::kRead) child->timers[handle] = timer;
  }
  CommunicationManager::fork(*parent, child);
  ManagementNetwork::fork(*parent, child);
  child->node->processes.push_back(child);
  return reply;
}

// In real time: a program that has been executed and waits in the kernel before its first call (for a pipe) is not of
// the world, one that runs is on its way.
void Server::await_end(const Process& process) {
  if (!process.executes) {
    await_exit(process.pid);
    return;
  }
  const auto until = std::chrono::steady_clock::now() + kExecPatience;
  for (int asleep = 0; asleep < kAsleepLooks && std::chrono::steady_clock::now() < until;) {
    pollfd fd{listener_, POLLIN, 0};
    poll(&fd, 1, 1);
    accept_clients();
    for (int client : pending_clients_) {
      ucred peer{};
      socklen_t size = sizeof(peer);
      pollfd hello{client, POLLIN, 0};
      if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == process.pid &&
          poll(&hello, 1, 0) == 1) {
        handle_hellos();
        return;
      }
    }
    if (is_exiting(process.pid)) {
      await_exit(process.pid);
      return;
    }
    asleep = is_asleep(process.pid) ? asleep + 1 : 0;
  }
}

// Programs that are not of the world run in real time: in `ib_write_bw | awk` awk goes on when the pipe has ended, and
// the shell when awk has. Before time goes on, children of those that wait for children have done what they can.
void Server::let_filters_run(const Node& node) {
  const auto until = std::chrono::steady_clock::now() + kExecPatience;
  for (int quiet = 0; quiet < kQuietLooks && std::chrono::steady_clock::now() < until;) {
    bool any = false, runs = false;
    for (const auto& thread : threads_) {
      if (!thread->lent || thread->process->node != &node) continue;
      for (const int child : children_of(thread->process->pid)) {
        const bool attached = std::any_of(node.processes.begin(), node.processes.end(),
                                          [&](const auto& each) { return each->pid == child; });
        if (attached || is_exiting(child)) continue;
        any = true;
        runs = runs || !is_asleep(child);
      }
    }
    if (!any) return;
    quiet = runs ? 0 : quiet + 1;
    usleep(kQuietLook_us);
  }
}

}  // namespace weft::live

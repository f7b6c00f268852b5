// Observation of a world that is up, besides its captures.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "live/server.h"
#include "results/results_json.h"
#include "world/read_out.h"

namespace weft::live {

namespace {

// Those that are not empty. Reads, and moves nothing.
std::vector<lab::QueueNow> queues_now(lab::World& world) {
  std::vector<lab::QueueNow> queues;
  for (std::uint32_t s = 0; s < world.switch_count(); ++s) {
    const fabric::Switch& device = world.fabric_switch(s);
    const lab::SwitchConfig& config = world.lab().switches[s];
    for (std::uint32_t p = 0; p < device.port_count(); ++p) {
      for (std::uint32_t q = 0; q < fabric::kClasses; ++q) {
        if (const std::uint64_t queue_B = device.queue_B(p, q); queue_B > 0)
          queues.push_back({config.name + ":" + config.ports[world.cabled_ports(s)[p]].name, q, queue_B});
      }
    }
  }
  return queues;
}

}  // namespace

// Counts of ports and switches of a world that somebody else drives.
void Server::send_results(Connection& connection) {
  lab::RunResult result;
  if (session_ != nullptr) {
    result = session_->snapshot();
    result.commands = commands();
  } else {
    result.end_ps = world_.engine().now_ps();
    lab::read_out(world_, {}, result);
  }
  const std::string text = lab::results_json(world_.lab(), result, queues_now(world_));
  SharedMemory file = SharedMemory::make("weft-results", text.size());
  if (file.data() == nullptr) {
    connection.send(Reply::failed(ENOMEM), 0);
    return;
  }
  std::memcpy(file.data(), text.data(), text.size());
  Reply reply;
  reply.fds[0] = file.fd();
  connection.send(reply, 0);
}

std::vector<lab::TakenCommand> Server::commands() const {
  return control_ ? control_->commands() : std::vector<lab::TakenCommand>();
}

void Server::take_commands(lab::LiveReader reader) {
  control_ = std::make_unique<Control>(*session_, std::move(reader));
  for (const auto& manager : managers_) manager->set_trace(control_->tracer());
  trace_.emit_to(control_->tracer(), *session_);
  for (const auto& view : views_)
    view->take_commands(
        [this](const std::vector<std::string>& words, Time_ps now_ps) { return control_->run(words, now_ps); });
}

// State of a link as a program on a host at its end finds it in /sys.
void Server::show_link(std::size_t link, Time_ps now_ps) {
  const lab::LinkConfig& config = world_.lab().links[link];
  for (const lab::PortRef& end : {config.a, config.b}) {
    if (!end.is_switch() && !world_.lab().hosts[end.host].outside) views_[end.host]->refresh(now_ps);
  }
}

Server::Group Server::group(int number) const {
  Group group;
  if (auto ended = ended_ps_.find(number); ended != ended_ps_.end()) group.ended_ps = ended->second;
  for (const auto& node : nodes_) {
    for (const auto& process : node->processes) {
      if (process->group != number) continue;
      group.threads += process->threads.size();
      for (const auto& thread : process->threads)
        group.all_parked &= thread->state == ThreadState::kParked && !thread->lent;
    }
  }
  group.all_parked &= group.threads > 0;
  return group;
}

void Server::kill_group(int number) const {
  for (const auto& node : nodes_) {
    for (const auto& process : node->processes) {
      if (process->group == number && !process->gone) kill(process->pid, SIGKILL);
    }
  }
}

Reply Server::status() const {
  verbs::WorldStatus head{};
  head.now_ps = wall_ ? arrival_ps() : world_.engine().now_ps();
  head.clock = wall_ ? verbs::Clock::kWall : verbs::Clock::kVirtual;
  head.behind_ps = wall_ ? wall_->behind_ps() : 0;
  head.deterministic = static_cast<std::uint32_t>(determinism_);
  std::vector<verbs::ProcessStatus> rows;
  for (const auto& node : nodes_) {
    for (const auto& process : node->processes) {
      if (process->gone) continue;
      verbs::ProcessStatus row{};
      row.pid = process->pid;
      row.threads = static_cast<std::uint32_t>(process->threads.size());
      row.qps = static_cast<std::uint32_t>(process->qps.size());
      std::snprintf(row.node, sizeof(row.node), "%s", world_.lab().hosts[node->index()].name.c_str());
      std::snprintf(row.name, sizeof(row.name), "%s", process->name.c_str());
      rows.push_back(row);
    }
  }
  std::vector<verbs::OutsideStatus> ports;
  for (const OutsideLine& line : outside_) {
    verbs::OutsideStatus port{};
    const lab::OutsideCounters& counters = world_.outside(line.host())->counters();
    std::snprintf(port.node, sizeof(port.node), "%s", world_.lab().hosts[line.host()].name.c_str());
    port.in = counters.in;
    port.out = counters.out;
    port.answered = counters.answered;
    port.bad_icrc = counters.bad_icrc;
    port.malformed = counters.malformed;
    port.not_for_lab = counters.not_for_lab;
    port.other = counters.other;
    port.overrun = counters.overrun;
    ports.push_back(port);
  }
  constexpr std::size_t kRoom_B = verbs::kMaxMessage_B - 4096;
  ports.resize(std::min(ports.size(), kRoom_B / 2 / sizeof(verbs::OutsideStatus)));
  rows.resize(std::min(rows.size(), kRoom_B / 2 / sizeof(verbs::ProcessStatus)));
  head.processes = static_cast<std::uint32_t>(rows.size());
  head.outside = static_cast<std::uint32_t>(ports.size());
  Reply reply = Reply::of(head);
  auto append = [&reply](const void* bytes, std::size_t size_B) {
    std::size_t at = reply.body.size();
    reply.body.resize(at + size_B);
    if (size_B > 0) std::memcpy(reply.body.data() + at, bytes, size_B);
  };
  append(rows.data(), rows.size() * sizeof(verbs::ProcessStatus));
  append(ports.data(), ports.size() * sizeof(verbs::OutsideStatus));
  return reply;
}

}  // namespace weft::live

#include "world/circular_wait.h"

#include <algorithm>
#include <map>

namespace weft::lab {

namespace {

struct StoppedQueue {
  std::uint32_t port = 0;  // port id
  std::vector<std::size_t> waits_for;
  enum class Seen : std::uint8_t { kNo, kOnPath, kDone } seen = Seen::kNo;
};

class WaitGraph {
 public:
  explicit WaitGraph(World& world) : world_(world) {
    // Queues by the port that their packets came in by, and who holds each port of a switch.
    for (std::uint32_t s = 0; s < world.switch_count(); ++s) add_queues(s);
    for (std::size_t i = 0; i < queues_.size(); ++i) connect(i);
  }

  std::vector<std::vector<std::string>> cycles() {
    std::vector<std::vector<std::string>> found;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      path_.clear();
      visit(i, found);
    }
    return found;
  }

 private:
  void add_queues(std::uint32_t s) {
    fabric::Switch& device = world_.fabric_switch(s);
    for (std::uint32_t p = 0; p < device.port_count(); ++p) {
      for (std::uint32_t q = 0; q < fabric::kClasses; ++q) {
        if ((device.paused_queues(p) >> q & 1) == 0 || device.queue_B(p, q) == 0) continue;
        queues_.push_back({device.setup().ports[p].port_id, {}, StoppedQueue::Seen::kNo});
        for (std::uint32_t in : device.feeders(p, q)) {
          if (device.xoff_groups(in) != 0) fed_by_[device.setup().ports[in].port_id].push_back(queues_.size() - 1);
        }
      }
    }
  }

  void connect(std::size_t i) {
    auto found = fed_by_.find(world_.peer(queues_[i].port));
    if (found != fed_by_.end()) queues_[i].waits_for = found->second;
  }

  // Depth first, without recursion: a chain may be as long as a fabric is large.
  void visit(std::size_t start, std::vector<std::vector<std::string>>& found) {
    using Seen = StoppedQueue::Seen;
    if (queues_[start].seen != Seen::kNo) return;
    std::vector<std::size_t> next_edge = {0};
    path_ = {start};
    queues_[start].seen = Seen::kOnPath;
    while (!path_.empty()) {
      StoppedQueue& queue = queues_[path_.back()];
      if (next_edge.back() == queue.waits_for.size()) {
        queue.seen = Seen::kDone;
        path_.pop_back();
        next_edge.pop_back();
        continue;
      }
      std::size_t next = queue.waits_for[next_edge.back()++];
      if (queues_[next].seen == Seen::kNo) {
        queues_[next].seen = Seen::kOnPath;
        path_.push_back(next);
        next_edge.push_back(0);
      } else if (queues_[next].seen == Seen::kOnPath) {
        auto first = std::find(path_.begin(), path_.end(), next);
        std::vector<std::string> ports;
        for (auto it = first; it != path_.end(); ++it) {
          ports.push_back(world_.book()[queues_[*it].port].name);
          queues_[*it].seen = Seen::kDone;
        }
        found.push_back(std::move(ports));
        next_edge.resize(static_cast<std::size_t>(first - path_.begin()));
        path_.erase(first, path_.end());
      }
    }
  }

  World& world_;
  std::vector<StoppedQueue> queues_;
  std::map<std::uint32_t, std::vector<std::size_t>> fed_by_;
  std::vector<std::size_t> path_;
};

}  // namespace

std::vector<std::vector<std::string>> circular_waits(World& world) {
  return WaitGraph(world).cycles();
}

}  // namespace weft::lab

#include "results/fair_shares.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace weft::lab {
namespace {

using workload::FlowOutcome;
using workload::FlowRow;

bool is_known(const FlowOutcome& flow) {
  return flow.row.state == workload::FlowState::kDone && flow.slowdown > 0 && flow.row.fct_ps() > 0;
}

// How many flows use a port, over time.
class Users {
 public:
  void add(const FlowRow& row) {
    changes_.emplace_back(row.start_ps, 1);
    changes_.emplace_back(row.end_ps, -1);
  }
  void settle() {
    std::sort(changes_.begin(), changes_.end());
    double sum = 0;
    int users = 0;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (i > 0) sum += users * static_cast<double>(changes_[i].first - changes_[i - 1].first);
      users += changes_[i].second;
      points_.push_back({changes_[i].first, sum});
    }
  }
  double mean(const FlowRow& row) const {
    return (until(row.end_ps) - until(row.start_ps)) / static_cast<double>(row.fct_ps());
  }

 private:
  struct Point {
    Time_ps time_ps;
    double sum;  // of users, times time, until then
  };
  double until(Time_ps time_ps) const {
    return std::lower_bound(points_.begin(), points_.end(), time_ps,
                            [](const Point& point, Time_ps time) { return point.time_ps < time; })
        ->sum;
  }

  std::vector<std::pair<Time_ps, int>> changes_;
  std::vector<Point> points_;
};

}  // namespace

FairShares::FairShares(std::span<const FlowOutcome> flows) : parts_(flows.size()) {
  std::map<std::string, Users> from, to;
  for (const FlowOutcome& flow : flows) {
    if (!is_known(flow)) continue;
    from[flow.from].add(flow.row);
    to[flow.to].add(flow.row);
  }
  for (auto* ends : {&from, &to}) {
    for (auto& [port, users] : *ends) users.settle();
  }
  // A flow alone has a slowdown of one, and of n that share a port each has n.
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const FlowOutcome& flow = flows[i];
    if (!is_known(flow)) continue;
    const double users = std::max(from[flow.from].mean(flow.row), to[flow.to].mean(flow.row));
    parts_[i] = users / flow.slowdown;
  }
}

std::vector<double> FairShares::sorted() const {
  std::vector<double> out;
  for (double part : parts_) {
    if (part > 0) out.push_back(part);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace weft::lab

// The checks of a job's graph.
#include "model/workloads/job_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

namespace weft::workload {
namespace {

constexpr std::size_t kMostJobProblems = 8;

class JobChecker {
 public:
  explicit JobChecker(JobGraph& graph) : graph_(graph) {}

  std::vector<JobProblem> check() {
    check_numbers();
    if (problems_.empty()) sort_programs();
    if (problems_.empty()) check_groups();
    if (problems_.empty()) check_pairs();
    if (problems_.empty()) check_progress();
    return std::move(problems_);
  }

 private:
  void problem(std::uint32_t rank, std::uint32_t node, std::string message, std::string remedy) {
    if (problems_.size() < kMostJobProblems) problems_.push_back({std::move(message), std::move(remedy), rank, node});
  }

  void check_numbers() {
    const auto ranks = static_cast<std::uint32_t>(graph_.ranks.size());
    for (const JobGroup& group : graph_.groups) {
      std::vector<std::uint32_t> sorted = group.ranks;
      std::sort(sorted.begin(), sorted.end());
      if (sorted.empty())
        problem(0, 0, fmt::format("group {} has no ranks", group.name), "name its ranks");
      else if (sorted.back() >= ranks)
        problem(0, 0, fmt::format("group {} has rank {}, the job has {}", group.name, sorted.back(), ranks),
                fmt::format("ranks are 0 to {}", ranks - 1));
      else if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        problem(0, 0, fmt::format("group {} has a rank twice", group.name), "name each rank once");
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const JobRank& own = graph_.ranks[rank];
      for (std::uint32_t peer : own.peers) {
        if (peer >= ranks || peer == rank)
          problem(rank, 0, fmt::format("rank {} has a send or receive with rank {}", rank, peer),
                  fmt::format("name another rank, of 0 to {}", ranks - 1));
      }
      for (std::uint32_t group : own.groups) {
        if (group >= graph_.groups.size()) {
          problem(rank, 0, fmt::format("rank {} uses group {} of {}", rank, group, graph_.groups.size()), "");
          continue;
        }
        const std::vector<std::uint32_t>& members = graph_.groups[group].ranks;
        if (std::find(members.begin(), members.end(), rank) == members.end())
          problem(rank, 0, fmt::format("rank {} is not in group {} that it uses", rank, graph_.groups[group].name),
                  "add it to the group");
      }
      const std::vector<JobNode>& nodes = graph_.program_of(rank).nodes;
      for (std::uint32_t node = 0; node < nodes.size(); ++node) {
        const bool collective = nodes[node].kind == JobNodeKind::kCollective;
        if (nodes[node].kind != JobNodeKind::kCompute &&
            nodes[node].target >= (collective ? own.groups.size() : own.peers.size()))
          problem(rank, node, fmt::format("rank {}: {} has no group or peer", rank, graph_.names[nodes[node].name]),
                  "give it a group or a peer");
      }
    }
  }

  // The first of those that can be next, in the order in which they were given (Kahn).
  void sort_programs() {
    for (std::uint32_t rank = 0; rank < graph_.ranks.size(); ++rank) {
      const std::uint32_t program = graph_.ranks[rank].program;
      if (sorted_.size() <= program) sorted_.resize(program + 1);
      if (sorted_[program]) continue;
      sorted_[program] = true;
      sort_program(rank, graph_.programs[program]);
    }
  }

  void sort_program(std::uint32_t rank, JobProgram& program) {
    const auto count = static_cast<std::uint32_t>(program.nodes.size());
    std::vector<std::uint32_t> left(count), first(count + 1), after(program.before.size());
    bool in_order = true;
    for (std::uint32_t node = 0; node < count; ++node) {
      left[node] = program.nodes[node].before_count;
      for (std::uint32_t before : program.before_of(node)) {
        if (before >= count) {
          problem(rank, node,
                  fmt::format("{} waits for node {}, which is not there", graph_.describe(rank, node), before),
                  "name a node of the same rank");
          return;
        }
        ++first[before + 1];
        in_order = in_order && before < node;
      }
    }
    if (in_order) return;
    for (std::uint32_t node = 0; node < count; ++node) first[node + 1] += first[node];
    std::vector<std::uint32_t> fill(first.begin(), first.end() - 1);
    for (std::uint32_t node = 0; node < count; ++node) {
      for (std::uint32_t before : program.before_of(node)) after[fill[before]++] = node;
    }
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t node = 0; node < count; ++node) {
      if (left[node] == 0) ready.push(node);
    }
    std::vector<std::uint32_t> order, place(count);
    while (!ready.empty()) {
      const std::uint32_t node = ready.top();
      ready.pop();
      place[node] = static_cast<std::uint32_t>(order.size());
      order.push_back(node);
      for (std::uint32_t i = first[node]; i < first[node + 1]; ++i) {
        if (--left[after[i]] == 0) ready.push(after[i]);
      }
    }
    if (order.size() < count) return report_cycle(rank, program, left);
    JobProgram sorted;
    for (std::uint32_t node : order) {
      std::vector<std::uint32_t> before;
      for (std::uint32_t each : program.before_of(node)) before.push_back(place[each]);
      sorted.add(program.nodes[node], before);
    }
    program = std::move(sorted);
  }

  // What cannot be next waits for a cycle or is in it: going back from one of them ends up in it.
  void report_cycle(std::uint32_t rank, const JobProgram& program, const std::vector<std::uint32_t>& left) {
    const auto stuck = [&](std::uint32_t node) { return left[node] > 0; };
    std::uint32_t node = 0;
    while (!stuck(node)) ++node;
    std::vector<bool> seen(program.nodes.size());
    const auto back = [&](std::uint32_t from) {
      const auto before = program.before_of(from);
      return *std::find_if(before.begin(), before.end(), stuck);
    };
    for (; !seen[node]; node = back(node)) seen[node] = true;
    const std::uint32_t begin = node;
    std::string text = graph_.names[program.nodes[begin].name];
    std::size_t shown = 1;
    for (node = back(begin); node != begin && shown < kMostJobProblems; node = back(node), ++shown)
      text += ", which waits for " + graph_.names[program.nodes[node].name];
    problem(rank, begin, fmt::format("rank {}: a cycle: {}, which waits for the first", rank, text),
            "remove one of these dependencies");
  }

  // What a rank issues in one of its slots, in order.
  std::vector<std::uint32_t> issued(std::uint32_t rank, JobNodeKind kind, std::uint32_t slot) const {
    std::vector<std::uint32_t> list;
    const JobProgram& program = graph_.program_of(rank);
    for (std::uint32_t node = 0; node < program.nodes.size(); ++node) {
      if (program.nodes[node].kind == kind && program.nodes[node].target == slot) list.push_back(node);
    }
    return list;
  }

  std::optional<std::uint32_t> slot_of(std::uint32_t rank, std::uint32_t group) const {
    const auto& groups = graph_.ranks[rank].groups;
    const auto found = std::find(groups.begin(), groups.end(), group);
    if (found == groups.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - groups.begin());
  }

  void check_groups() {
    // By program and slot: each is listed once, and two equal pairs need no comparison.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> lists;
    const auto list_of = [&](std::uint32_t rank, std::uint32_t slot) -> const std::vector<std::uint32_t>& {
      const auto [at, is_new] = lists.try_emplace({graph_.ranks[rank].program, slot});
      if (is_new) at->second = issued(rank, JobNodeKind::kCollective, slot);
      return at->second;
    };
    for (std::uint32_t group = 0; group < graph_.groups.size(); ++group) {
      const JobGroup& own = graph_.groups[group];
      const std::uint32_t first = own.ranks.front();
      const auto first_slot = slot_of(first, group);
      for (std::uint32_t rank : own.ranks) {
        const auto slot = slot_of(rank, group);
        if (first_slot && slot && *slot == *first_slot && graph_.ranks[rank].program == graph_.ranks[first].program)
          continue;
        static const std::vector<std::uint32_t> kNothing;
        compare(own, first, first_slot ? list_of(first, *first_slot) : kNothing, rank,
                slot ? list_of(rank, *slot) : kNothing);
      }
    }
  }

  void compare(const JobGroup& group, std::uint32_t a, const std::vector<std::uint32_t>& at_a, std::uint32_t b,
               const std::vector<std::uint32_t>& at_b) {
    const auto same = [&](std::uint32_t x, std::uint32_t y) {
      const JobNode &left = graph_.program_of(a).nodes[x], &right = graph_.program_of(b).nodes[y];
      return left.collective == right.collective && left.size_B == right.size_B && left.root == right.root;
    };
    const std::size_t both = std::min(at_a.size(), at_b.size());
    for (std::size_t i = 0; i < both; ++i) {
      if (same(at_a[i], at_b[i])) continue;
      problem(b, at_b[i],
              fmt::format("the ranks of {} do not issue the same collectives: number {} is {}, and {}", group.name,
                          i + 1, graph_.describe(a, at_a[i]), graph_.describe(b, at_b[i])),
              "all ranks of a group issue the same collectives in the same order");
      return;
    }
    if (at_a.size() == at_b.size()) return;
    const bool a_has_more = at_a.size() > at_b.size();
    const std::uint32_t rank = a_has_more ? a : b, node = a_has_more ? at_a[both] : at_b[both];
    problem(rank, node,
            fmt::format("{} is number {} of {}; rank {} issues {}", graph_.describe(rank, node), both + 1, group.name,
                        a_has_more ? b : a, both),
            "all ranks of a group issue the same collectives in the same order");
  }

  void check_pairs() {
    for (std::uint32_t rank = 0; rank < graph_.ranks.size(); ++rank) {
      const JobRank& own = graph_.ranks[rank];
      for (std::uint32_t slot = 0; slot < own.peers.size(); ++slot) {
        const std::uint32_t peer = own.peers[slot];
        const auto& back = graph_.ranks[peer].peers;
        const auto found = std::find(back.begin(), back.end(), rank);
        const auto peer_slot = static_cast<std::uint32_t>(found - back.begin());
        const bool known = found != back.end();
        check_pair(rank, issued(rank, JobNodeKind::kSend, slot), peer,
                   known ? issued(peer, JobNodeKind::kReceive, peer_slot) : std::vector<std::uint32_t>{});
        if (known) continue;
        // Nobody else will look at what it receives from there.
        check_pair(peer, {}, rank, issued(rank, JobNodeKind::kReceive, slot));
      }
    }
  }

  void check_pair(std::uint32_t from, const std::vector<std::uint32_t>& sends, std::uint32_t to,
                  const std::vector<std::uint32_t>& receives) {
    const std::size_t both = std::min(sends.size(), receives.size());
    for (std::size_t i = 0; i < both; ++i) {
      const JobNode &send = graph_.program_of(from).nodes[sends[i]],
                    &receive = graph_.program_of(to).nodes[receives[i]];
      if (send.size_B == receive.size_B && send.tag == receive.tag) continue;
      problem(to, receives[i],
              fmt::format("{}, tag {}, meets {}, tag {}", graph_.describe(from, sends[i]), send.tag,
                          graph_.describe(to, receives[i]), receive.tag),
              "sends and receives between two ranks match in order, size and tag");
      return;
    }
    if (sends.size() == receives.size()) return;
    const bool more_sends = sends.size() > receives.size();
    const std::uint32_t rank = more_sends ? from : to, node = more_sends ? sends[both] : receives[both];
    problem(rank, node,
            fmt::format("{} has no {} at rank {}", graph_.describe(rank, node), more_sends ? "receive" : "send",
                        more_sends ? to : from),
            "sends and receives between two ranks match in order, size and tag");
  }

  // Runs all ranks without time. What is left when nothing can go on waits for ever.
  void check_progress();

  JobGraph& graph_;
  std::vector<bool> sorted_;
  std::vector<JobProblem> problems_;
};

// A rank in that run: which of its nodes have ended, and how far each stream is.
struct DryRank {
  std::vector<std::vector<std::uint32_t>> streams;  // nodes, in order
  std::vector<std::uint32_t> next;                  // by stream
  std::vector<bool> ended;
};

void JobChecker::check_progress() {
  const std::size_t count = graph_.ranks.size();
  std::vector<DryRank> ranks(count);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const JobStreams streams(graph_.ranks[rank]);
    const JobProgram& program = graph_.program_of(rank);
    DryRank& own = ranks[rank];
    own.streams.resize(streams.count());
    own.next.resize(streams.count());
    own.ended.resize(program.nodes.size());
    for (std::uint32_t node = 0; node < program.nodes.size(); ++node)
      own.streams[streams.of(program.nodes[node])].push_back(node);
  }
  std::vector<std::uint32_t> arrived(graph_.groups.size());
  std::vector<std::vector<bool>> waits(count);
  for (std::size_t rank = 0; rank < count; ++rank) waits[rank].resize(ranks[rank].streams.size());
  std::vector<std::uint32_t> work(count);
  for (std::uint32_t rank = 0; rank < count; ++rank) work[rank] = rank;
  std::vector<bool> listed(count, true);
  const auto list = [&](std::uint32_t rank) {
    if (!listed[rank]) work.push_back(rank);
    listed[rank] = true;
  };
  const auto end = [&](std::uint32_t rank, std::uint32_t stream) {
    DryRank& own = ranks[rank];
    own.ended[own.streams[stream][own.next[stream]++]] = true;
    waits[rank][stream] = false;
    list(rank);
  };
  while (!work.empty()) {
    const std::uint32_t rank = work.back();
    work.pop_back();
    listed[rank] = false;
    DryRank& own = ranks[rank];
    const JobProgram& program = graph_.program_of(rank);
    const JobStreams streams(graph_.ranks[rank]);
    for (std::uint32_t stream = 0; stream < own.streams.size(); ++stream) {
      if (own.next[stream] == own.streams[stream].size() || waits[rank][stream]) continue;
      const std::uint32_t node = own.streams[stream][own.next[stream]];
      const auto before = program.before_of(node);
      if (!std::all_of(before.begin(), before.end(), [&](std::uint32_t each) { return own.ended[each]; })) continue;
      const JobNode& what = program.nodes[node];
      if (what.kind == JobNodeKind::kCompute) {
        end(rank, stream);
      } else if (what.kind == JobNodeKind::kCollective) {
        const std::uint32_t group = graph_.ranks[rank].groups[what.target];
        waits[rank][stream] = true;
        const std::vector<std::uint32_t>& members = graph_.groups[group].ranks;
        if (++arrived[group] < members.size()) continue;
        arrived[group] = 0;
        for (std::uint32_t member : members) end(member, 2 + *slot_of(member, group));
      } else {
        const std::uint32_t peer = graph_.ranks[rank].peers[what.target];
        const auto& back = graph_.ranks[peer].peers;
        const auto slot = static_cast<std::uint32_t>(std::find(back.begin(), back.end(), rank) - back.begin());
        const std::uint32_t there =
            2 + JobStreams(graph_.ranks[peer]).groups + 2 * slot + (what.kind == JobNodeKind::kSend ? 1 : 0);
        waits[rank][stream] = true;
        if (!waits[peer][there]) continue;
        end(rank, stream);
        end(peer, there);
      }
    }
  }
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    for (std::uint32_t stream = 0; stream < ranks[rank].streams.size(); ++stream) {
      if (!waits[rank][stream]) continue;
      problem(rank, ranks[rank].streams[stream][ranks[rank].next[stream]],
              fmt::format("the job would hang: {} waits for other ranks, which wait for this one",
                          graph_.describe(rank, ranks[rank].streams[stream][ranks[rank].next[stream]])),
              "issue collectives of different groups in one order on all ranks");
      return;
    }
  }
}

}  // namespace

std::vector<JobProblem> settle_job(JobGraph& graph) {
  return JobChecker(graph).check();
}

}  // namespace weft::workload

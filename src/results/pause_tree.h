// Pauses of a run as a tree: each stop of a port with the stop that caused it, down to the queue or the NIC where it
// began. A switch that sends XOFF recorded the queue which held most of what had come in; where that queue was stopped
// itself at the time, or so shortly before that what it held then was still there, its stop is the cause.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/evidence.h"

namespace weft::lab {

struct Stop {
  std::string by;       // port that sent XOFF
  std::string stopped;  // its peer
  unsigned classes = 0;
  Time_ps from_ps = 0, to_ps = 0;
  std::string queue_port;  // empty: of a NIC, or not recorded
  int queue = -1;
  std::uint64_t queue_B = 0, group_B = 0, egress_B = 0;  // as of PauseEvidence
  std::string nic_cause;                                 // of a NIC
  std::string ended;                                     // how; empty: it lasted to the end
  std::size_t cause = SIZE_MAX;                          // index of the stop behind it
  std::size_t level = 0;                                 // stops between it and the root
  std::string root;                                      // port whose queue was full, or NIC; empty: not recorded
  bool circular = false;                                 // leads back to itself
  bool unknown = false;                                  // what was behind it came after the end of a full log
};

class PauseTree {
 public:
  explicit PauseTree(const Evidence& evidence);

  const std::vector<Stop>& stops() const { return stops_; }
  // Indices of the stops of one port, in order of time.
  const std::vector<std::size_t>& of_port(const std::string& stopped) const;
  // Of the time in which this port was stopped between two times: the root that had most of it, and how much.
  struct Share {
    std::string root;
    Time_ps time_ps = 0, all_ps = 0;
    std::size_t stop = SIZE_MAX;  // the first of that root
  };
  Share longest(const std::string& stopped, Time_ps from_ps, Time_ps to_ps) const;

 private:
  void pair_up(const Evidence& evidence);
  void find_roots(const Evidence& evidence);
  // One that lasts at that time or ended at most so long before; SIZE_MAX: none.
  std::size_t stop_at(const std::string& port, Time_ps at_ps, Time_ps before_ps) const;

  std::vector<Stop> stops_;
  std::map<std::string, std::vector<std::size_t>> of_port_;
};

}  // namespace weft::lab

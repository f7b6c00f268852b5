// Where each nanosecond of one message went; tools/perftest/message_budget.h makes it.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace weft::workload {

struct MessageLine {
  std::string name;   // "serialisation"
  std::string where;  // the link, "a:p0 - leaf1:2"; empty at a host
  Time_ps there_ps = 0, back_ps = 0;
  bool avoidable = false;  // distance, a queue or contention
  std::string note;
};

struct MessageBudget {
  std::vector<MessageLine> lines;  // in the order in which they happen; empty: nobody asked
  Time_ps total_ps = 0;            // of the chain: from one post to what the test measures
  int measured_of_it = 1;          // the test reports this part of it: 2 is half of the round trip
  Time_ps measured_ps = 0;         // what the test reports; 0: the message of a bandwidth test, which reports no time
  const char* measured = "t_typical";
  Time_ps unexplained_ps = 0;
  Time_ps avoidable_ps = 0;
  bool healthy = false;  // at most 5 % of it could be avoided
};

}  // namespace weft::workload

// Where each nanosecond of one message went, both ways: the chain of spans that the model recorded for it
// (nic/record/message_trace.h), by stage and link. The lines add up to what was measured; what no stage explains is a
// line of its own. Some stages are there on any host and path, others are distance, queues and contention: without the
// latter it is what this NIC, host and path could give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "nic/record/message_trace.h"

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

MessageBudget message_budget(const std::vector<nic::Span>& spans, int measured_of_it, Time_ps measured_ps,
                             const std::vector<std::string>& port_names);

// One sentence: healthy, or what could be avoided.
std::string message_verdict(const MessageBudget& budget);
std::string message_text(const MessageBudget& budget, std::uint64_t size_B);

}  // namespace weft::workload

// Where each nanosecond of one message went, both ways: the chain of spans that the model recorded for it
// (nic/record/message_trace.h), by stage and link. The lines add up to what was measured; what no stage explains is a
// line of its own. Some stages are there on any host and path, others are distance, queues and contention: without the
// latter it is what this NIC, host and path could give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "spec/message_budget.h"
#include "spec/message_span.h"

namespace weft::workload {

MessageBudget message_budget(const std::vector<nic::Span>& spans, int measured_of_it, Time_ps measured_ps,
                             const std::vector<std::string>& port_names);

// One sentence: healthy, or what could be avoided.
std::string message_verdict(const MessageBudget& budget);
std::string message_text(const MessageBudget& budget, std::uint64_t size_B);

}  // namespace weft::workload

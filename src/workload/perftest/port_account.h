// The account of a stretch of time in which one port sends payload to another (perftest_budget.h): what both had
// counted before and what they have counted after it. Looks at devices of both hosts: between two phases, or where the
// world has one domain.
#pragma once

#include <cstdint>
#include <functional>

#include "nic/device.h"
#include "tools/perftest/budget.h"

namespace weft::workload {

// What a port has sent and waited for between two looks at its counters.
PortAccount account_between(const nic::Counters& before, const nic::Counters& after);
// Time that was spent at limits of PCIe, by what made them limits (PciePath::causes_of); `times` by PcieLimit.
std::array<double, nic::kPcieLimits> pcie_causes(const nic::PcieFunction& function, const nic::PcieTimes& times,
                                                 double line_ps_per_B, bool writes);

using CountLosses = std::function<LossAccount()>;

// A queue pair of one end.
struct AccountEnd {
  nic::Device* device = nullptr;
  std::uint32_t qpn = 0;
  std::uint32_t ports = 1;  // of a bond, that the sender's queue pairs use
};

// What a receiver and the rest of the world have counted so far.
struct Surroundings {
  Time_ps paused_ps = 0;  // the class that the receiver has stopped longest
  std::uint64_t discards = 0;
  nic::PcieTimes write_times{};
  LossAccount lost;
};
Surroundings surroundings_of(const AccountEnd& receiver, const CountLosses& losses);

// Adds to what the sender's port counted: its line, what waits for payload were for, and what the receiver and losses
// had to do with it, from `before` to now.
void add_surroundings(PortAccount& account, const AccountEnd& sender, const AccountEnd& receiver,
                      const Surroundings& before, const CountLosses& losses, std::uint64_t payload_B);

// The account of one flow, from its first post to its last completion.
class FlowAccount {
 public:
  // Right after its first message was posted.
  FlowAccount(const AccountEnd& sender, const AccountEnd& receiver, const CountLosses& losses);
  void end(const CountLosses& losses, Time_ps elapsed_ps, std::uint64_t payload_B);
  const PortAccount& account() const { return account_; }

 private:
  AccountEnd sender_, receiver_;
  nic::Counters before_;
  Surroundings around_;
  Time_ps idle_before_ps_;  // the port is idle so long when the first bit can leave: what it counts next has it, too
  PortAccount account_;
};

}  // namespace weft::workload

// Two ports of one card that are one RDMA device (RoCE LAG with queue affinity): programs hold the first. Queue pairs
// take the ports in turn when they are created and send all that they send by theirs; what comes in for them may come
// by either. Ports have their own MAC, receive buffer, flow control and counters; completion queues, memory and
// address are the device's. A port without a signal sends by the other's cable until its own is back.
#pragma once

#include <span>
#include <vector>

#include "base/time.h"
#include "nic/multicast.h"
#include "nic/port_numbers.h"
#include "nic/queues/completion_queue.h"
#include "nic/queues/shared_receive_queue.h"
#include "spec/nic_counters.h"

namespace weft::nic {

class Device;
struct Port;

// State that the two share.
struct SharedByPorts {
  CompletionQueues cqs;
  SharedReceiveQueues srqs;
  MulticastMembers members;
  std::uint32_t general_services_qpn = 0;  // 0: none
};

// State of each port.
struct BondPort {
  Port* sibling = nullptr;  // null: in no bond
  bool is_second = false;
  bool second_is_next = false;  // of the first: who gets the next queue pair
  Counters sent_by_own;         // while it sends by the other's cable: what is not that one's
};

struct Bond {
  // Counters of the ports of these queue pairs: of a bond's two the sums, and the mean of the time that they were
  // idle.
  static Counters counters_of(const Device& device, std::span<const std::uint32_t> qpns);
  static std::uint32_t ports_of(const Device& device, std::span<const std::uint32_t> qpns);  // how many
  // Start of the count of what its ports wait for.
  static void count_idle_from(Device& device, Time_ps at_ps);
  static void join(Port& first, Port& second);
  // The cable of `port` has lost its signal, or has it again.
  static void set_link(Port& port, bool up, Time_ps now_ps);
  // After each event of one of them: where both send by one cable, none begins before the other's frame has left.
  static void settle(Port& port, Time_ps now_ps);

 private:
  static void choose_wire(Port& port, Time_ps now_ps);
};

}  // namespace weft::nic

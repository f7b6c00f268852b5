// The QoS contract of one switch, neutral of any vendor: DSCP -> priority -> traffic class (the priority's number) ->
// queue and priority group -> PFC -> ECN, scheduler, buffers, watchdog, and for each cabled port its rate, FEC, MTU,
// cable and headroom. It is what the simulation of the same lab runs with; every back end maps it, and the readers of
// emitted files make it again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/cable.h"
#include "gear/emit/emit.h"
#include "model/lab.h"
#include "spec/switch_config.h"
#include "spec/switch_model.h"

namespace weft::gear {

struct ContractPort {
  std::string name;          // of the lab: "swp1"
  std::string sonic_name;    // "Ethernet0": by the first lane
  std::uint32_t number = 0;  // on the front, from 1
  std::int64_t rate_bps = 0;
  lab::Fec fec = lab::Fec::kNone;
  std::int64_t mtu_B = 0;  // largest IP packet
  lab::CableKind cable = lab::CableKind::kDac;
  std::int64_t length_mm = 0;
  std::array<std::int64_t, fabric::kClasses> headroom_B{};  // by group: what may arrive after XOFF
  std::string peer;                                         // "h0:p0", by the names of the lab
  std::optional<lab::PortRef> peer_port;                    // of a switch
  bool to_host = false;
  bool up = true;  // by its configuration
  // Only in a file that was read: values of this port that differ from those of the switch, by name as contract_values
  // has them; "nothing" where it lacks one.
  std::vector<std::pair<std::string, std::string>> own;
};

struct Contract {
  std::string node;
  fabric::SwitchModel model;
  fabric::SwitchQos qos;
  std::vector<ContractPort> ports;  // with a cable, by number
  // Only in a file that was read; a lab's switches trust a field, and watch every priority with PFC.
  bool trusts = true;
  std::optional<std::uint8_t> watched_mask;

  bool is_pfc(std::size_t priority) const { return (qos.pfc_receive_mask >> priority & 1) != 0; }
  std::vector<std::uint8_t> pfc_priorities() const;
  std::vector<std::uint8_t> queues() const;  // that some priority uses
  std::vector<std::uint8_t> groups() const;
};

// Contract of a switch, not of a forwarder.
Contract contract_of(const lab::Lab& lab, std::uint32_t device);

// Limits of this ASIC that the contract exceeds: lossless classes, headroom, features.
std::vector<EmitProblem> contract_problems(const Contract& contract);
// Parts that no target can express: simulated details without a knob on real gear.
std::vector<std::string> contract_gaps(const Contract& contract);

// The DSCPs of a priority: "24-31,48".
std::string dscp_ranges(const fabric::SwitchQos& qos, std::size_t priority);
// The table DSCP -> priority -> TC -> queue -> PG -> PFC -> ECN, each line behind `prefix`.
std::string chain_table(const Contract& contract, std::string_view prefix);

// Everything that acts, by name, in a fixed order: two contracts are equal when their values are.
using ContractValues = std::vector<std::pair<std::string, std::string>>;
ContractValues contract_values(const Contract& contract);
// "queue 3 ecn: 150000..1500000 B 100 % here, off there"; empty when they are equal. What a port of `b` has for itself
// ("Ethernet4 queue 3 ecn") is held against what all ports of `a` have.
std::vector<std::string> contract_differences(const Contract& a, std::string_view name_a, const Contract& b,
                                              std::string_view name_b);

// The contract as a `qos` section of a lab file.
std::string contract_yaml(const Contract& contract);

// "Ethernet0" of port 1, "Ethernet4" of port 2 where ports have four lanes.
std::string sonic_port_name(const fabric::SwitchModel& model, std::uint32_t number);
std::int64_t whole_ms(Time_ps time_ps);             // rounded up
std::int64_t whole_percent(std::uint32_t ppb);      // rounded, at least 1
std::int64_t whole_metres(std::int64_t length_mm);  // rounded up, at least 1

}  // namespace weft::gear

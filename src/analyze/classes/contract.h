// With a lab: is the QoS contract kept on the wire? DSCP, VLAN priority, ECN codepoint and MTU of every RoCE packet
// against what the lab says of the port that sent it, classes of pause frames against the lossless ones. What a switch
// rewrites on the way shows at the points behind it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/findings/finding.h"
#include "analyze/frames/addresses.h"
#include "analyze/streams/streams.h"

namespace weft::analyze {

// Contract of a lab, in terms of the wire alone.
struct ContractPort {
  std::string name;  // "h0:p0"
  wire::IpAddress address{};
  std::uint64_t dscps = 0;  // bit n: RoCE data, or an answer to it, may carry DSCP n
  std::uint64_t cnp_dscps = 0;
  std::uint8_t priorities = 0;  // bit n: VLAN priority n, where there is a tag
  std::uint8_t cnp_priorities = 0;
  bool tagged = false;
  bool ect = true;
  std::uint32_t path_mtu_B = 0;  // the largest that its interface MTU allows
};
struct Contract {
  std::string lab;
  std::vector<ContractPort> ports;
  std::map<std::string, std::uint8_t> lossless;  // classes that may be paused, by port as interfaces are named
  std::uint8_t lossless_anywhere = 0;            // of captures whose interfaces have other names
};

class ContractCheck {
 public:
  void use(Contract contract) { contract_ = std::move(contract); }
  bool is_used() const { return !contract_.ports.empty(); }

  void see(const Frame& frame, const Addresses& addresses);
  void see_pause(const Frame& frame, const std::string& interface);
  void finish(const Addresses& addresses, const Streams& streams, Findings& findings) const;

 private:
  enum Kind : std::uint8_t { kDscp, kPriority, kEcn, kPauseClass, kUnknown, kSmallMtu, kUnwantedEcn, kKinds };
  struct Seen {
    std::uint64_t count = 0;
    std::string what;  // of the first
    std::vector<Evidence> first;
  };
  const ContractPort* port_of(AddressId address, const Addresses& addresses);
  void note(Kind kind, const std::string& place, const Frame& frame, std::string what);
  void judge_mtu(const Addresses& addresses, const Streams& streams, Findings& findings) const;

  Contract contract_;
  std::vector<std::int32_t> port_by_address_;  // -2: not looked up yet, -1: none
  std::array<std::map<std::string, Seen>, kKinds> seen_;
  std::uint64_t frames_ = 0, pauses_ = 0;
};

}  // namespace weft::analyze

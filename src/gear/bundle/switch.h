// State of a switch by its bundle (docs/doctor.md), in the words of SONiC's config_db.json; the readers of other
// systems (switch_readers.h) translate. The QoS chain of a port can be followed: DSCP -> traffic class -> queue,
// priority group, PFC, headroom, ECN.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gear/bundle/text.h"

namespace weft::gear {

enum class SwitchOs { kSonic, kCumulus, kEos, kNxos, kLinux };

using NumberMap = std::map<std::uint32_t, std::uint32_t>;

struct SwitchPort {
  std::string name, alias;
  Maybe<std::uint64_t> speed_Mbps, mtu;
  Maybe<std::string> fec, admin, oper;
  Maybe<std::uint8_t> pfc;                                           // pfc_enable
  Maybe<std::string> dscp_map, queue_map, group_map, pfc_queue_map;  // names of tables
  std::map<std::uint32_t, Seen<std::string>> group_profile, queue_wred;
  std::string neighbour_host, neighbour_port;  // by LLDP, DEVICE_NEIGHBOR or the description
  // of `show`
  std::map<std::uint32_t, Seen<std::uint64_t>> pfc_rx, pfc_tx, group_drops;
  std::map<std::uint32_t, Seen<std::string>> storms;  // queue -> "1/0", where a storm was detected
  Maybe<std::uint64_t> rx_errors;
};

struct NamedMap {
  NumberMap map;
  Evidence from;
};

struct SwitchState {
  std::string name, file;
  SwitchOs os = SwitchOs::kSonic;
  std::map<std::string, SwitchPort> ports;  // front panel ports only
  std::map<std::string, NamedMap> dscp_to_tc, tc_to_queue, tc_to_group, pfc_to_queue;
  std::map<std::string, Seen<bool>> wred_marks;        // profile -> it marks ECN
  std::map<std::string, Seen<bool>> profile_lossless;  // BUFFER_PROFILE with xoff
  bool has_config = false, has_buffers = false;
  // SONiC's buffer manager makes lossless profiles from CABLE_LENGTH while it runs: a file that was saved before has
  // none.
  bool sizes_headroom = false;

  // The port of this name, made where there is none; nothing where a switch cannot have as many.
  SwitchPort* port(const std::string& name);
  // Treatment of a packet of this DSCP by the port; nothing where the tables do not say.
  std::optional<std::uint32_t> traffic_class(const SwitchPort& port, std::uint32_t dscp) const;
  std::optional<std::uint32_t> queue(const SwitchPort& port, std::uint32_t tc) const;
  std::optional<std::uint32_t> group(const SwitchPort& port, std::uint32_t tc) const;
};

// config_db.json alone.
tl::expected<SwitchState, lab::Problem> read_config_db(std::string_view text, const std::string& file);
// System that a bundle was made on, where that is a switch: by the commands that it has sections of.
std::optional<SwitchOs> switch_os(const Bundle& bundle);
tl::expected<SwitchState, lab::Problem> read_switch(const Bundle& bundle);

// In show.cc: one table of `show`.
void read_show(const Bundle& bundle, const BundleSection& section, SwitchState& state);

}  // namespace weft::gear

#include "gear/doctor/switch_commands.h"

#include <fmt/format.h>

namespace weft::gear {

namespace {

struct TaskText {
  SwitchTask task;
  const char* text;
};

constexpr TaskText kSonicTasks[] = {
    {SwitchTask::kUp, "config interface startup {port}"},
    {SwitchTask::kDown, "config interface shutdown {port}"},
    {SwitchTask::kSpeed, "config interface speed {port} {n}"},
    {SwitchTask::kMtu, "config interface mtu {port} 9100"},
    {SwitchTask::kFec, "config interface fec {port} {word}"},
    {SwitchTask::kPfcOn, "config interface pfc priority {port} {n} on"},
    {SwitchTask::kPfcOff, "config interface pfc priority {port} {n} off"},
    {SwitchTask::kTrust, "in PORT_QOS_MAP: \"{port}\": {{\"dscp_to_tc_map\": \"ROCE\"}}, then config reload"},
    {SwitchTask::kDscp, "in DSCP_TO_TC_MAP: \"{n}\": \"{m}\", then config reload"},
    {SwitchTask::kEcn,
     "in QUEUE: \"{port}|{n}\": {{\"wred_profile\": \"ROCE\"}}, and ecn_all in WRED_PROFILE; ecnconfig -q {n} on"},
    {SwitchTask::kEcnMark, "ecnconfig -q {n} on; in WRED_PROFILE: \"ecn\": \"ecn_all\""},
    {SwitchTask::kHeadroom, "config interface buffer priority-group lossless add {port} {n}"},
    {SwitchTask::kCable, "config interface cable-length {port} METRES"},
    {SwitchTask::kClear, "sonic-clear counters   # then look again"},
    {SwitchTask::kDrops, "show priority-group watermark headroom"},
};

constexpr TaskText kCumulusTasks[] = {
    {SwitchTask::kUp, "nv set interface {port} link state up"},
    {SwitchTask::kDown, "nv set interface {port} link state down"},
    {SwitchTask::kSpeed, "nv set interface {port} link speed {g}G"},
    {SwitchTask::kMtu, "nv set interface {port} link mtu 9216"},
    {SwitchTask::kFec, "nv set interface {port} link fec {word}"},
    {SwitchTask::kPfcOn, "nv set qos pfc default-global switch-priority {n}"},
    {SwitchTask::kPfcOff, "nv unset qos pfc default-global switch-priority {n}"},
    {SwitchTask::kTrust, "nv set qos mapping default-global trust l3"},
    {SwitchTask::kDscp, "nv set qos mapping default-global dscp {n} switch-priority {m}"},
    {SwitchTask::kEcn, "nv set qos congestion-control default-global traffic-class {n} ecn enabled"},
    {SwitchTask::kEcnMark, "nv set qos congestion-control default-global traffic-class {n} ecn enabled"},
    {SwitchTask::kHeadroom, "nv set qos pfc default-global cable-length METRES"},
    {SwitchTask::kCable, "nv set qos pfc default-global cable-length METRES"},
    {SwitchTask::kClear, "nv action clear interface {port} link counters   # then look again"},
    {SwitchTask::kDrops, "nv show interface {port} counters qos"},
};

constexpr TaskText kEosTasks[] = {
    {SwitchTask::kUp, "interface {port}: no shutdown"},
    {SwitchTask::kDown, "interface {port}: shutdown"},
    {SwitchTask::kSpeed, "interface {port}: speed forced {g}gfull"},
    {SwitchTask::kMtu, "interface {port}: mtu 9214"},
    {SwitchTask::kFec, "interface {port}: {word}"},
    {SwitchTask::kPfcOn, "interface {port}: priority-flow-control on, priority-flow-control priority {n} no-drop"},
    {SwitchTask::kPfcOff, "interface {port}: no priority-flow-control priority {n} no-drop"},
    {SwitchTask::kTrust, "interface {port}: qos trust dscp"},
    {SwitchTask::kDscp, "qos map dscp {n} to traffic-class {m}"},
    {SwitchTask::kEcn,
     "in the qos profile of {port}: uc-tx-queue {n}: random-detect ecn minimum-threshold 150 kbytes "
     "maximum-threshold 1500 kbytes max-mark-probability 100"},
    {SwitchTask::kEcnMark, "in the qos profile of {port}: uc-tx-queue {n}: random-detect ecn"},
    {SwitchTask::kHeadroom, "EOS sizes headroom by the profile of the platform: show qos profile"},
    {SwitchTask::kCable, "EOS sizes headroom by the profile of the platform; a shorter cable needs less"},
    {SwitchTask::kClear, "clear counters {port}   # then look again"},
    {SwitchTask::kDrops, "show interfaces {port} counters queue detail"},
};

constexpr TaskText kNxosTasks[] = {
    {SwitchTask::kUp, "interface {port}: no shutdown"},
    {SwitchTask::kDown, "interface {port}: shutdown"},
    {SwitchTask::kSpeed, "interface {port}: speed {n}"},
    {SwitchTask::kMtu, "interface {port}: mtu 9216"},
    {SwitchTask::kFec, "interface {port}: fec {word}"},
    {SwitchTask::kPfcOn,
     "interface {port}: priority-flow-control mode on; in the network-qos policy of system qos: pause pfc-cos {n}"},
    {SwitchTask::kPfcOff, "in the network-qos policy of system qos: no pause pfc-cos {n}"},
    {SwitchTask::kTrust, "interface {port}: service-policy type qos input POLICY, which sets the qos-group by DSCP"},
    {SwitchTask::kDscp, "in a class-map type qos: match dscp {n}; in the policy-map type qos: set qos-group {m}"},
    {SwitchTask::kEcn,
     "in the queuing policy of system qos: class type queuing c-out-8q-q{n}: random-detect minimum-threshold 150 "
     "kbytes "
     "maximum-threshold 1500 kbytes drop-probability 100 weight 0 ecn"},
    {SwitchTask::kEcnMark,
     "in the queuing policy of system qos: class type queuing c-out-8q-q{n}: random-detect ... ecn"},
    {SwitchTask::kHeadroom,
     "in a policy-map type queuing: class type queuing c-in-q{n}: pause buffer-size BYTES pause-threshold BYTES "
     "resume-threshold BYTES; interface {port}: service-policy type queuing input POLICY"},
    {SwitchTask::kCable,
     "in the queuing input policy of {port}: class type queuing c-in-q{n}: pause buffer-size with more for the cable"},
    {SwitchTask::kClear, "clear counters interface {port}   # then look again"},
    {SwitchTask::kDrops, "show queuing interface {port}"},
};

constexpr TaskText kLinuxTasks[] = {
    {SwitchTask::kUp, "ip link set dev {port} up"},
    {SwitchTask::kDown, "ip link set dev {port} down"},
    {SwitchTask::kSpeed, "ethtool -s {port} speed {n} duplex full"},
    {SwitchTask::kMtu, "ip link set dev {port} mtu 9216"},
    {SwitchTask::kFec, "ethtool --set-fec {port} encoding {word}"},
    {SwitchTask::kPfcOn, "dcb pfc set dev {port} prio-pfc {n}:on"},
    {SwitchTask::kPfcOff, "dcb pfc set dev {port} prio-pfc {n}:off"},
    {SwitchTask::kTrust, "dcb app add dev {port} dscp-prio 26:3"},
    {SwitchTask::kDscp, "dcb app replace dev {port} dscp-prio {n}:{m}"},
    {SwitchTask::kEcn,
     "tc qdisc replace dev {port} parent 1:CLASS red min 150000 max 1500000 ... ecn, of priority {n}"},
    {SwitchTask::kEcnMark, "tc qdisc replace dev {port} parent 1:CLASS red ... ecn, of priority {n}"},
    {SwitchTask::kHeadroom, "dcb buffer set dev {port} prio-buffer {n}:{n} buffer-size {n}:BYTES"},
    {SwitchTask::kCable, "dcb buffer set dev {port} buffer-size {n}:BYTES"},
    {SwitchTask::kClear, "ethtool -S {port}   # look again later"},
    {SwitchTask::kDrops, "tc -s qdisc show dev {port}"},
};

const char* task_text(SwitchOs os, SwitchTask task) {
  const auto find = [task](const auto& tasks) {
    for (const TaskText& each : tasks) {
      if (each.task == task) return each.text;
    }
    return "";
  };
  switch (os) {
    case SwitchOs::kCumulus:
      return find(kCumulusTasks);
    case SwitchOs::kEos:
      return find(kEosTasks);
    case SwitchOs::kNxos:
      return find(kNxosTasks);
    case SwitchOs::kLinux:
      return find(kLinuxTasks);
    case SwitchOs::kSonic:
      break;
  }
  return find(kSonicTasks);
}

const char* fec_word(SwitchOs os, const std::string& fec) {
  const bool rs = fec == "RS", base = fec == "BaseR";
  switch (os) {
    case SwitchOs::kCumulus:
    case SwitchOs::kLinux:
      return rs ? "rs" : base ? "baser" : "off";
    case SwitchOs::kEos:
      return rs     ? "error-correction encoding reed-solomon"
             : base ? "error-correction encoding fire-code"
                    : "no error-correction encoding";
    case SwitchOs::kNxos:
      return rs ? "rs-fec" : base ? "fc-fec" : "off";
    case SwitchOs::kSonic:
      break;
  }
  return rs ? "rs" : base ? "fc" : "none";
}

}  // namespace

std::string switch_command(const SwitchState& device, const std::string& port, SwitchTask task,
                           const SwitchValues& values) {
  const std::string word = task == SwitchTask::kFec ? fec_word(device.os, values.word) : values.word;
  return fmt::format(fmt::runtime("on {device}: " + std::string(task_text(device.os, task))),
                     fmt::arg("device", device.name), fmt::arg("port", port), fmt::arg("n", values.number),
                     fmt::arg("g", values.number / 1000), fmt::arg("m", values.other), fmt::arg("word", word));
}

}  // namespace weft::gear

// SONiC: the tables of config_db.json (sonic-yang-models, doc/Configuration.md) and the same as `config` commands.
// Every value is a string. Tables are loaded over those of the image with `config load`, so PORT has no lanes here.
#include "gear/emit/sonic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "gear/emit/mirrors.h"
#include "gear/emit/switch.h"
#include "model/qos_words.h"

namespace weft::gear {
namespace {

using fabric::kClasses;
using Json = nlohmann::ordered_json;

constexpr std::string_view kMap = "WEFT";  // of every map
constexpr int kMaxDynamicTh = 7;           // sonic-buffer-profile.yang

std::string number(std::int64_t value) {
  return fmt::format("{}", value);
}

// Profiles with equal values have one name: the wished one, or with a number behind.
class Profiles {
 public:
  explicit Profiles(Json& table) : table_(table) {}
  std::string add(const std::string& wished, const Json& values) {
    std::string name = wished;
    for (int i = 2; table_.contains(name) && table_[name] != values; ++i) name = fmt::format("{}_{}", wished, i);
    table_[name] = values;
    return name;
  }

 private:
  Json& table_;
};

class SonicWriter {
 public:
  SonicWriter(const SwitchJob& job, SwitchOutput& out)
      : job_(job), contract_(job.contract), qos_(contract_.qos), out_(out) {}

  Json tables() {
    for (const char* table :
         {"DEVICE_METADATA", "PORT", "CABLE_LENGTH", "DSCP_TO_TC_MAP", "DOT1P_TO_TC_MAP", "TC_TO_QUEUE_MAP",
          "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "PORT_QOS_MAP",
          "SCHEDULER", "WRED_PROFILE", "QUEUE", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "PFC_WD"})
      json_[table] = Json::object();
    metadata();
    maps();
    pools();
    for (const ContractPort& port : contract_.ports) {
      ports(port);
      queues(port);
      groups(port);
    }
    watchdog();
    mirrors();
    lags();
    if (job_.routes()) routing();
    Json filled = Json::object();
    for (const auto& [name, table] : json_.items()) {
      if (!table.empty()) filled[name] = table;
    }
    return filled;
  }

 private:
  bool is_mellanox() const { return contract_.model.asic.starts_with("Spectrum"); }
  bool has_watchdog() const { return qos_.watchdog.enabled && !contract_.pfc_priorities().empty(); }
  std::string pfc_list() const { return fmt::format("{}", fmt::join(contract_.pfc_priorities(), ",")); }

  void metadata() {
    Json& host = json_["DEVICE_METADATA"]["localhost"];
    host["hostname"] = contract_.node;
    host["platform"] = contract_.model.sonic_platform;
    host["type"] = job_.lab.switches[job_.device].tier == 0 ? "ToRRouter" : "LeafRouter";
    host["buffer_model"] = "traditional";
    host["default_pfcwd_status"] = has_watchdog() ? "enable" : "disable";
    if (!job_.routes()) return;
    host["bgp_asn"] = number(job_.router().asn);
    host["docker_routing_config_mode"] = job_.options.numbered ? "unified" : "split-unified";
  }

  void maps() {
    const std::string map(kMap);
    if (qos_.trust == fabric::Trust::kDscp) {
      for (std::size_t dscp = 0; dscp < 64; ++dscp)
        json_["DSCP_TO_TC_MAP"][map][fmt::format("{}", dscp)] = number(qos_.priority_of_dscp[dscp]);
    } else {
      for (std::size_t pcp = 0; pcp < kClasses; ++pcp)
        json_["DOT1P_TO_TC_MAP"][map][fmt::format("{}", pcp)] = fmt::format("{}", pcp);
    }
    for (std::size_t i = 0; i < kClasses; ++i) {
      const std::string key = fmt::format("{}", i);
      json_["TC_TO_QUEUE_MAP"][map][key] = number(qos_.queue_of_priority[i]);
      json_["TC_TO_PRIORITY_GROUP_MAP"][map][key] = number(qos_.group_of_priority[i]);
      json_["MAP_PFC_PRIORITY_TO_QUEUE"][map][key] = number(qos_.queue_of_pause[i]);
      if (is_mellanox() && contract_.is_pfc(i))
        json_["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"][map][key] = number(qos_.group_of_priority[i]);
    }
  }

  void pools() {
    Json& table = json_["BUFFER_POOL"];
    Json& ingress = table["ingress_lossless_pool"];
    ingress["type"] = "ingress";
    ingress["mode"] = "dynamic";
    ingress["size"] = number(qos_.ingress_pool_B);
    if (qos_.headroom_pool_B > 0) ingress["xoff"] = number(qos_.headroom_pool_B);
    Json& lossless = table["egress_lossless_pool"];
    lossless["type"] = "egress";
    lossless["mode"] = "static";
    lossless["size"] = number(contract_.model.buffer_B);
    Json& lossy = table["egress_lossy_pool"];
    lossy["type"] = "egress";
    lossy["mode"] = "dynamic";
    lossy["size"] = number(qos_.egress_pool_B);
  }

  void ports(const ContractPort& port) {
    const std::string& name = port.sonic_name;
    Json& entry = json_["PORT"][name];
    entry["admin_status"] = "up";
    entry["speed"] = number(port.rate_bps / 1'000'000);
    entry["mtu"] = number(port.mtu_B);
    entry["fec"] = sonic_fec(port.fec);
    entry["description"] = job_.peer_name(
        port, "sonic", [](const fabric::SwitchModel&, const ContractPort& other) { return other.sonic_name; });
    json_["CABLE_LENGTH"]["AZURE"][name] = fmt::format("{}m", whole_metres(port.length_mm));
    Json& map = json_["PORT_QOS_MAP"][name];
    map[qos_.trust == fabric::Trust::kDscp ? "dscp_to_tc_map" : "dot1p_to_tc_map"] = kMap;
    map["tc_to_queue_map"] = kMap;
    map["tc_to_pg_map"] = kMap;
    map["pfc_to_queue_map"] = kMap;
    if (contract_.pfc_priorities().empty()) return;
    if (is_mellanox()) map["pfc_to_pg_map"] = kMap;
    map["pfc_enable"] = pfc_list();
    if (has_watchdog()) map["pfcwd_sw_enable"] = pfc_list();
  }

  void queues(const ContractPort& port) {
    Profiles schedulers(json_["SCHEDULER"]), wred(json_["WRED_PROFILE"]), buffers(json_["BUFFER_PROFILE"]);
    for (std::uint8_t q : contract_.queues()) {
      const fabric::QueueConfig& queue = qos_.queues[q];
      const std::string key = fmt::format("{}|{}", port.sonic_name, q);
      const bool strict = queue.scheduling == fabric::Scheduling::kStrict;
      Json scheduler = {{"type", strict ? "STRICT" : "DWRR"}};
      if (!strict) scheduler["weight"] = number(queue.weight);
      Json& entry = json_["QUEUE"][key];
      entry["scheduler"] =
          schedulers.add(strict ? "scheduler.strict" : fmt::format("scheduler.dwrr{}", queue.weight), scheduler);
      if (queue.ecn.enabled) entry["wred_profile"] = wred.add(fmt::format("WEFT_QUEUE{}", q), ramp(q, queue.ecn));
      Json profile;
      profile["pool"] = queue.lossless ? "egress_lossless_pool" : "egress_lossy_pool";
      profile["size"] = number(queue.reserved_B);
      if (queue.lossless) {
        profile["static_th"] = number(contract_.model.buffer_B);
      } else {
        profile["dynamic_th"] = alpha(queue.alpha_exponent);
      }
      json_["BUFFER_QUEUE"][key]["profile"] =
          buffers.add(queue.lossless ? "egress_lossless_profile" : "egress_lossy_profile", profile);
    }
  }

  Json ramp(std::uint8_t q, const fabric::EcnRamp& ecn) {
    if (!ecn.drops_not_ect) out_.note(fmt::format("queue {}: not_ect: pass; WRED drops packets that are not ECT", q));
    if (ecn.weight_exponent != 0)
      out_.note(fmt::format("queue {}: average {}: config_db has no weight of the average", q, ecn.weight_exponent));
    Json profile = {{"ecn", "ecn_all"}};
    for (const char* colour : {"green", "yellow", "red"}) {
      const std::string name(colour);
      profile["wred_" + name + "_enable"] = "true";
      profile[name + "_min_threshold"] = number(ecn.min_B);
      profile[name + "_max_threshold"] = number(ecn.max_B);
      profile[name + "_drop_probability"] = number(whole_percent(ecn.probability_ppb));
    }
    return profile;
  }

  std::string alpha(int exponent) {
    if (exponent > kMaxDynamicTh)
      out_.note(fmt::format("alpha {}: written as {}, the most that dynamic_th takes", exponent, kMaxDynamicTh));
    return number(std::min(exponent, kMaxDynamicTh));
  }

  // size is the whole group where ports have headroom of their own, and only its guarantee where a pool has it.
  void groups(const ContractPort& port) {
    Profiles buffers(json_["BUFFER_PROFILE"]);
    for (std::uint8_t g : contract_.groups()) {
      const fabric::GroupConfig& group = qos_.groups[g];
      Json profile = {{"pool", "ingress_lossless_pool"}};
      std::string name = "ingress_lossy_profile";
      if (group.lossless) {
        const std::int64_t xoff_B = port.headroom_B[g];
        name = fmt::format("pg_lossless_{}_{}m_profile", port.rate_bps / 1'000'000, whole_metres(port.length_mm));
        profile["size"] = number(group.reserved_B + (qos_.headroom_pool_B > 0 ? 0 : xoff_B));
        profile["xon"] = number(group.xon_B);
        if (group.xon_offset_B > 0) profile["xon_offset"] = number(group.xon_offset_B);
        profile["xoff"] = number(xoff_B);
      } else {
        profile["size"] = number(group.reserved_B);
      }
      profile["dynamic_th"] = alpha(group.alpha_exponent);
      json_["BUFFER_PG"][fmt::format("{}|{}", port.sonic_name, g)]["profile"] = buffers.add(name, profile);
    }
  }

  void watchdog() {
    if (!has_watchdog()) return;
    const fabric::WatchdogConfig& dog = qos_.watchdog;
    const WatchdogTimes asked = asked_watchdog(dog), times = sonic_watchdog(dog);
    if (times != asked)
      out_.note(
          fmt::format("PFC_WD: detection, restoration and poll of {}, {} and {} ms; written as {}, {} and {} ms, the "
                      "nearest that SONiC takes",
                      asked.detection_ms, asked.restoration_ms, asked.poll_ms, times.detection_ms, times.restoration_ms,
                      times.poll_ms));
    json_["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"] = number(times.poll_ms);
    for (const ContractPort& port : contract_.ports) {
      Json& entry = json_["PFC_WD"][port.sonic_name];
      entry["action"] = lab::word_of(lab::watchdog_words(), dog.action);
      entry["detection_time"] = number(times.detection_ms);
      entry["restoration_time"] = number(times.restoration_ms);
    }
  }

  // The tables have no version of ERSPAN: gre_type is that of type II, and the platform says what follows.
  void mirrors() {
    for (const MirrorSession& session : mirror_sessions(job_, out_)) {
      Json& entry = json_["MIRROR_SESSION"][fmt::format("weft{}", session.number)];
      entry["type"] = session.is_span() ? "SPAN" : "ERSPAN";
      entry["src_port"] = session.from.sonic_name;
      entry["direction"] = session.direction == lab::MirrorDirection::kBoth      ? "BOTH"
                           : session.direction == lab::MirrorDirection::kIngress ? "RX"
                                                                                 : "TX";
      if (session.is_span()) {
        entry["dst_port"] = session.to.sonic_name;
        continue;
      }
      entry["src_ip"] = session.source;
      entry["dst_ip"] = session.collector;
      entry["gre_type"] = "0x88be";
      entry["dscp"] = "0";
      entry["ttl"] = "64";
      out_.note(fmt::format("mirror session {}: SONiC has neither the session's number nor type III", session.id));
    }
  }

  static std::string lag_name(std::uint32_t number) { return fmt::format("PortChannel{}", number); }

  void lags() {
    for (const SwitchLag& lag : job_.router().lags) {
      const std::string name = lag_name(lag.number);
      Json& entry = json_["PORTCHANNEL"][name];
      entry["admin_status"] = "up";
      entry["lacp_key"] = "auto";
      entry["fast_rate"] = "true";
      entry["min_links"] = "1";
      entry["mtu"] = number(job_.port(lag.port()).mtu_B);
      for (std::uint32_t member : lag.members)
        json_["PORTCHANNEL_MEMBER"][fmt::format("{}|{}", name, job_.port(member).sonic_name)] = Json::object();
    }
    if (!job_.has_lag()) return;
    Json& fields = json_["SWITCH_HASH"]["GLOBAL"]["lag_hash"];
    fields = {"SRC_IP", "DST_IP"};
    if (job_.hashes_ports()) {
      for (const char* field : {"IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT"}) fields.push_back(field);
    } else {
      for (const char* field : {"SRC_MAC", "DST_MAC"}) fields.push_back(field);
    }
  }

  void routing() {
    const Router& router = job_.router();
    json_["LOOPBACK_INTERFACE"]["Loopback0"] = Json::object();
    json_["LOOPBACK_INTERFACE"][fmt::format("Loopback0|{}/32", router.loopback)] = Json::object();
    for (const RoutedVlan& vlan : router.vlans) {
      const std::string name = capital_vlan_name(vlan);
      json_["VLAN"][name]["vlanid"] = number(vlan.id);
      for (std::uint32_t port : vlan.ports) {
        const SwitchLag* lag = job_.lag_of(port);
        const std::string member = lag == nullptr ? job_.port(port).sonic_name : lag_name(lag->number);
        json_["VLAN_MEMBER"][fmt::format("{}|{}", name, member)]["tagging_mode"] = vlan.tagged ? "tagged" : "untagged";
      }
      json_["VLAN_INTERFACE"][name] = Json::object();
      json_["VLAN_INTERFACE"][fmt::format("{}|{}/{}", name, vlan.gateway, vlan.prefix_bits)] = Json::object();
    }
    for (const RoutedLink& link : router.links) {
      const std::string port = link.lag > 0 ? lag_name(link.lag) : job_.port(link.port).sonic_name;
      Json& interfaces = json_[link.lag > 0 ? "PORTCHANNEL_INTERFACE" : "INTERFACE"];
      interfaces[port] = Json::object();
      if (!job_.options.numbered) {
        interfaces[port]["ipv6_use_link_local_only"] = "enable";
        continue;
      }
      interfaces[fmt::format("{}|{}/31", port, link.address)] = Json::object();
      Json& neighbor = json_["BGP_NEIGHBOR"][link.peer_address];
      neighbor["asn"] = number(job_.plan.routers[link.peer].asn);
      neighbor["local_addr"] = link.address;
      neighbor["name"] = job_.lab.switches[link.peer].name;
      neighbor["holdtime"] = "9";
      neighbor["keepalive"] = "3";
    }
  }

  const SwitchJob& job_;
  const Contract& contract_;
  const fabric::SwitchQos& qos_;
  SwitchOutput& out_;
  Json json_;
};

}  // namespace

std::string sonic_config(const SwitchJob& job, SwitchOutput& out) {
  return SonicWriter(job, out).tables().dump(2) + "\n";
}

void emit_sonic(const SwitchJob& job, SwitchOutput& out) {
  std::string config = sonic_config(job, out);
  out.note("hwsku and lanes: those of the image stay (config load merges tables)");
  out.file("config_db.json", std::move(config));
  out.file("commands.sh", sonic_commands(job, out), true);
  if (job.routes() && !job.options.numbered) {
    const InterfaceNames names{sonic_name, capital_vlan_name, false,
                               "PortChannel"};  // INTERFACE tables have the addresses
    out.file("frr.conf", "! " + job.contract.node +
                             ": /etc/sonic/frr/frr.conf of the bgp container, routing mode split-unified\n" +
                             frr_conf(job, names));
  }
}

}  // namespace weft::gear

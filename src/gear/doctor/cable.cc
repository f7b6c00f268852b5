// Cable and transceiver: FEC, module events, errors on the line, flaps.
#include <fmt/format.h>

#include <algorithm>

#include "gear/doctor/checks.h"
#include "gear/doctor/switch_commands.h"

namespace weft::gear {

namespace {

// ethtool says BaseR where SONiC says fc, Off where it says none.
std::string fec_name(const std::string& text) {
  const std::string first(words_of(text).empty() ? text : std::string(words_of(text).front()));
  if (first == "baser" || first == "fc") return "BaseR";
  if (first == "rs" || first == "llrs") return "RS";
  if (first == "off" || first == "none") return "none";
  return "";
}

void check_fec(const Site& site, Findings& findings) {
  std::map<std::uint64_t, std::vector<Opinion>> by_speed;
  for (const SitePort& each : ports_up(site, true)) {
    const NicPort& port = *each.port;
    if (!port.fec || fec_name(port.fec->value).empty()) continue;
    const std::string own = fec_name(port.fec->value);
    if (port.speed_Mbps) by_speed[port.speed_Mbps->value].push_back({each.name(), "FEC " + own, port.fec->from});
    const auto ends = switch_ends(site, each);
    const bool fits = std::any_of(ends.begin(), ends.end(), [&](const SwitchEnd& end) {
      const std::string theirs = end.port->fec ? fec_name(end.port->fec->value) : "";
      return theirs.empty() || theirs == own;
    });
    if (ends.empty() || fits) continue;
    const SwitchEnd& end = ends.front();
    const std::string wanted = fec_name(end.port->fec->value);
    findings.add("fec-mismatch", each.name(), fmt::format("the NIC has FEC {}, {} has {}", own, end.name(), wanted),
                 {port.fec->from, end.port->fec->from},
                 {fmt::format("ethtool --set-fec {} encoding {}", netdev_of(port),
                              wanted == "none" ? "off" : lower_case(wanted)),
                  "or " + switch_command(*end.device, end.port->name, SwitchTask::kFec, {0, 0, own})});
  }
  for (const auto& [speed, opinions] : by_speed) {
    if (const auto odd = disagreement(opinions))
      findings.add(
          "fec-mismatch", odd->odd.front().who,
          fmt::format("ports at {} Gb/s differ: {}", static_cast<double>(speed) / 1000, disagreement_text(*odd)),
          odd->evidence, {"ethtool --set-fec INTERFACE encoding rs   # the same at both ends of every cable"});
  }
}

// The FEC of the ports that have a link and are on cards as fast as this one, where they agree; null: there is none.
const Seen<std::string>* usual_fec(const Site& site, const NicPort& port) {
  const Seen<std::string>* usual = nullptr;
  if (!port.supported_Mbps) return nullptr;
  for (const SitePort& each : ports_up(site, true)) {
    const NicPort& other = *each.port;
    const bool alike = other.supported_Mbps && other.supported_Mbps->value == port.supported_Mbps->value;
    if (!alike || !other.fec || fec_name(other.fec->value).empty()) continue;
    if (usual != nullptr && fec_name(usual->value) != fec_name(other.fec->value)) return nullptr;
    usual = &*other.fec;
  }
  return usual;
}

// A link that is down for it: then nothing is active, and what the ends are set to says why.
void check_fec_of_down_links(const Site& site, Findings& findings) {
  std::vector<Opinion> opinions;
  for (const HostState& host : site.hosts) {
    for (const NicPort& port : host.ports) {
      if (port.is_up() || port.is_infiniband() || !port.fec_set) continue;
      const std::string own = fec_name(port.fec_set->value);
      if (own.empty() || words_of(port.fec_set->value).size() != 1) continue;  // it chooses by itself
      const SitePort site_port{&host, &port};
      opinions.push_back({site_port.name(), "FEC " + own, port.fec_set->from});
      bool is_agreed = false;  // a switch says that its end of this cable has the same
      for (const SwitchEnd& end : switch_ends(site, site_port)) {
        const std::string theirs = end.named && end.port->fec ? fec_name(end.port->fec->value) : "";
        is_agreed = is_agreed || theirs == own;
        if (theirs.empty() || theirs == own) continue;
        opinions.pop_back();
        is_agreed = true;  // it is reported
        findings.add("fec-mismatch", site_port.name(),
                     fmt::format("the link is down: the NIC is set to FEC {}, {} has {}", own, end.name(), theirs),
                     {port.fec_set->from, end.port->fec->from},
                     {fmt::format("ethtool --set-fec {} encoding auto", netdev_of(port)),
                      "or " + switch_command(*end.device, end.port->name, SwitchTask::kFec, {0, 0, own})});
        break;
      }
      const Seen<std::string>* usual = is_agreed ? nullptr : usual_fec(site, port);
      if (usual == nullptr || fec_name(usual->value) == own) continue;
      opinions.pop_back();
      findings.add("fec-mismatch", site_port.name(),
                   fmt::format("the link is down: the port is set to FEC {}, ports with a link have {}", own,
                               fec_name(usual->value)),
                   {port.fec_set->from, usual->from},
                   {fmt::format("ethtool --set-fec {} encoding auto   # at both ends of the cable", netdev_of(port))});
    }
  }
  if (const auto odd = disagreement(opinions))
    findings.add("fec-mismatch", odd->odd.front().who,
                 "ports without a link are set to different FEC: " + disagreement_text(*odd), odd->evidence,
                 {"ethtool --set-fec INTERFACE encoding auto   # at both ends of the cable"});
}

void check_log(const HostState& host, Findings& findings) {
  for (const NicPort& port : host.ports) {
    if (port.pci.empty()) continue;
    for (const Seen<std::string>& line : host.log) {
      const bool is_fault = line.value.find("Port module event: error") != line.value.npos ||
                            line.value.find("Port module event[error]") != line.value.npos ||
                            line.value.find("Bad or shorted cable") != line.value.npos;
      if (!is_fault || line.value.find(port.pci) == line.value.npos) continue;
      findings.add("cable-fault", host.name + " " + port.name(), "the NIC reports a fault of its cable or transceiver",
                   {line.from},
                   {"reseat or replace the cable or transceiver", "mlxlink -d " + port.device + " --show_module"});
      break;
    }
  }
}

void check_errors(const HostState& host, const NicPort& port, Findings& findings) {
  // Error counters of mlx5, ice and InfiniBand. What FEC corrected is normal and not among them.
  static const char* const kErrors[] = {"rx_pcs_symbol_err_phy",      "rx_symbol_err_phy", "rx_crc_errors_phy",
                                        "rx_crc_errors.nic",          "symbol_error",      "port_rcv_errors",
                                        "local_link_integrity_errors"};
  std::vector<Evidence> evidence;
  std::uint64_t errors = 0;
  for (const char* name : kErrors) {
    const auto it = port.counters.find(name);
    if (it == port.counters.end() || it->second.value == 0) continue;
    evidence.push_back(it->second.from);
    errors = std::max(errors, it->second.value);
  }
  if (!evidence.empty())
    findings.add("symbol-errors", host.name + " " + port.name(),
                 fmt::format("{} errors that FEC did not correct: cable, transceiver or a dirty connector", errors),
                 evidence,
                 {"clean or replace the cable or transceiver, at both ends",
                  "mlxlink -d " + port.device + " -c   # error rates"});
  // A link goes down once or twice when hosts and switches start.
  constexpr std::uint64_t kUsualDowns = 4;  // estimate
  for (const char* name : {"link_down_events_phy", "link_downed"}) {
    const auto it = port.counters.find(name);
    if (it == port.counters.end() || it->second.value <= kUsualDowns) continue;
    findings.add("link-flaps", host.name + " " + port.name(),
                 fmt::format("the link went down {} times", it->second.value), {it->second.from},
                 {"replace the cable or transceiver", "dmesg -T | grep -i 'link down'"});
    break;
  }
}

}  // namespace

void check_cables(const Site& site, Findings& findings) {
  check_fec(site, findings);
  check_fec_of_down_links(site, findings);
  for (const HostState& host : site.hosts) {
    check_log(host, findings);
    for (const NicPort& port : host.ports) check_errors(host, port, findings);
  }
  for (const SwitchState& device : site.switches) {
    for (const auto& [name, port] : device.ports) {
      if (port.rx_errors && port.rx_errors->value > 0)
        findings.add("symbol-errors", device.name + " " + name,
                     fmt::format("{} frames arrived with errors: cable or transceiver", port.rx_errors->value),
                     {port.rx_errors->from},
                     {"clean or replace the cable or transceiver, at both ends",
                      switch_command(device, name, SwitchTask::kClear)});
    }
  }
}

}  // namespace weft::gear

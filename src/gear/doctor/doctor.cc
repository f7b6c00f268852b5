#include "gear/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "gear/doctor/checks.h"

namespace weft::gear {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string evidence_place(const Evidence& evidence) {
  return evidence.line > 0 ? fmt::format("{}:{}", evidence.file, evidence.line) : evidence.file;
}

template <class Predicate>
void note_unless(const HostState& host, std::vector<std::string>& out, const char* what, Predicate has) {
  if (!std::any_of(host.ports.begin(), host.ports.end(), has)) out.push_back(host.name + ": " + what);
}

}  // namespace

std::vector<std::string> unchecked_of(const Site& site) {
  std::vector<std::string> out;
  for (const HostState& host : site.hosts) {
    if (host.ports.empty()) {
      if (!host.devices_listed) out.push_back(host.name + ": RDMA ports (no output of rdma link or ibstat, no files)");
      continue;
    }
    note_unless(host, out, "speed and link modes (no output of ethtool)",
                [](const NicPort& p) { return p.speed_Mbps || p.link || p.rate_Gbps; });
    note_unless(host, out, "error and pause counters (no output of ethtool -S or rdma statistic)",
                [](const NicPort& p) { return !p.counters.empty(); });
    const bool roce =
        std::any_of(host.ports.begin(), host.ports.end(), [](const NicPort& p) { return !p.is_infiniband(); });
    if (roce) {
      note_unless(host, out, "PFC (no output of mlnx_qos or dcb pfc)",
                  [](const NicPort& p) { return p.qos.pfc.has_value(); });
      note_unless(host, out, "trust (no output of mlnx_qos or dcb app)",
                  [](const NicPort& p) { return p.qos.trust.has_value(); });
      note_unless(host, out, "the DSCP of RoCE (no traffic_class, default_roce_tos or NCCL_IB_TC; some need root)",
                  [&](const NicPort& p) { return roce_dscp(host, p).has_value(); });
      note_unless(host, out, "GIDs (no /sys/class/infiniband/*/ports/*/gids)",
                  [](const NicPort& p) { return !p.gids.empty(); });
    }
    note_unless(host, out, "PCIe links (lspci printed no LnkSta; run weft inspect as root)", [&](const NicPort& p) {
      const PciDevice* device = host.pci_of(p);
      return (device != nullptr && device->now_GTps) ||
             host.file_line("/sys/bus/pci/devices/" + p.pci + "/current_link_speed") != nullptr;
    });
    const bool acs =
        std::any_of(host.pci.begin(), host.pci.end(), [](const auto& each) { return each.second.acs.has_value(); });
    if (!host.gpus().empty() && !acs)
      out.push_back(host.name + ": ACS (lspci printed no ACSCtl; run weft inspect as root)");
    if (host.log.empty())
      out.push_back(host.name + ": the kernel's log (dmesg printed nothing; run weft inspect as root)");
  }
  return out;
}

Diagnosis diagnose(const Site& site) {
  Findings findings;
  for (const auto check : {check_links, check_addresses, check_mtu, check_contract, check_switches, check_cables,
                           check_pcie, check_gpu_direct, check_counters, check_system, check_firmware})
    check(site, findings);
  Diagnosis diagnosis;
  diagnosis.findings = findings.take();
  for (const HostState& host : site.hosts) diagnosis.hosts.push_back(host.name);
  for (const SwitchState& device : site.switches) diagnosis.switches.push_back(device.name);
  diagnosis.unchecked = unchecked_of(site);
  return diagnosis;
}

std::string diagnosis_text(const Diagnosis& diagnosis) {
  std::string out;
  int number = 0;
  for (const Finding& finding : diagnosis.findings) {
    const FindingKind& kind = kind_of(finding);
    out += fmt::format("{}. {}: {} [{}, {}]\n   {}\n", ++number, finding.where, kind.title, kind.id,
                       severity_word(kind.severity), finding.message);
    for (const Evidence& evidence : finding.evidence)
      out += fmt::format("   seen: {}{}{}{}\n", evidence_place(evidence),
                         evidence.section.empty() ? "" : " (" + evidence.section + ")",
                         evidence.text.empty() ? "" : ": ", evidence.text);
    for (const std::string& fix : finding.fix) out += fmt::format("   fix:  {}\n", fix);
    out += "\n";
  }
  for (const std::string& what : diagnosis.unchecked) out += fmt::format("not checked: {}\n", what);
  std::string devices = counted(diagnosis.hosts.size(), "host");
  if (!diagnosis.switches.empty()) devices += ", " + counted(diagnosis.switches.size(), "switch");
  out += fmt::format("{}: {}\n", devices,
                     diagnosis.findings.empty() ? "healthy" : counted(diagnosis.findings.size(), "finding"));
  // Names and lines come from files of others: none of them may steer a terminal.
  for (char& c : out) {
    if (c == '\t') c = ' ';
    if ((static_cast<unsigned char>(c) < ' ' && c != '\n') || c == '\x7f') c = '?';
  }
  return out;
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
  OrderedJson out;
  out["healthy"] = diagnosis.findings.empty();
  out["hosts"] = diagnosis.hosts;
  out["switches"] = diagnosis.switches;
  out["findings"] = OrderedJson::array();
  for (const Finding& finding : diagnosis.findings) {
    const FindingKind& kind = kind_of(finding);
    OrderedJson each;
    each["id"] = kind.id;
    each["severity"] = severity_word(kind.severity);
    each["title"] = kind.title;
    each["where"] = finding.where;
    each["message"] = finding.message;
    each["evidence"] = OrderedJson::array();
    for (const Evidence& evidence : finding.evidence)
      each["evidence"].push_back(
          {{"file", evidence.file}, {"section", evidence.section}, {"line", evidence.line}, {"text", evidence.text}});
    each["fix"] = finding.fix;
    out["findings"].push_back(std::move(each));
  }
  out["unchecked"] = diagnosis.unchecked;
  // Whatever a tool printed: what is not UTF-8 is replaced.
  return out.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace weft::gear

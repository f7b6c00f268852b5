// The host's CPUs and memory, and firmware.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gear/doctor/checks.h"

namespace weft::gear {

namespace {

bool passes_devices_to_vms(const HostState& host, std::vector<Evidence>& evidence) {
  for (const auto& [address, device] : host.pci) {
    if (device.driver != "vfio-pci") continue;
    evidence.push_back(device.from);
    return true;
  }
  return false;
}

void check_governor(const HostState& host, Findings& findings) {
  std::map<std::string, std::pair<std::size_t, Evidence>> governors;
  for (auto it = host.files.lower_bound("/sys/devices/system/cpu/cpu"); it != host.files.end(); ++it) {
    if (!it->first.starts_with("/sys/devices/system/cpu/cpu")) break;
    if (!it->first.ends_with("/cpufreq/scaling_governor")) continue;
    const Seen<std::string>& line = it->second.front();
    auto& known = governors.emplace(line.value, std::pair(std::size_t{0}, line.from)).first->second;
    ++known.first;
  }
  for (const auto& [governor, cpus] : governors) {
    if (governor == "performance") continue;
    findings.add("governor", host.name,
                 fmt::format("{} CPUs have the governor {}: latencies vary", cpus.first, governor), {cpus.second},
                 {"cpupower frequency-set -g performance"});
  }
}

// isolcpus=managed_irq,domain,2-29 has flags before the list.
std::vector<std::uint32_t> isolated_by_argument(std::string_view argument) {
  std::string list;
  for (std::string_view item : words_of(argument, ",")) {
    if (item[0] >= '0' && item[0] <= '9') list += (list.empty() ? "" : ",") + std::string(item);
  }
  return number_list(list);
}

void check_isolation(const HostState& host, Findings& findings) {
  const auto argument = kernel_argument(host, "isolcpus");
  const Seen<std::string>* file = host.file_line("/sys/devices/system/cpu/isolated");
  const Seen<std::string>* cmdline = host.file_line("/proc/cmdline");
  const bool read = host.files.contains("/sys/devices/system/cpu/online");  // an empty file has no line
  const auto isolated = file == nullptr ? std::vector<std::uint32_t>() : number_list(file->value);
  std::vector<Evidence> evidence;
  if (argument && cmdline != nullptr && read && isolated_by_argument(*argument) != isolated) {
    evidence.push_back(cmdline->from);
    if (file != nullptr) evidence.push_back(file->from);
    findings.add("isolcpus", host.name,
                 fmt::format("isolcpus={} was asked for, {} CPUs are isolated", *argument, isolated.size()), evidence,
                 {"grubby --update-kernel=ALL --args='isolcpus=LIST nohz_full=LIST rcu_nocbs=LIST'", "reboot",
                  "cat /sys/devices/system/cpu/isolated"});
    return;
  }
  for (std::uint32_t cpu : isolated) {
    const auto* siblings =
        host.file_line(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    if (siblings == nullptr) continue;
    for (std::uint32_t sibling : number_list(siblings->value)) {
      if (std::binary_search(isolated.begin(), isolated.end(), sibling)) continue;
      findings.add("isolcpus", host.name,
                   fmt::format("CPU {} is isolated and its SMT sibling {} is not: they share a core", cpu, sibling),
                   {file->from, siblings->from}, {"isolate both threads of each core, then reboot"});
      return;
    }
  }
  if (read && isolated.empty() && passes_devices_to_vms(host, evidence)) {
    if (cmdline != nullptr) evidence.push_back(cmdline->from);
    findings.add(
        "isolcpus", host.name,
        "devices are passed to virtual machines and no CPU is isolated: the host's processes run on their CPUs",
        evidence, {"grubby --update-kernel=ALL --args='isolcpus=LIST nohz_full=LIST rcu_nocbs=LIST'", "reboot"});
  }
}

void check_huge_pages(const HostState& host, Findings& findings) {
  const auto meminfo = host.files.find("/proc/meminfo");
  if (meminfo == host.files.end()) return;
  const Seen<std::string>* line = nullptr;
  std::uint64_t total = 0;
  for (const Seen<std::string>& each : meminfo->second) {
    if (const auto value = value_after(each.value, "HugePages_Total:")) {
      line = &each;
      total = leading_number(*value).value_or(0);
    }
  }
  if (line == nullptr) return;
  const Seen<std::string>* cmdline = host.file_line("/proc/cmdline");
  const auto argument = kernel_argument(host, "hugepages");
  const auto asked = leading_number(argument.value_or(""));
  std::vector<Evidence> evidence{line->from};
  if (asked && total < *asked && cmdline != nullptr) {
    evidence.push_back(cmdline->from);
    findings.add("huge-pages", host.name,
                 fmt::format("hugepages={} was asked for, {} were found free at boot", *asked, total), evidence,
                 {"fewer pages, or pages of one size per NUMA node: hugepages=0:32,2:32", "reboot"});
  } else if (total == 0 && passes_devices_to_vms(host, evidence)) {
    findings.add("huge-pages", host.name, "devices are passed to virtual machines and there are no huge pages for them",
                 evidence,
                 {"grubby --update-kernel=ALL --args='default_hugepagesz=1G hugepagesz=1G hugepages=64'", "reboot"});
  }
}

// "20.28.2006" as numbers; nothing when it is another scheme.
std::optional<std::array<std::uint64_t, 3>> firmware_version(const std::string& text) {
  const auto parts = words_of(text, ".");
  if (parts.size() != 3) return std::nullopt;
  std::array<std::uint64_t, 3> version{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = leading_number(parts[i]);
    if (!number) return std::nullopt;
    version[i] = *number;
  }
  return version;
}

void check_timeout_feature(const HostState& host, const NicPort& port, Findings& findings) {
  const auto setting = nccl_setting(host, "NCCL_IB_TIMEOUT");
  const auto timeout = leading_number(setting ? setting->value : "");
  const auto version = port.firmware ? firmware_version(port.firmware->value) : std::nullopt;
  if (!timeout || *timeout >= 16 || !version) return;
  // NVIDIA ConnectX-5 and ConnectX-6 firmware release notes, 16.35.1012 and 20.35.1012 (RoCE: Adaptive Timer).
  const bool has_minimum = (*version)[0] == 16 || (*version)[0] == 20;
  if (!has_minimum || std::pair((*version)[1], (*version)[2]) >= std::pair<std::uint64_t, std::uint64_t>(35, 1012))
    return;
  findings.add("firmware-old", host.name + " " + port.name(),
               fmt::format("NCCL_IB_TIMEOUT={}: values below 16 need firmware {}.35.1012, this is {}", *timeout,
                           (*version)[0], port.firmware->value),
               {port.firmware->from, setting->from},
               {"mlxfwmanager --online -u", "mlxfwreset -d " + (port.pci.empty() ? "DEVICE" : port.pci) + " reset"});
}

void check_package(const HostState& host, Findings& findings) {
  for (const Seen<std::string>& line : host.log) {
    const bool ice = line.value.find(" ice ") != line.value.npos || line.value.find("]ice ") != line.value.npos;
    if (!ice || lower_case(line.value).find("safe mode") == std::string::npos) continue;
    findings.add(
        "firmware-old", host.name,
        "the E810 has no DDP package that fits its driver and runs in safe mode, without RDMA", {line.from},
        {"install linux-firmware (intel/ice/ddp/ice.pkg) of the driver's age", "modprobe -r ice; modprobe ice"});
    return;
  }
}

}  // namespace

void check_system(const Site& site, Findings& findings) {
  for (const HostState& host : site.hosts) {
    check_governor(host, findings);
    check_isolation(host, findings);
    check_huge_pages(host, findings);
  }
}

void check_firmware(const Site& site, Findings& findings) {
  std::map<std::string, std::vector<Opinion>> boards;
  for (const HostState& host : site.hosts) {
    check_package(host, findings);
    std::set<std::string> cards;
    for (const NicPort& port : host.ports) {
      if (!cards.insert(port.pci.empty() ? port.device : port.pci.substr(0, port.pci.find('.'))).second) continue;
      check_timeout_feature(host, port, findings);
      const PciDevice* card = host.pci_of(port);
      const std::string board = port.board ? port.board->value : card != nullptr ? card->name : "";
      if (port.firmware && !board.empty())
        boards[board].push_back(
            {host.name + " " + port.name(), "firmware " + port.firmware->value, port.firmware->from});
    }
  }
  for (const auto& [board, opinions] : boards) {
    if (const auto odd = disagreement(opinions))
      findings.add("firmware-differs", odd->odd.front().who, "cards of one kind differ: " + disagreement_text(*odd),
                   odd->evidence, {"mlxfwmanager --online -u   # the same version on all hosts"});
  }
}

}  // namespace weft::gear

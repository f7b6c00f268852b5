// `lspci -vmmnn` (with -k: the driver too) and `lscpu` in one text, in any order. Records of lspci begin with "Slot:"
// and end with an empty line; everything else that is not known is left alone.
#include <fmt/format.h>

#include <charconv>

#include "gear/vm/host.h"

namespace weft::gear {
namespace {

// "Mellanox Technologies [15b3]" -> 0x15b3, and the text without it.
std::optional<std::uint32_t> take_pci_id(std::string_view& text) {
  const std::size_t open = text.rfind('[');
  if (open == text.npos || !text.ends_with(']')) return std::nullopt;
  const std::string_view id = text.substr(open + 1, text.size() - open - 2);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), value, 16);
  if (id.empty() || id.size() > 4 || error != std::errc() || end != id.data() + id.size()) return std::nullopt;
  text = stripped(text.substr(0, open));
  return value;
}

class HostTextReader {
 public:
  explicit HostTextReader(const std::string& where) : where_(where) {}

  Planned<HostDescription> read(std::string_view text) {
    int number = 0;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = stripped(text.substr(0, end));
      text = end == text.npos ? std::string_view() : text.substr(end + 1);
      if (auto wrong = read_line(line); !wrong.empty()) return line_error(number + 1, wrong);
      ++number;
    }
    return finished();
  }

  Planned<HostDescription> read(const Bundle& bundle) {
    for (const BundleSection& section : bundle.sections) {
      if (!section.command.starts_with("lspci -vmm") && !section.command.starts_with("lscpu")) continue;
      in_slot_ = false;
      for (std::size_t i = 0; i < section.lines.size(); ++i) {
        if (auto wrong = read_line(stripped(section.lines[i])); !wrong.empty())
          return line_error(bundle.at(section, i).line, wrong);
      }
    }
    return finished();
  }

 private:
  struct NodeText {
    HostNode node;
    CpuList cpus;
  };

  tl::unexpected<PlanError> line_error(int number, const std::string& wrong) const {
    return plan_error(fmt::format("{}:{}: {}", where_, number, wrong), "lspci -vmmnn and lscpu write such lines");
  }

  Planned<HostDescription> finished() {
    for (NodeText& node : nodes_) {
      auto cores = cores_of(node.cpus, threads_per_core_);
      if (!cores)
        return plan_error(fmt::format("{}: {} CPUs of NUMA node {} are not {} threads a core", where_, node.cpus.size(),
                                      node.node.id, threads_per_core_));
      node.node.cores = std::move(*cores);
      host_.nodes.push_back(std::move(node.node));
    }
    return checked_host(std::move(host_), where_);
  }

  // Problem of a line; empty when there is none.
  std::string read_line(std::string_view line) {
    if (line.empty()) {
      in_slot_ = false;
      return "";
    }
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return "";
    const std::string_view key = stripped(line.substr(0, colon));
    const std::string_view value = stripped(line.substr(colon + 1));
    if (key == "Slot") return begin_slot(value);
    return in_slot_ ? slot_line(key, value) : cpu_line(key, value);
  }

  std::string begin_slot(std::string_view value) {
    const auto address = PciAddress::parse(value);
    if (!address) return fmt::format("Slot: {} is no PCI address", value);
    host_.devices.emplace_back();
    host_.devices.back().address = *address;
    in_slot_ = true;
    return "";
  }

  std::string slot_line(std::string_view key, std::string_view value) {
    HostDevice& device = host_.devices.back();
    std::string_view text = value;
    if (key == "Class" || key == "Vendor" || key == "Device") {
      const auto id = take_pci_id(text);
      if (!id) return fmt::format("{}: {} has no number in brackets (use lspci -vmmnn)", key, value);
      if (key == "Class") device.class_code = *id;
      if (key == "Vendor") device.vendor = *id;
      if (key == "Device") {
        device.device = *id;
        device.name = text;
      }
    } else if (key == "NUMANode") {
      const auto node = value == "-1" ? std::optional<std::uint32_t>() : parse_count(value, kMaxCpus);
      if (!node && value != "-1") return fmt::format("NUMANode: {} is no number", value);
      device.numa_node = node ? static_cast<int>(*node) : -1;
    } else if (key == "IOMMUGroup") {
      device.iommu_group = parse_count(value, 1 << 20);
      if (!device.iommu_group) return fmt::format("IOMMUGroup: {} is no number", value);
    } else if (key == "Driver") {
      device.driver = value;
    } else if (key == "Interface") {  // not lspci's: a line of one's own, from ls /sys/bus/pci/devices/*/net
      device.interface = value;
    }
    return "";
  }

  std::string cpu_line(std::string_view key, std::string_view value) {
    if (key == "Model name") host_.cpu = value;
    if (key == "Vendor ID") host_.cpu_vendor = value;
    if (key == "Architecture" && value == "aarch64") host_.architecture = value;
    if (key == "Thread(s) per core") {
      const auto threads = parse_count(value, 16);
      if (!threads || *threads == 0) return fmt::format("{}: {} is no number of threads", key, value);
      threads_per_core_ = *threads;
    }
    if (!key.starts_with("NUMA node") || key == "NUMA node(s)") return "";
    const std::string_view rest = key.substr(9);
    const auto id = parse_count(rest.substr(0, rest.find(' ')), kMaxCpus);
    if (!id) return "";
    NodeText& node = node_of(*id);
    if (rest.ends_with(" CPU(s)")) {
      const auto cpus = parse_cpus(value);
      if (!cpus) return fmt::format("{}: {} is no list of CPUs", key, value);
      node.cpus = *cpus;
    } else if (rest.ends_with(" memory")) {  // not lscpu's: numactl -H in a line, in MB as it writes
      const auto size_MB = parse_count(value.substr(0, value.find(' ')), 1u << 31);
      if (!size_MB || !value.ends_with(" MB")) return fmt::format("{}: {} is no size in MB", key, value);
      node.node.memory_B = static_cast<std::int64_t>(*size_MB) << 20;
    }
    return "";
  }

  NodeText& node_of(std::uint32_t id) {
    for (NodeText& node : nodes_) {
      if (node.node.id == id) return node;
    }
    nodes_.emplace_back();
    nodes_.back().node.id = id;
    return nodes_.back();
  }

  const std::string& where_;
  HostDescription host_;
  std::vector<NodeText> nodes_;
  std::uint32_t threads_per_core_ = 1;
  bool in_slot_ = false;
};

}  // namespace

Planned<HostDescription> read_host_text(std::string_view text, const std::string& where) {
  return HostTextReader(where).read(text);
}

Planned<HostDescription> read_host_sections(const Bundle& bundle) {
  return HostTextReader(bundle.file).read(bundle);
}

}  // namespace weft::gear

// `lstopo --of xml` (hwloc 2). A NUMA node, a core and a bridge belong to the node set of the object around them; PCI
// devices to that of the object that their bridge hangs on.
#include <fmt/format.h>

#include <charconv>

#include "gear/vm/host.h"
#include "nccl/text/xml.h"

namespace weft::gear {
namespace {

using nccl::XmlElement;

// The one node of a set such as "0x00000004" or "0x00000001,0x0"; -1 when it has none or several.
int only_node(std::string_view set) {
  int found = -1;
  std::uint32_t base = 0;
  while (!set.empty()) {
    const std::size_t comma = set.rfind(',');
    std::string_view word = comma == set.npos ? set : set.substr(comma + 1);
    set = comma == set.npos ? std::string_view() : set.substr(0, comma);
    if (word.starts_with("0x")) word.remove_prefix(2);
    std::uint32_t bits = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
    if (!word.empty() && (parsed.ec != std::errc() || parsed.ptr != word.data() + word.size())) return -1;
    for (std::uint32_t bit = 0; bit < 32; ++bit) {
      if ((bits >> bit & 1) == 0) continue;
      if (found >= 0) return -1;
      found = static_cast<int>(base + bit);
    }
    base += 32;
    if (base > kMaxCpus) return -1;
  }
  return found;
}

std::string_view xml_text(const XmlElement& element, std::string_view key) {
  const std::string* value = element.attribute(key);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

std::string_view xml_info(const XmlElement& element, std::string_view name) {
  for (const XmlElement& child : element.children) {
    if (child.name == "info" && xml_text(child, "name") == name) return xml_text(child, "value");
  }
  return {};
}

class LstopoReader {
 public:
  explicit LstopoReader(const std::string& where) : where_(where) {}

  Planned<HostDescription> read(std::string_view text) {
    const std::string plain = without_doctype(text);
    const auto root = nccl::parse_xml(plain);
    if (!root)
      return plan_error(
          fmt::format("{}:{}:{}: {}", where_, root.error().line, root.error().column, root.error().message),
          "lstopo --of xml writes such a file");
    if (root->name != "topology") return plan_error(fmt::format("{}:1: <{}> is no topology", where_, root->name));
    walk(*root, -1);
    if (!wrong_.empty()) return plan_error(wrong_);
    if (host_.nodes.empty() && !loose_.empty()) host_.nodes.emplace_back();
    for (auto& loose : loose_) {
      HostNode* node = node_of(loose.node);
      if (node == nullptr) return plan_error(fmt::format("{}:{}: a core on no NUMA node", where_, loose.line));
      node->cores.push_back(std::move(loose.core));
    }
    return checked_host(std::move(host_), where_);
  }

 private:
  struct LooseCore {
    HostCore core;
    int node = -1;
    std::uint32_t line = 0;
  };

  // A document type declaration names a file that need not be there; as many lines stay.
  static std::string without_doctype(std::string_view text) {
    std::string out(text);
    const std::size_t begin = out.find("<!DOCTYPE");
    if (begin == out.npos) return out;
    for (std::size_t i = begin; i < out.size(); ++i) {
      const bool last = out[i] == '>';
      if (out[i] != '\n') out[i] = ' ';
      if (last) break;
    }
    return out;
  }

  HostNode* node_of(int id) {
    for (HostNode& node : host_.nodes) {
      if (static_cast<int>(node.id) == id || (id < 0 && host_.nodes.size() == 1)) return &node;
    }
    return nullptr;
  }

  void wrong(const XmlElement& element, std::string_view what) {
    if (wrong_.empty()) wrong_ = fmt::format("{}:{}: {}", where_, element.line, what);
  }

  void walk(const XmlElement& element, int node) {
    const std::string_view type = xml_text(element, "type");
    if (element.attribute("nodeset") != nullptr) node = only_node(xml_text(element, "nodeset"));
    if (type == "Package" && host_.cpu.empty()) {
      host_.cpu = xml_info(element, "CPUModel");
      host_.cpu_vendor = xml_info(element, "CPUVendor");
    }
    if (type == "Machine" && xml_info(element, "Architecture") == "aarch64") host_.architecture = "aarch64";
    if (type == "NUMANode") add_node(element);
    if (type == "PCIDev") add_device(element, node);
    if (type == "Core") {
      add_core(element, node);
      return;
    }
    for (const XmlElement& child : element.children) walk(child, node);
  }

  void add_node(const XmlElement& element) {
    const auto id = parse_count(xml_text(element, "os_index"), kMaxCpus);
    if (!id) return wrong(element, "a NUMA node without os_index");
    HostNode node;
    node.id = *id;
    const std::string_view memory = xml_text(element, "local_memory");
    std::from_chars(memory.data(), memory.data() + memory.size(), node.memory_B);
    host_.nodes.push_back(std::move(node));
  }

  void add_core(const XmlElement& element, int node) {
    LooseCore loose;
    loose.node = node;
    loose.line = element.line;
    for (const XmlElement& child : element.children) {
      if (xml_text(child, "type") != "PU") continue;
      const auto cpu = parse_count(xml_text(child, "os_index"), kMaxCpus - 1);
      if (!cpu) return wrong(child, "a PU without os_index");
      loose.core.threads.push_back(*cpu);
    }
    if (loose.core.threads.empty()) return wrong(element, "a core without PU");
    loose_.push_back(std::move(loose));
  }

  // pci_type="0200 [15b3:1015] [15b3:0003] 00"
  void add_device(const XmlElement& element, int node) {
    HostDevice device;
    const auto address = PciAddress::parse(xml_text(element, "pci_busid"));
    if (!address) return wrong(element, "a PCI device without pci_busid");
    device.address = *address;
    const std::string_view type = xml_text(element, "pci_type");
    const bool shaped = type.size() >= 16 && type[5] == '[' && type[10] == ':';
    std::uint32_t* const fields[] = {&device.class_code, &device.vendor, &device.device};
    const std::size_t places[] = {0, 6, 11};
    for (std::size_t i = 0; shaped && i < 3; ++i)
      std::from_chars(type.data() + places[i], type.data() + places[i] + 4, *fields[i], 16);
    if (!shaped) return wrong(element, "a PCI device without pci_type");
    device.numa_node = node;
    device.name = xml_info(element, "PCIDevice");
    for (const XmlElement& child : element.children) {
      if (xml_text(child, "type") == "OSDev" && xml_text(child, "osdev_type") == "2")
        device.interface = xml_text(child, "name");
    }
    host_.devices.push_back(std::move(device));
  }

  const std::string& where_;
  HostDescription host_;
  std::vector<LooseCore> loose_;
  std::string wrong_;
};

}  // namespace

Planned<HostDescription> read_host_lstopo(std::string_view text, const std::string& where) {
  return LstopoReader(where).read(text);
}

}  // namespace weft::gear

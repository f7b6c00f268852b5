// NCCL_TOPO_FILE. Of topology_xml.h.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "nccl/text/topology_xml.h"

namespace weft::nccl {

namespace {

constexpr std::size_t kMaxNodesOfFile = 1024;

struct FoundDevice {
  const XmlElement* pci = nullptr;
  const XmlElement* inner = nullptr;  // gpu, or the first net
  std::uint32_t slot = 0;
};

std::optional<std::int64_t> number_of(const XmlElement& element, std::string_view key) {
  const std::string* text = element.attribute(key);
  if (text == nullptr) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

const XmlElement* child_of(const XmlElement& element, std::string_view name) {
  const auto found = std::ranges::find(element.children, name, &XmlElement::name);
  return found == element.children.end() ? nullptr : &*found;
}

class Importer {
 public:
  explicit Importer(const Machine& machine) : lab_(machine), made_(machine) {}

  tl::expected<Machine, XmlError> import(const XmlElement& system) {
    made_.layout = {};
    made_.gpu_fabric = lab_.gpu_fabric;
    if (!read_system(system) || !place_gpus(system) || !place_nics(system)) return tl::unexpected(error_);
    return made_;
  }

 private:
  bool fail(const XmlElement& at, std::string message) {
    error_ = {at.line, 1, std::move(message)};
    return false;
  }

  bool read_system(const XmlElement& system) {
    if (system.name != "system") return fail(system, fmt::format("<system> was expected, not <{}>", system.name));
    if (number_of(system, "version") != 1) return fail(system, "version=\"1\" was expected");
    for (const XmlElement& cpu : system.children) {
      if (cpu.name != "cpu") continue;
      if (made_.layout.nodes.size() == kMaxNodesOfFile) return fail(cpu, "too many CPUs");
      if (!read_cpu(cpu)) return false;
    }
    return !made_.layout.nodes.empty() || fail(system, "there is no <cpu>");
  }

  bool read_cpu(const XmlElement& cpu) {
    const auto node = static_cast<std::uint32_t>(made_.layout.nodes.size());
    made_.layout.nodes.emplace_back();
    if (node < lab_.layout.nodes.size()) made_.layout.nodes.back() = lab_.layout.nodes[node];
    if (!check_cpu(cpu)) return false;
    for (const XmlElement& child : cpu.children) {
      if (child.name == "pci" && !read_pci(child, -1, node)) return false;
    }
    return true;
  }

  bool check_cpu(const XmlElement& cpu) {
    const std::string* arch = cpu.attribute("arch");
    const std::string* vendor = cpu.attribute("vendor");
    if (arch == nullptr) return true;
    const CpuKind kind = cpu_kind(lab_.cpu_kind);
    const std::string_view of_lab = kind.arch == CpuArch::kArm     ? "arm64"
                                    : kind.arch == CpuArch::kPower ? "ppc64"
                                                                   : "x86_64";
    if (*arch != of_lab) return fail(cpu, fmt::format("arch is {}, and {} of the lab is {}", *arch, lab_.name, of_lab));
    if (vendor == nullptr || kind.arch != CpuArch::kX86) return true;
    const std::string_view made_by = kind.vendor == CpuVendor::kIntel ? "GenuineIntel"
                                     : kind.vendor == CpuVendor::kAmd ? "AuthenticAMD"
                                                                      : "CentaurHauls";
    if (*vendor != made_by)
      return fail(cpu, fmt::format("vendor is {}, and {} of the lab has {}", *vendor, lab_.name, made_by));
    return true;
  }

  static std::uint32_t generation_of(const XmlElement& pci) {
    const std::string* speed = pci.attribute("link_speed");
    if (speed == nullptr) return 0;
    constexpr std::string_view kSpeeds[] = {"2.5", "5", "8", "16", "32", "64"};
    for (std::uint32_t i = 0; i < std::size(kSpeeds); ++i) {
      const std::string whole = fmt::format("{} GT/s", kSpeeds[i]), tenth = fmt::format("{}.0 GT/s", kSpeeds[i]);
      if (speed->starts_with(whole) || speed->starts_with(tenth)) return i + 1;
    }
    return 0;
  }

  bool read_pci(const XmlElement& pci, std::int32_t parent, std::uint32_t node) {
    const std::string* device_class = pci.attribute("class");
    const auto slot = static_cast<std::uint32_t>(made_.layout.slots.size());
    host::PcieSlot made;
    made.name = fmt::format("pci{}", slot);
    made.parent = parent;
    made.node = node;
    made.generation = generation_of(pci);
    const auto width = number_of(pci, "link_width").value_or(0);
    if (width < 0 || width > 32) return fail(pci, fmt::format("link_width is {}", width));
    made.lanes = static_cast<std::uint32_t>(width);
    made_.layout.slots.push_back(std::move(made));
    const XmlElement* gpu = child_of(pci, "gpu");
    const XmlElement* nic = child_of(pci, "nic");
    if (gpu != nullptr || (device_class != nullptr && device_class->starts_with("0x03"))) {
      gpus_.push_back({&pci, gpu, slot});
      return true;
    }
    if (nic != nullptr || (device_class != nullptr && device_class->starts_with("0x02"))) {
      nics_.push_back({&pci, nic == nullptr ? nullptr : child_of(*nic, "net"), slot});
      return true;
    }
    for (const XmlElement& child : pci.children) {
      if (child.name == "pci" && !read_pci(child, static_cast<std::int32_t>(slot), node)) return false;
    }
    return true;
  }

  bool place_gpus(const XmlElement& system) {
    const std::size_t count = lab_.places.gpus.size();
    if (gpus_.size() != count)
      return fail(system, fmt::format("there are {} GPUs, and {} of the lab has {}", gpus_.size(), lab_.name, count));
    std::map<std::int64_t, const XmlElement*> seen;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const FoundDevice& found = gpus_[i];
      auto device = static_cast<std::int64_t>(i);
      if (found.inner != nullptr) device = number_of(*found.inner, "dev").value_or(device);
      if (device < 0 || device >= static_cast<std::int64_t>(count))
        return fail(*found.pci, fmt::format("{} of the lab has no GPU {}", lab_.name, device));
      if (!seen.emplace(device, found.pci).second)
        return fail(*found.pci, fmt::format("GPU {} is there twice", device));
      host::GpuPlace& place = made_.places.gpus[static_cast<std::size_t>(device)];
      const auto capability = found.inner == nullptr ? std::nullopt : number_of(*found.inner, "sm");
      if (capability && *capability != place.model.compute_capability)
        return fail(*found.inner, fmt::format("sm is {}, and GPU {} of the lab, {}, has {}", *capability, device,
                                              place.model.name, place.model.compute_capability));
      place.slot = found.slot;
    }
    return true;
  }

  bool place_nics(const XmlElement& system) {
    std::vector<bool> placed(lab_.nics.size());
    std::size_t next = 0;
    for (const FoundDevice& found : nics_) {
      const std::string* name = found.inner == nullptr ? nullptr : found.inner->attribute("name");
      if (name == nullptr) {
        if (next < placed.size()) {
          made_.nics[next].slot = found.slot;
          placed[next++] = true;
        }
        continue;
      }
      // Merged ports: all of them.
      bool known = false;
      for (std::size_t i = 0; i < lab_.nics.size(); ++i) {
        const bool same =
            fmt::format("+{}+", *name).find(fmt::format("+{}+", lab_.nics[i].name)) != std::string::npos ||
            *name == lab_.nics[i].interface;
        if (!same) continue;
        known = true;
        made_.nics[i].slot = found.slot;
        placed[i] = true;
        const auto speed = number_of(*found.inner, "speed");
        const std::int64_t own = lab_.nics[i].rate_bps / 1'000'000;
        if (speed && *name == lab_.nics[i].name && *speed != own)
          return fail(*found.inner,
                      fmt::format("speed is {}, and {} of the lab has {} Mb/s", *speed, lab_.nics[i].name, own));
      }
      if (!known) return fail(*found.inner, fmt::format("{} of the lab has no NIC {}", lab_.name, *name));
    }
    const auto missing = std::find(placed.begin(), placed.end(), false);
    if (missing != placed.end())
      return fail(system, fmt::format("{} of {} is not there",
                                      lab_.nics[static_cast<std::size_t>(missing - placed.begin())].name, lab_.name));
    return true;
  }

  const Machine& lab_;
  Machine made_;
  std::vector<FoundDevice> gpus_, nics_;
  XmlError error_;
};

}  // namespace

tl::expected<Machine, XmlError> with_topology(const Machine& machine, const XmlElement& system) {
  return Importer(machine).import(system);
}

}  // namespace weft::nccl

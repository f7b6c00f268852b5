// A libvirt domain of one virtual machine (https://libvirt.org/formatdomain.html). Elements stand in the order in which
// libvirt writes them. A guest NUMA cell for each NUMA node of the host that the VM is on; the devices hang on a PCIe
// expander bus of their cell, which is how the guest learns where they are.
#include <fmt/format.h>

#include "gear/vm/plan.h"

namespace weft::gear {
namespace {

constexpr std::size_t kMaxExpanders = 8;  // 16 bus numbers each, from 64 on

std::string pci_attributes(const PciAddress& address) {
  return fmt::format("domain='0x{:04x}' bus='0x{:02x}' slot='0x{:02x}' function='0x{:x}'", address.domain, address.bus,
                     address.slot, address.function);
}

class DomainWriter {
 public:
  DomainWriter(const VmPlan& plan, const Vm& vm) : plan_(plan), vm_(vm) {}

  std::string write() {
    const std::size_t vcpus = vm_.vcpus().size();
    out_ = fmt::format("<domain type='kvm'>\n  <name>{}</name>\n", vm_.name);
    line(1, fmt::format("<memory unit='MiB'>{}</memory>", plan_.options.memory_B >> 20));
    memory_backing();
    line(1, fmt::format("<vcpu placement='static' cpuset='{}'>{}</vcpu>", cpus_text(vm_.vcpus()), vcpus));
    pinning();
    platform();
    processor(vcpus);
    line(1, "<clock offset='utc'/>");
    line(1, "<devices>");
    plain_devices();
    passed_devices();
    line(2, "<memballoon model='none'/>");
    line(1, "</devices>");
    return out_ + "</domain>\n";
  }

 private:
  void line(std::size_t depth, std::string_view text) {
    out_.append(2 * depth, ' ');
    out_ += text;
    out_ += '\n';
  }

  void platform() {
    const bool arm = plan_.host.architecture == "aarch64";
    line(1, arm ? "<os firmware='efi'>" : "<os>");
    line(2, fmt::format("<type arch='{}' machine='{}'>hvm</type>", plan_.host.architecture, arm ? "virt" : "q35"));
    line(2, "<boot dev='hd'/>");
    line(1, "</os>");
    line(1, "<features>");
    line(2, "<acpi/>");
    line(2, arm ? "<gic version='3'/>" : "<apic/>");
    line(1, "</features>");
  }

  void memory_backing() {
    line(1, "<memoryBacking>");
    line(2, "<hugepages>");
    line(3, fmt::format("<page size='{}' unit='MiB'/>", plan_.options.page_B >> 20));
    line(2, "</hugepages>");
    line(2, "<nosharepages/>");
    line(1, "</memoryBacking>");
  }

  void pinning() {
    line(1, "<cputune>");
    const CpuList vcpus = vm_.vcpus();
    for (std::size_t i = 0; i < vcpus.size(); ++i)
      line(2, fmt::format("<vcpupin vcpu='{}' cpuset='{}'/>", i, vcpus[i]));
    line(2, fmt::format("<emulatorpin cpuset='{}'/>",
                        cpus_text(plan_.options.emulator == EmulatorCpus::kVm ? vcpus : plan_.host_cpus)));
    line(1, "</cputune>");
    line(1, "<numatune>");
    CpuList nodes;
    for (const VmCell& cell : vm_.cells) nodes.push_back(cell.node);
    line(2, fmt::format("<memory mode='strict' nodeset='{}'/>", cpus_text(nodes)));
    for (std::size_t i = 0; i < vm_.cells.size(); ++i)
      line(2, fmt::format("<memnode cellid='{}' mode='strict' nodeset='{}'/>", i, vm_.cells[i].node));
    line(1, "</numatune>");
  }

  // Threads of a core can be shown to the guest only where every core has as many and they are neighbours.
  std::size_t guest_threads() const {
    if (!plan_.options.guest_smt) return 1;
    const std::size_t threads = vm_.cells.front().cores.front().threads.size();
    for (const VmCell& cell : vm_.cells) {
      for (const HostCore& core : cell.cores) {
        if (core.threads.size() != threads) return 1;
      }
    }
    return threads;
  }

  void processor(std::size_t vcpus) {
    const std::size_t threads = guest_threads();
    line(1, "<cpu mode='host-passthrough' check='none' migratable='off'>");
    line(2, fmt::format("<topology sockets='1' dies='1' cores='{}' threads='{}'/>", vcpus / threads, threads));
    if (plan_.host.architecture == "x86_64") line(2, "<cache mode='passthrough'/>");
    if (threads > 1 && plan_.host.cpu_vendor == "AuthenticAMD") line(2, "<feature policy='require' name='topoext'/>");
    line(2, "<numa>");
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < vm_.cells.size(); ++i) {
      const VmCell& cell = vm_.cells[i];
      const auto count = static_cast<std::uint32_t>(cell.cpus.size());
      CpuList own;
      for (std::uint32_t v = first; v < first + count; ++v) own.push_back(v);
      first += count;
      line(3, fmt::format("<cell id='{}' cpus='{}' memory='{}' unit='MiB'/>", i, cpus_text(own), cell.memory_B >> 20));
    }
    line(2, "</numa>");
    line(1, "</cpu>");
  }

  void plain_devices() {
    line(2, "<disk type='file' device='disk'>");
    line(3, "<driver name='qemu' type='qcow2' cache='none' io='native'/>");
    line(3, fmt::format("<source file='/var/lib/libvirt/images/{}.qcow2'/>", vm_.name));
    line(3, "<target dev='vda' bus='virtio'/>");
    line(2, "</disk>");
    line(2, "<interface type='network'>");
    line(3, "<source network='default'/>");
    line(3, "<model type='virtio'/>");
    line(2, "</interface>");
    line(2, "<console type='pty'/>");
    line(2, "<rng model='virtio'>");
    line(3, "<backend model='random'>/dev/urandom</backend>");
    line(2, "</rng>");
  }

  void passed_devices() {
    const bool with_expanders = vm_.cells.size() <= kMaxExpanders;
    std::uint32_t index = 1;
    if (with_expanders) line(2, "<controller type='pci' index='0' model='pcie-root'/>");
    for (std::size_t cell = 0; cell < vm_.cells.size(); ++cell) {
      const std::uint32_t expander = index;
      if (with_expanders) {
        line(2, fmt::format("<controller type='pci' index='{}' model='pcie-expander-bus'>", index++));
        line(3, fmt::format("<target busNr='{}'>", 64 + 16 * cell));
        line(4, fmt::format("<node>{}</node>", cell));
        line(3, "</target>");
        line(2, "</controller>");
      }
      std::uint32_t port = 0;
      const HostDevice* before = nullptr;
      for (std::size_t d = 0; d < vm_.devices.size(); ++d) {
        const HostDevice& device = *vm_.devices[d].device;
        if (static_cast<std::uint32_t>(device.numa_node) != vm_.cells[cell].node) continue;
        const bool same_card = before != nullptr && before->address.same_slot(device.address);
        if (with_expanders && !same_card) {
          line(2, fmt::format("<controller type='pci' index='{}' model='pcie-root-port'>", index++));
          line(3, fmt::format("<address type='pci' {}/>", pci_attributes({0, expander, port++, 0})));
          line(2, "</controller>");
        }
        before = &device;
        hostdev(device, with_expanders ? index - 1 : 0);
      }
    }
    out_ += hostdevs_;
  }

  void hostdev(const HostDevice& device, std::uint32_t bus) {
    std::string guest;
    if (bus > 0) {
      // Functions of one card stay functions of one slot.
      const HostDevice* first = nullptr;
      std::size_t functions = 0;
      for (const VmDevice& other : vm_.devices) {
        if (!other.device->address.same_slot(device.address)) continue;
        if (first == nullptr) first = other.device;
        ++functions;
      }
      const bool is_first = first == &device;
      const PciAddress address{0, bus, 0, is_first ? 0 : device.address.function};
      guest = fmt::format("      <address type='pci' {}{}/>\n", pci_attributes(address),
                          functions > 1 && is_first ? " multifunction='on'" : "");
    }
    hostdevs_ +=
        "    <hostdev mode='subsystem' type='pci' managed='yes'>\n      <driver name='vfio'/>\n      <source>\n";
    hostdevs_ += fmt::format("        <address {}/>\n      </source>\n{}    </hostdev>\n",
                             pci_attributes(device.address), guest);
  }

  const VmPlan& plan_;
  const Vm& vm_;
  std::string out_, hostdevs_;
};

}  // namespace

std::string domain_xml(const VmPlan& plan, const Vm& vm) {
  return DomainWriter(plan, vm).write();
}

}  // namespace weft::gear

// Scripts for the host: kernel arguments, binding to vfio-pci at every boot, making the machines, and a check that
// everything took effect. POSIX tools and bash; `shellcheck` and `systemd-analyze verify` accept them.
#include <fmt/format.h>

#include <algorithm>

#include "gear/vm/plan.h"

namespace weft::gear {
namespace {

constexpr std::string_view kScriptHead = "#!/bin/bash\n";

std::string addresses_text(const VmPlan& plan) {
  std::string out;
  for (const HostDevice* device : plan.bound) out += (out.empty() ? "" : " ") + device->address.text();
  return out;
}

std::string vm_names(const VmPlan& plan) {
  std::string out;
  for (const Vm& vm : plan.vms) out += (out.empty() ? "" : " ") + vm.name;
  return out;
}

// NVIDIA's driver holds all of its GPUs: it is unloaded only when none of them stays with the host.
bool unloads_nvidia(const VmPlan& plan) {
  bool any = false;
  for (const HostDevice& device : plan.host.devices) {
    if (device.role() != DeviceRole::kGpu || device.vendor != 0x10de) continue;
    any = true;
    if (std::find(plan.bound.begin(), plan.bound.end(), &device) == plan.bound.end()) return false;
  }
  return any;
}

std::string bind_script(const VmPlan& plan) {
  std::string out(kScriptHead);
  out += fmt::format(
      "# Binds the devices of {} to vfio-pci and sets the CPUs' governor. Both are lost at a reboot:\n"
      "# weft-vfio.service runs this at every boot. Written by weft plan vms.\n"
      "set -euo pipefail\n\n",
      vm_names(plan));
  out += fmt::format("devices=({})\n\n", addresses_text(plan));
  if (unloads_nvidia(plan)) {
    out +=
        "# All GPUs leave the host: unload their driver, the modules that use it first.\n"
        "for module in nvidia_peermem nvidia_drm nvidia_modeset nvidia_uvm nvidia; do\n"
        "  if [[ -d /sys/module/$module ]]; then rmmod \"$module\"; fi\n"
        "done\n\n";
  }
  out +=
      "modprobe vfio-pci\n"
      "for device in \"${devices[@]}\"; do\n"
      "  path=/sys/bus/pci/devices/$device\n"
      "  if [[ ! -d $path ]]; then\n"
      "    echo \"$device is not in this machine\" >&2\n"
      "    exit 1\n"
      "  fi\n"
      "  echo vfio-pci >\"$path/driver_override\"\n"
      "  driver=$(basename \"$(readlink \"$path/driver\" || true)\")\n"
      "  if [[ $driver == vfio-pci ]]; then continue; fi\n"
      "  if [[ -n $driver ]]; then echo \"$device\" >\"$path/driver/unbind\"; fi\n"
      "  echo \"$device\" >/sys/bus/pci/drivers_probe\n"
      "  driver=$(basename \"$(readlink \"$path/driver\" || true)\")\n"
      "  if [[ $driver != vfio-pci ]]; then\n"
      "    echo \"$device: vfio-pci did not take it (driver: ${driver:-none}); is the IOMMU on in the firmware?\" >&2\n"
      "    exit 1\n"
      "  fi\n"
      "done\n\n"
      "for governor in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do\n"
      "  if [[ -w $governor ]]; then echo performance >\"$governor\"; fi\n"
      "done\n";
  return out;
}

std::string bind_unit() {
  return "# Install: cp vfio-bind.sh /usr/local/sbin/weft-vfio-bind && cp weft-vfio.service /etc/systemd/system/ &&\n"
         "#          systemctl enable --now weft-vfio\n"
         "[Unit]\n"
         "Description=Bind the devices of virtual machines to vfio-pci\n"
         "After=systemd-modules-load.service\n"
         "Before=libvirtd.service virtqemud.service libvirt-guests.service\n\n"
         "[Service]\n"
         "Type=oneshot\n"
         "RemainAfterExit=yes\n"
         "ExecStart=/usr/local/sbin/weft-vfio-bind\n\n"
         "[Install]\n"
         "WantedBy=multi-user.target\n";
}

std::string kernel_script(const VmPlan& plan) {
  std::string out(kScriptHead);
  out += fmt::format(
      "# Adds the kernel's arguments; they hold after a reboot. Written by weft plan vms.\n"
      "set -euo pipefail\n\narguments='{}'\n\n",
      kernel_arguments(plan));
  out +=
      "if command -v grubby >/dev/null; then  # Fedora, CentOS, RHEL\n"
      "  grubby --update-kernel=ALL --args=\"$arguments\"\n"
      "elif [[ -d /etc/default ]] && command -v update-grub >/dev/null; then  # Debian, Ubuntu\n"
      "  mkdir -p /etc/default/grub.d\n"
      "  printf 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX %s\"\\n' \"$arguments\" >/etc/default/grub.d/weft.cfg\n"
      "  update-grub\n"
      "else\n"
      "  echo \"neither grubby nor update-grub here; add to the kernel's command line: $arguments\" >&2\n"
      "  exit 1\n"
      "fi\n";
  // The single quotes are meant: GRUB expands the variable.
  const std::string_view line = "  printf 'GRUB_CMDLINE_LINUX";
  out.insert(out.find(line), "  # shellcheck disable=SC2016  # GRUB expands it\n");
  return out;
}

std::string node_list(const Vm& vm) {
  CpuList nodes;
  for (const VmCell& cell : vm.cells) nodes.push_back(cell.node);
  std::string out;
  for (std::uint32_t node : nodes) out += fmt::format("{}{}", out.empty() ? "" : ",", node);
  return out;
}

std::string emulator_cpus(const VmPlan& plan, const Vm& vm) {
  return cpus_text(plan.options.emulator == EmulatorCpus::kVm ? vm.vcpus() : plan.host_cpus);
}

std::string create_script(const VmPlan& plan) {
  std::string out(kScriptHead);
  out += fmt::format(
      "# Makes {} with virt-install and pins them. The same machines are in the .xml files, with guest NUMA cells and\n"
      "# PCIe expander buses besides: virsh define {}.xml. Written by weft plan vms.\n"
      "set -euo pipefail\n\n"
      "images=/var/lib/libvirt/images\n"
      "base=$images/CentOS-Stream-GenericCloud-9-latest.x86_64.qcow2\n"
      "key=${{KEY:-$HOME/.ssh/id_ed25519.pub}}  # of the one who may log in as root\n\n"
      "if [[ ! -e $base ]]; then\n"
      "  curl -fL -o \"$base\" \"https://cloud.centos.org/centos/9-stream/x86_64/images/$(basename \"$base\")\"\n"
      "fi\n"
      "for vm in {}; do\n"
      "  if [[ -e $images/$vm.qcow2 ]]; then continue; fi\n"
      "  cp \"$base\" \"$images/$vm.qcow2\"\n"
      "  qemu-img resize \"$images/$vm.qcow2\" 100G\n"
      "  virt-customize -a \"$images/$vm.qcow2\" --ssh-inject \"root:file:$key\" --run-command 'dnf remove -y "
      "cloud-init'\n"
      "done\n",
      vm_names(plan), plan.vms.front().name, vm_names(plan));
  for (const Vm& vm : plan.vms) {
    std::string cpus;
    for (std::uint32_t cpu : vm.vcpus()) cpus += fmt::format("{}{}", cpus.empty() ? "" : " ", cpu);
    out += fmt::format(
        "\n{}virsh destroy {}\ncpus=({})\nfor i in \"${{!cpus[@]}}\"; do\n"
        "  virsh vcpupin {} \"$i\" \"${{cpus[$i]}}\" --config\ndone\n"
        "virsh emulatorpin {} {} --config\nvirsh numatune {} --mode strict --nodeset {} --config\n"
        "virsh start {}\n",
        virt_install_command(plan, vm), vm.name, cpus, vm.name, vm.name, emulator_cpus(plan, vm), vm.name,
        node_list(vm), vm.name);
  }
  return out;
}

std::string check_script(const VmPlan& plan) {
  std::string out(kScriptHead);
  out +=
      "# check.sh [ROOT]: does the host do what was planned? A line for each check; status 1 when one fails. With "
      "ROOT\n"
      "# it reads a copy of /sys and /proc, and asks no libvirt. Written by weft plan vms.\n"
      "set -uo pipefail\n\nroot=${1:-}\nfailed=0\n\n"
      "check() {  # what, expected, found\n"
      "  if [[ $2 == \"$3\" ]]; then\n"
      "    printf 'ok    %s: %s\\n' \"$1\" \"$3\"\n"
      "  else\n"
      "    printf 'FAIL  %s: %s, expected %s\\n' \"$1\" \"${3:-nothing}\" \"$2\"\n"
      "    failed=1\n"
      "  fi\n"
      "}\n"
      "value() { cat \"$root$1\" 2>/dev/null; }\n\n";
  const std::string isolated = cpus_text(plan.isolated);
  out += fmt::format("check 'isolated CPUs' {} \"$(value /sys/devices/system/cpu/isolated)\"\n", isolated);
  out += fmt::format("check 'CPUs without tick' {} \"$(value /sys/devices/system/cpu/nohz_full)\"\n", isolated);
  out += fmt::format(
      "check 'RCU callbacks moved' rcu_nocbs={} \"$(value /proc/cmdline | tr ' ' '\\n' | grep '^rcu_nocbs=')\"\n",
      isolated);
  out += "check 'IOMMU' iommu=pt \"$(value /proc/cmdline | tr ' ' '\\n' | grep '^iommu=')\"\n";
  for (std::size_t i = 0; i < plan.host.nodes.size(); ++i) {
    if (plan.pages_of_node[i] == 0) continue;
    const std::int64_t page_kB = plan.options.page_B >> 10;
    out += fmt::format(
        "check 'huge pages on node {0}' {1} "
        "\"$(value /sys/devices/system/node/node{0}/hugepages/hugepages-{2}kB/nr_hugepages)\"\n",
        plan.host.nodes[i].id, plan.pages_of_node[i], page_kB);
  }
  for (const HostDevice* device : plan.bound) {
    const std::string address = device->address.text();
    out += fmt::format(
        "check 'driver of {0}' vfio-pci "
        "\"$(basename \"$(readlink \"$root/sys/bus/pci/devices/{0}/driver\")\")\"\n",
        address);
    if (plan.host.nodes.size() > 1 && device->numa_node >= 0)
      out += fmt::format("check 'NUMA node of {0}' {1} \"$(value /sys/bus/pci/devices/{0}/numa_node)\"\n", address,
                         device->numa_node);
  }
  out +=
      "for governor in \"$root\"/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do\n"
      "  if [[ -e $governor && $(cat \"$governor\") != performance ]]; then\n"
      "    check \"governor, ${governor#\"$root\"}\" performance \"$(cat \"$governor\")\"\n"
      "    break\n"
      "  fi\n"
      "done\n\n"
      "if [[ -z $root ]] && command -v virsh >/dev/null; then\n";
  for (const Vm& vm : plan.vms) {
    std::string cpus;
    for (std::uint32_t cpu : vm.vcpus()) cpus += fmt::format("{}{}", cpus.empty() ? "" : " ", cpu);
    out += fmt::format(
        "  check 'pinned CPUs of {0}' '{1}' "
        "\"$(virsh vcpupin {0} | awk '$1 ~ /^[0-9]+$/ {{print $2}}' | paste -sd' ')\"\n",
        vm.name, cpus);
    // virsh prints lists sorted, with ranges.
    CpuList nodes;
    for (const VmCell& cell : vm.cells) nodes.push_back(cell.node);
    out += fmt::format("  check 'memory of {0}' {1} \"$(virsh numatune {0} | awk '/numa_nodeset/ {{print $3}}')\"\n",
                       vm.name, cpus_text(nodes));
  }
  out += "fi\nexit \"$failed\"\n";
  return out;
}

}  // namespace

std::string virt_install_command(const VmPlan& plan, const Vm& vm) {
  std::string out = fmt::format(
      "virt-install \\\n  --name {} \\\n  --ram {} \\\n  --vcpus {} \\\n  --memorybacking hugepages=yes \\\n"
      "  --disk path=/var/lib/libvirt/images/{}.qcow2 \\\n  --os-variant centos-stream9 \\\n"
      "  --network network=default \\\n",
      vm.name, plan.options.memory_B >> 20, vm.vcpus().size(), vm.name);
  for (const VmDevice& device : vm.devices)
    out += fmt::format("  --host-device {} \\\n", device.device->address.text());
  return out + "  --import \\\n  --noautoconsole\n";
}

std::vector<PlannedFile> vm_plan_files(const VmPlan& plan) {
  std::vector<PlannedFile> files = {{"plan.md", vm_plan_text(plan)},
                                    {"plan.json", vm_plan_json(plan)},
                                    {"kernel-args.txt", kernel_arguments(plan) + "\n"},
                                    {"kernel-args.sh", kernel_script(plan), true},
                                    {"vfio-bind.sh", bind_script(plan), true},
                                    {"weft-vfio.service", bind_unit()},
                                    {"create-vms.sh", create_script(plan), true},
                                    {"check.sh", check_script(plan), true}};
  for (const Vm& vm : plan.vms) files.push_back({vm.name + ".xml", domain_xml(plan, vm)});
  return files;
}

}  // namespace weft::gear

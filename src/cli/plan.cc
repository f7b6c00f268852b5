// weft plan: virtual machines on a host, a fabric, an uplink; each as text or JSON, and as files.
#include "gear/vm/plan.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/files.h"
#include "cli/common.h"
#include "cli/plan_verbs.h"
#include "cli/verbs.h"

namespace weft::cli {

int wrong_plan(const gear::PlanError& error) {
  return wrong_input(error.message, error.remedy);
}

int write_planned(const std::string& directory, const std::vector<gear::PlannedFile>& files) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return failed(fmt::format("{}: {}", directory, error.message()), "choose another place with --out DIR");
  for (const gear::PlannedFile& file : files) {
    const std::string path = (fs::path(directory) / file.name).string();
    if (auto written = write_file(path, file.text); !written)
      return failed(written.error(), "free disk space, or choose another place with --out DIR");
    if (file.executable)
      fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add, error);
  }
  return kExitWell;
}

namespace {

struct VmArguments {
  std::string host, memory = "32G", pages = "1G", emulator = "vm", out;
  std::vector<std::string> vms;
  std::uint32_t host_cores = 2;
  bool guest_smt = false, json = false;
};

// "32G" or "32768M", as virt-install and QEMU write it.
std::optional<std::int64_t> memory_size_B(const std::string& text) {
  std::uint64_t number = 0;
  std::size_t used = 0;
  while (used < text.size() && used < 7 && text[used] >= '0' && text[used] <= '9')
    number = number * 10 + static_cast<std::uint64_t>(text[used++] - '0');
  const std::string unit = text.substr(used);
  const bool gigabytes = unit == "G" || unit == "GiB" || unit == " GiB";
  const bool megabytes = unit == "M" || unit == "MiB" || unit == " MiB";
  if (used == 0 || number == 0 || (!gigabytes && !megabytes)) return std::nullopt;
  return static_cast<std::int64_t>(number) << (gigabytes ? 30 : 20);
}

int plan_vms_on_host(const VmArguments& arguments) {
  use_json(arguments.json);
  gear::VmPlanOptions options;
  for (const std::string& text : arguments.vms) {
    auto request = gear::parse_vm_request(text);
    if (!request) return wrong_plan(request.error());
    options.vms.push_back(std::move(*request));
  }
  const auto memory_B = memory_size_B(arguments.memory);
  if (!memory_B) return wrong_input("--memory " + arguments.memory + " is no size", "write 32G or 32768M");
  options.memory_B = *memory_B;
  if (arguments.pages != "1G" && arguments.pages != "2M")
    return wrong_input("--pages " + arguments.pages + " is no size of a huge page", "write 1G or 2M");
  options.page_B = std::int64_t{1} << (arguments.pages == "1G" ? 30 : 21);
  if (arguments.emulator != "vm" && arguments.emulator != "host")
    return wrong_input("--emulator " + arguments.emulator + " is neither vm nor host",
                       "vm: on the virtual machine's own CPUs; host: on those of the host");
  options.emulator = arguments.emulator == "vm" ? gear::EmulatorCpus::kVm : gear::EmulatorCpus::kHost;
  options.host_cores = arguments.host_cores;
  options.guest_smt = arguments.guest_smt;
  auto host = gear::read_host(arguments.host);
  if (!host) return wrong_plan(host.error());
  const auto plan = gear::plan_vms(std::move(*host), options);
  if (!plan) return wrong_plan(plan.error());
  put(arguments.json ? gear::vm_plan_json(*plan) : gear::vm_plan_text(*plan));
  return arguments.out.empty() ? kExitWell : write_planned(arguments.out, gear::vm_plan_files(*plan));
}

void add_vms(CLI::App& verb, int& status) {
  auto arguments = std::make_shared<VmArguments>();
  CLI::App* vms = verb.add_subcommand(
      "vms", "Virtual machines with passed-through devices: CPUs, memory, kernel arguments, VFIO, libvirt");
  vms->add_option("HOST", arguments->host,
                  "What the host says of itself: lspci -vmmnn with lscpu, lstopo --of xml, a copy of /sys, a bundle")
      ->required();
  vms->add_option("--vm", arguments->vms, "NAME=DEVICE,DEVICE: gpu0, nic0, a PCI address or an interface")
      ->required()
      ->allow_extra_args(false)
      ->take_all()
      ->delimiter('\0');
  vms->add_option("--memory", arguments->memory, "Of each virtual machine (32G)");
  vms->add_option("--pages", arguments->pages, "Huge pages of 1G or 2M (1G)");
  vms->add_option("--host-cores", arguments->host_cores, "Cores that the host keeps on the first and last node (2)")
      ->check(whole_number(0, 1024));
  vms->add_option("--emulator", arguments->emulator, "CPUs of the emulator's threads: vm or host (vm)");
  vms->add_flag("--guest-smt", arguments->guest_smt, "The guest sees the threads of a core as such");
  vms->add_option("--out", arguments->out, "Write scripts, unit and domain XML to this directory");
  vms->add_flag("--json", arguments->json, "Print JSON");
  vms->callback([arguments, &status] { status = plan_vms_on_host(*arguments); });
}

}  // namespace

void add_plan(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("plan", "Plan virtual machines, a fabric or an uplink of real gear");
  verb->require_subcommand(1);
  add_vms(*verb, status);
  add_plan_fabric(*verb, status);
  add_plan_uplink(*verb, status);
}

}  // namespace weft::cli

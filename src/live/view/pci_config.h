// The configuration space of a NIC's PCI function and of the root port above it, as far as lspci -vv reads it: header,
// power management, MSI-X, and the PCI Express capability with link speed and width (PCI Express base specification,
// 7.5.3). Nothing can be written to it.
#pragma once

#include <cstdint>
#include <string>

namespace weft::live {

struct PciFunction {
  std::uint32_t vendor = 0, device = 0;
  std::uint32_t class_code = 0x020000;
  std::uint8_t bus = 0, slot = 0, function = 0;
  bool more_functions = false;  // of the same slot
  bool is_root_port = false;
  std::uint8_t secondary_bus = 0;  // of a root port
  std::uint32_t generation = 3, lanes = 16;
  std::uint32_t max_payload_B = 256;
  std::uint32_t max_read_request_B = 512;
  std::uint64_t bar = 0;
};

inline constexpr std::uint64_t kBar_B = 32u << 20;

std::string pci_config(const PciFunction& function);     // 4096 bytes
std::string pci_resources(const PciFunction& function);  // the file `resource`
std::string pci_speed(std::uint32_t generation);         // "8.0 GT/s PCIe"

}  // namespace weft::live

#include "live/view/pci_config.h"

#include <fmt/format.h>

#include <bit>

#include "nic/pcie/function.h"

namespace weft::live {

namespace {

constexpr std::size_t kConfig_B = 4096;
constexpr std::uint8_t kPower = 0x40, kExpress = 0x60, kMsix = 0x9c;
constexpr std::uint64_t kPrefetchable64 = 0xc;  // low bits of a 64-bit prefetchable memory BAR

class Config {
 public:
  Config() : bytes_(kConfig_B, '\0') {}
  void set8(std::size_t at, std::uint32_t value) { bytes_[at] = static_cast<char>(value); }
  void set16(std::size_t at, std::uint32_t value) {
    set8(at, value);
    set8(at + 1, value >> 8);
  }
  void set32(std::size_t at, std::uint32_t value) {
    set16(at, value);
    set16(at + 2, value >> 16);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// 128 B is 0, 256 B is 1.
std::uint32_t payload_code(std::uint32_t payload_B) {
  return static_cast<std::uint32_t>(std::countr_zero(std::bit_floor(payload_B | 128u))) - 7;
}

void write_express(Config& config, const PciFunction& f) {
  const std::uint32_t type = f.is_root_port ? 4 : 0;
  config.set8(kExpress, 0x10);
  config.set8(kExpress + 1, f.is_root_port ? 0 : kMsix);
  config.set16(kExpress + 2, 2 | type << 4);
  config.set32(kExpress + 4,
               payload_code(512) | (f.is_root_port ? 0u : 1u << 28) | 1u << 15);  // FLR, role-based errors
  config.set16(kExpress + 8, payload_code(f.max_payload_B) << 5 | payload_code(f.max_read_request_B) << 12);
  config.set32(kExpress + 12, f.generation | f.lanes << 4);
  config.set16(kExpress + 18, f.generation | f.lanes << 4);
  config.set32(kExpress + 44, ((1u << f.generation) - 1) << 1);  // supported link speeds
  config.set16(kExpress + 48, f.generation);                     // target link speed
}

}  // namespace

std::string pci_speed(std::uint32_t generation) {
  return fmt::format("{:.1f} GT/s PCIe", static_cast<double>(nic::pcie_megatransfers_per_s(generation)) / 1000);
}

std::string pci_config(const PciFunction& f) {
  Config config;
  config.set16(0, f.vendor);
  config.set16(2, f.device);
  config.set16(4, 0x0406);  // memory, bus master, INTx off
  config.set16(6, 0x0010);  // a list of capabilities
  config.set32(8, f.class_code << 8);
  config.set8(0x0e, (f.is_root_port ? 1u : 0u) | (f.more_functions ? 0x80u : 0u));
  config.set8(0x34, kPower);
  if (f.is_root_port) {
    config.set8(0x19, f.secondary_bus);
    config.set8(0x1a, f.secondary_bus);
    config.set16(0x1c, 0x01f1);  // no I/O behind it
  } else {
    config.set32(0x10, static_cast<std::uint32_t>(f.bar | kPrefetchable64));
    config.set32(0x14, static_cast<std::uint32_t>(f.bar >> 32));
    config.set16(0x2c, f.vendor);
    config.set16(0x2e, f.device);
    config.set8(0x3d, 1);  // INTA
    config.set8(kMsix, 0x11);
    config.set16(kMsix + 2, 0x8000 | 63);  // on, 64 vectors
    config.set32(kMsix + 4, 0x2000);
    config.set32(kMsix + 8, 0x3000);
  }
  config.set8(kPower, 0x01);
  config.set8(kPower + 1, kExpress);
  config.set16(kPower + 2, 3);
  write_express(config, f);
  return config.take();
}

std::string pci_resources(const PciFunction& f) {
  std::string text;
  for (int i = 0; i < 13; ++i) {
    const bool bar = i == 0 && !f.is_root_port;
    const std::uint64_t start = bar ? f.bar : 0, end = bar ? f.bar + kBar_B - 1 : 0, flags = bar ? 0x14220c : 0;
    text += fmt::format("0x{:016x} 0x{:016x} 0x{:016x}\n", start, end, flags);
  }
  return text;
}

}  // namespace weft::live

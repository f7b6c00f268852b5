// The catalog as plain data: constants of the binary, which catalog_compiler writes at build time
// (src/catalog/compiler), or views of what catalog_reader.cc read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace weft::lab {

enum class CatalogKind : std::uint8_t { kNic, kHost, kGpu, kSwitch, kForwarder, kCable, kFec };
std::string_view to_string(CatalogKind kind);  // "nic"

inline constexpr std::string_view kNoLines = "none";  // the value of an empty list

// One value as the catalog has it.
struct CatalogRow {
  std::string_view field;   // "tx_latency"
  std::string_view value;   // "190 ns"
  std::string_view source;  // "ACK every 28.5 data packets, 100G mlx5: [rocev2-header]"
  std::string_view tag;     // V primary, S secondary, R recalled, E estimate, F fitted
  std::int64_t number = 0;  // the value in the unit of its model: 190000; 0 for a text or a list
};

// A group of equal ports of a switch.
struct CatalogPorts {
  std::uint32_t count = 0;
  std::span<const std::int64_t> rates_bps;  // highest first
  std::uint32_t lanes = 0;
};

struct CatalogEntry {
  CatalogKind kind = CatalogKind::kNic;
  std::string_view name;
  std::string_view description;
  std::span<const CatalogRow> rows;
  std::span<const std::int64_t> link_rates_bps;  // of a NIC, highest first
  std::span<const CatalogPorts> ports;           // of a switch or forwarder, in front-panel order
};

}  // namespace weft::lab

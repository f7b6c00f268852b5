// The device catalog: catalog/*.yaml, embedded in the binary. Every value has a source and a tag that
// says how far to trust it (docs/catalog.md). NICs, hosts and switches become models; cables and FECs become the
// delays of links; GPUs are shown only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/time.h"
#include "catalog/cable.h"
#include "catalog/catalog_data.h"
#include "fabric/switch_model.h"
#include "host/host_model.h"
#include "nic/nic_model.h"

namespace weft::lab {

enum class CatalogKind : std::uint8_t { kNic, kHost, kGpu, kSwitch, kCable, kFec };
std::string_view to_string(CatalogKind kind);  // "nic"

// One value as the catalog has it.
struct CatalogRow {
  std::string field;   // "tx_latency"
  std::string value;   // "190 ns"
  std::string source;  // "ACK every 28.5 data packets, 100G mlx5: facts PROTOCOL 5.8"
  std::string tag;     // V primary, S secondary, R recalled, E estimate, F fitted
};

struct CatalogEntry {
  CatalogKind kind = CatalogKind::kNic;
  std::string name;
  std::string description;
  std::vector<CatalogRow> rows;
};

class Catalog {
 public:
  // The catalog of this binary. A mistake in it is a programming error and stops the program.
  static const Catalog& built_in();
  // Any catalog; on failure every problem as "nics.yaml:14:9: …".
  static tl::expected<Catalog, std::vector<std::string>> parse(std::span<const EmbeddedFile> files);

  const nic::NicModel* nic(std::string_view name) const;
  const host::HostModel* host(std::string_view name) const;
  const fabric::SwitchModel* switch_model(std::string_view name) const;
  bool has_gpu(std::string_view name) const;
  // Rates that a port of this NIC can run at, highest first; empty when there is no such NIC.
  std::span<const std::int64_t> link_rates_bps(std::string_view nic_name) const;
  const CableModel& cable(CableKind kind) const;
  // One way, encoder and decoder together; nothing when this FEC does not exist at this rate.
  std::optional<Time_ps> fec_latency_ps(Fec fec, std::int64_t rate_bps) const;

  const CatalogEntry* entry(std::string_view name) const;  // of any kind
  std::vector<std::string_view> names(CatalogKind kind) const;
  // Names that resemble `name`, best first, at most three.
  std::vector<std::string> nearest(std::string_view name) const;
  std::vector<std::string> nearest(std::string_view name, CatalogKind kind) const;

 private:
  friend class CatalogReader;

  std::vector<CatalogEntry> entries_;
  std::map<std::string, nic::NicModel, std::less<>> nics_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> link_rates_bps_;
  std::map<std::string, host::HostModel, std::less<>> hosts_;
  std::map<std::string, fabric::SwitchModel, std::less<>> switches_;
  std::map<CableKind, CableModel> cables_;
  std::map<Fec, std::map<std::int64_t, Time_ps>> fec_latencies_ps_;
};

}  // namespace weft::lab

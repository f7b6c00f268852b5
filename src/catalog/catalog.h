// The device catalog: catalog/*.yaml, compiled into the binary. Every value has a source and a tag that
// says how far to trust it (docs/catalog.md). NICs, hosts, switches and forwarders become models; cables and FECs
// become the delays of links.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/time.h"
#include "catalog/cable.h"
#include "catalog/catalog_data.h"
#include "catalog/link_rules.h"
#include "spec/forwarder_model.h"
#include "spec/gpu_model.h"
#include "spec/host_model.h"
#include "spec/nic_model.h"
#include "spec/switch_model.h"

namespace weft::lab {

struct CatalogFile {
  std::string name;  // "nics.yaml", for messages
  std::string text;
};

class Catalog {
 public:
  // The catalog of this binary. catalog_compiler checked it when the binary was built, and writes this function.
  static const Catalog& built_in();
  // Any catalog; on failure every problem as "nics.yaml:14:9: …".
  static tl::expected<Catalog, std::vector<std::string>> parse(std::span<const CatalogFile> files);

  const nic::NicModel* nic(std::string_view name) const;
  const host::HostModel* host(std::string_view name) const;
  const fabric::SwitchModel* switch_model(std::string_view name) const;
  const fabric::ForwarderModel* forwarder(std::string_view name) const;
  const host::GpuModel* gpu(std::string_view name) const;
  bool has_gpu(std::string_view name) const { return gpu(name) != nullptr; }
  // Rates that a port of this NIC can run at, highest first; empty when there is no such NIC.
  std::span<const std::int64_t> link_rates_bps(std::string_view nic_name) const;
  const CableModel& cable(CableKind kind) const;
  // One way, encoder and decoder together; nothing when this FEC does not exist at this rate.
  std::optional<Time_ps> fec_latency_ps(Fec fec, std::int64_t rate_bps) const;

  std::span<const CatalogEntry> entries() const { return entries_; }
  const CatalogEntry* entry(std::string_view name) const;  // of any kind
  std::vector<std::string_view> names(CatalogKind kind) const;
  // Names that resemble `name`, best first, at most three.
  std::vector<std::string> nearest(std::string_view name) const;
  std::vector<std::string> nearest(std::string_view name, CatalogKind kind) const;

 private:
  // `entries` are complete and outlive the catalog, or `owner` keeps them.
  explicit Catalog(std::span<const CatalogEntry> entries, std::shared_ptr<const void> owner = nullptr);

  std::shared_ptr<const void> owner_;
  std::span<const CatalogEntry> entries_;
  std::vector<nic::NicModel> nics_;
  std::vector<host::HostModel> hosts_;
  std::vector<host::GpuModel> gpus_;
  std::vector<fabric::SwitchModel> switches_;
  std::vector<fabric::ForwarderModel> forwarders_;
  std::array<CableModel, kCableKindCount> cables_;
  std::array<std::array<std::optional<Time_ps>, kEthernetRateCount>, kFecCount> fec_latencies_ps_;
};

}  // namespace weft::lab

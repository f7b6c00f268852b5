#include "lab/model_fields.h"

#include "base/time.h"

namespace weft::lab {
namespace {

using host::HostModel;
using nic::AckTimeoutMode;
using nic::CnpScope;
using nic::NicModel;

constexpr Range<std::int64_t> kTime{0, kSecond_ps};
constexpr Range<std::int64_t> kPositiveTime{1, kSecond_ps};
constexpr Range<std::int64_t> kRate{1'000'000'000, 800'000'000'000};

constexpr Word<AckTimeoutMode> kAckTimeoutWords[] = {{"formula", AckTimeoutMode::kFormula},
                                                     {"connectx", AckTimeoutMode::kConnectX}};
constexpr Word<CnpScope> kCnpScopeWords[] = {{"port", CnpScope::kPort},
                                             {"destination-address", CnpScope::kDestinationAddress},
                                             {"queue-pair", CnpScope::kQueuePair}};

const ModelField<NicModel> kNicFields[] = {
    {"description", &NicModel::description},
    {"driver", &NicModel::driver},
    {"pci_id", &NicModel::pci_id},
    {"firmware", &NicModel::firmware},
    {"oui", &NicModel::oui},
    {"line_rate", &NicModel::line_rate_bps, Quantity::kBitRate, kRate},
    {"ports", &NicModel::ports, {}, {1, 16}},
    {"max_netdev_mtu", &NicModel::max_netdev_mtu_B, Quantity::kSize, {1500, 65535}},
    {"pcie_generation", &NicModel::pcie_generation, {}, {1, 6}},
    {"pcie_lanes", &NicModel::pcie_lanes, {}, {1, 16}},
    {"pcie_functions_per_port", &NicModel::pcie_functions_per_port, {}, {1, 4}},
    {"pcie_max_payload", &NicModel::pcie_max_payload_B, Quantity::kSize, {128, 4096}},
    {"message_rate", &NicModel::message_rate_per_s, Quantity::kMessageRate, {1, 10'000'000'000}},
    {"wqe_interval", &NicModel::wqe_interval_ps, Quantity::kTime, kTime},
    {"tx_latency", &NicModel::tx_latency_ps, Quantity::kTime, kTime},
    {"rx_latency", &NicModel::rx_latency_ps, Quantity::kTime, kTime},
    {"response_latency", &NicModel::response_latency_ps, Quantity::kTime, kTime},
    {"port_latency", &NicModel::port_latency_ps, Quantity::kTime, kTime},
    {"atomic_interval", &NicModel::atomic_interval_ps, Quantity::kTime, kTime},
    {"rx_buffer", &NicModel::rx_buffer_B, Quantity::kSize, {16 << 10, 1 << 30}},
    {"ack_interval", &NicModel::ack_interval_packets, Quantity::kPackets, {1, 1 << 20}},
    {"max_rd_atomic", &NicModel::max_rd_atomic, {}, {1, 255}},
    {"max_inline", &NicModel::max_inline_B, Quantity::kSize, {0, 4096}},
    {"end_to_end_credits", &NicModel::end_to_end_credits},
    {"mig_req", &NicModel::mig_req},
    {"ack_timeout_mode", &NicModel::ack_timeout_mode},
    {"nak_generation", &NicModel::nak_generation_ps, Quantity::kTime, kTime},
    {"nak_reaction", &NicModel::nak_reaction_ps, Quantity::kTime, kTime},
    {"cnp_scope", &NicModel::cnp_scope},
    {"min_time_between_cnps", &NicModel::min_time_between_cnps_ps, Quantity::kTime, kTime},
};

const ModelField<HostModel> kHostFields[] = {
    {"description", &HostModel::description},
    {"post_wqe", &HostModel::post_wqe_ps, Quantity::kTime, kPositiveTime},
    {"doorbell", &HostModel::doorbell_ps, Quantity::kTime, kTime},
    {"post_loop", &HostModel::post_loop_ps, Quantity::kTime, kTime},
    {"post_recv", &HostModel::post_recv_ps, Quantity::kTime, kPositiveTime},
    {"poll_hit", &HostModel::poll_hit_ps, Quantity::kTime, kPositiveTime},
    {"poll_empty", &HostModel::poll_empty_ps, Quantity::kTime, kPositiveTime},
    {"mmio_write", &HostModel::mmio_write_ps, Quantity::kTime, kTime},
    {"dma_read", &HostModel::dma_read_ps, Quantity::kTime, kTime},
    {"dma_write", &HostModel::dma_write_ps, Quantity::kTime, kTime},
    {"memory_jitter", &HostModel::memory_jitter_ps, Quantity::kTime, kTime},
    {"interrupt_period", &HostModel::interrupt_period_ps, Quantity::kTime, kTime},
    {"interrupt_cost", &HostModel::interrupt_cost_ps, Quantity::kTime, kTime},
};

// Stores one value by the type of the member.
template <class Model>
struct FieldReader {
  const YamlNode& node;
  const ModelField<Model>& field;
  Model& model;
  ProblemList& problems;

  bool operator()(std::string Model::*member) const {
    return store(model.*member, read_text(node, field.key, problems));
  }
  bool operator()(bool Model::*member) const { return store(model.*member, read_bool(node, field.key, problems)); }
  bool operator()(std::int64_t Model::*member) const { return store(model.*member, number()); }
  bool operator()(std::uint32_t Model::*member) const { return store(model.*member, number()); }
  bool operator()(AckTimeoutMode Model::*member) const {
    return store(model.*member, read_choice<AckTimeoutMode>(node, field.key, kAckTimeoutWords, problems));
  }
  bool operator()(CnpScope Model::*member) const {
    return store(model.*member, read_choice<CnpScope>(node, field.key, kCnpScopeWords, problems));
  }

  std::optional<std::int64_t> number() const {
    if (field.quantity) return read_quantity(node, field.key, *field.quantity, field.range, problems);
    const Range<std::uint64_t> range{static_cast<std::uint64_t>(field.range.min),
                                     static_cast<std::uint64_t>(field.range.max)};
    const auto value = read_unsigned(node, field.key, range, problems);
    return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
  }
};

template <class Model>
std::vector<std::string_view> settable_keys(std::span<const ModelField<Model>> fields) {
  std::vector<std::string_view> keys;
  for (const auto& field : fields) {
    if (!field.is_text()) keys.push_back(field.key);
  }
  return keys;
}

template <class Model>
void apply(const YamlNode& node, std::span<const ModelField<Model>> fields, Model& model, ProblemList& problems) {
  const MapReader set(node, "set", settable_keys(fields), problems);
  for (const auto& field : fields) {
    const YamlNode* value = field.is_text() ? nullptr : set.get(field.key);
    if (value != nullptr) read_field(*value, field, model, problems);
  }
}

}  // namespace

std::span<const ModelField<NicModel>> nic_fields() {
  return kNicFields;
}
std::span<const ModelField<HostModel>> host_fields() {
  return kHostFields;
}
std::span<const Word<AckTimeoutMode>> ack_timeout_words() {
  return kAckTimeoutWords;
}
std::span<const Word<CnpScope>> cnp_scope_words() {
  return kCnpScopeWords;
}

bool read_field(const YamlNode& node, const ModelField<NicModel>& field, NicModel& model, ProblemList& problems) {
  return std::visit(FieldReader<NicModel>{node, field, model, problems}, field.member);
}
bool read_field(const YamlNode& node, const ModelField<HostModel>& field, HostModel& model, ProblemList& problems) {
  return std::visit(FieldReader<HostModel>{node, field, model, problems}, field.member);
}

void apply_set(const YamlNode& node, NicModel& model, ProblemList& problems) {
  apply(node, nic_fields(), model, problems);
}
void apply_set(const YamlNode& node, HostModel& model, ProblemList& problems) {
  apply(node, host_fields(), model, problems);
}

std::vector<std::string_view> settable_nic_keys() {
  return settable_keys(nic_fields());
}
std::vector<std::string_view> settable_host_keys() {
  return settable_keys(host_fields());
}

}  // namespace weft::lab

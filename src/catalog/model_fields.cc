#include "catalog/model_fields.h"

#include <type_traits>

#include "base/time.h"

namespace weft::lab {
namespace {

using fabric::BufferSplit;
using fabric::ForwarderModel;
using fabric::HeadroomMethod;
using fabric::SwitchModel;
using host::GpuModel;
using host::HostModel;
using nic::AckTimeoutMode;
using nic::CnpScope;
using nic::NicModel;

constexpr Range<std::int64_t> kTime{0, kSecond_ps};
constexpr Range<std::int64_t> kPositiveTime{1, kSecond_ps};
constexpr Range<std::int64_t> kMemory{0, std::int64_t{1} << 40};
constexpr Range<std::int64_t> kMemoryRate{1, 1'000'000'000'000'000};
constexpr Range<std::int64_t> kPeerRate{0, 10'000'000'000'000};  // 0: no limit of its own
constexpr Range<std::int64_t> kRate{1'000'000'000, 800'000'000'000};

constexpr Word<AckTimeoutMode> kAckTimeoutWords[] = {{"formula", AckTimeoutMode::kFormula},
                                                     {"connectx", AckTimeoutMode::kConnectX}};
constexpr Word<CnpScope> kCnpScopeWords[] = {{"port", CnpScope::kPort},
                                             {"destination-address", CnpScope::kDestinationAddress},
                                             {"queue-pair", CnpScope::kQueuePair}};
constexpr Word<BufferSplit> kBufferSplitWords[] = {{"shared", BufferSplit::kShared},
                                                   {"ingress-pipe", BufferSplit::kIngressPipe},
                                                   {"pipe-pair", BufferSplit::kPipePair},
                                                   {"voq", BufferSplit::kVoq}};
constexpr Word<HeadroomMethod> kHeadroomMethodWords[] = {{"spectrum", HeadroomMethod::kSpectrum},
                                                         {"fixed", HeadroomMethod::kFixed}};

const ModelField<NicModel> kNicFields[] = {
    {"description", &NicModel::description},
    {"driver", &NicModel::driver},
    {"pci_id", &NicModel::pci_id},
    {"firmware", &NicModel::firmware},
    {"oui", &NicModel::oui},
    {"line_rate", &NicModel::line_rate_bps, Quantity::kBitRate, kRate},
    {"internal_rate", &NicModel::internal_rate_bps, Quantity::kBitRate, kPeerRate},
    {"ports", &NicModel::ports, {}, {1, 16}},
    {"max_netdev_mtu", &NicModel::max_netdev_mtu_B, Quantity::kSize, {1500, 65535}},
    {"pcie_generation", &NicModel::pcie_generation, {}, {1, 6}},
    {"pcie_lanes", &NicModel::pcie_lanes, {}, {1, 16}},
    {"pcie_functions_per_port", &NicModel::pcie_functions_per_port, {}, {1, 4}},
    {"pcie_max_payload", &NicModel::pcie_max_payload_B, Quantity::kSize, {128, 4096}},
    {"pcie_max_read_request", &NicModel::pcie_max_read_request_B, Quantity::kSize, {128, 4096}},
    {"pcie_read_requests", &NicModel::pcie_read_requests, {}, {1, 1024}},
    {"pcie_relaxed_ordering", &NicModel::pcie_relaxed_ordering},
    {"message_rate", &NicModel::message_rate_per_s, Quantity::kMessageRate, {1, 10'000'000'000}},
    {"wqe_interval", &NicModel::wqe_interval_ps, Quantity::kTime, kTime},
    {"tx_latency", &NicModel::tx_latency_ps, Quantity::kTime, kTime},
    {"rx_latency", &NicModel::rx_latency_ps, Quantity::kTime, kTime},
    {"response_latency", &NicModel::response_latency_ps, Quantity::kTime, kTime},
    {"port_latency", &NicModel::port_latency_ps, Quantity::kTime, kTime},
    {"atomic_interval", &NicModel::atomic_interval_ps, Quantity::kTime, kTime},
    {"read_interval", &NicModel::read_interval_ps, Quantity::kTime, kTime},
    {"fetch_burst", &NicModel::fetch_burst_B, Quantity::kSize, {0, 1 << 20}},
    {"read_turnaround", &NicModel::read_turnaround_ps, Quantity::kTime, kTime},
    {"context_cache", &NicModel::context_cache, {}, {0, 1 << 24}},
    {"context_map", &NicModel::context_map, {}, {0, 1 << 24}},
    {"context_fetches", &NicModel::context_fetches, {}, {1, 1024}},
    {"rx_buffer", &NicModel::rx_buffer_B, Quantity::kSize, {16 << 10, 1 << 30}},
    {"rx_pause_xoff", &NicModel::rx_pause_xoff_B, Quantity::kSize, {1, 1 << 30}},
    {"rx_pause_xon", &NicModel::rx_pause_xon_B, Quantity::kSize, {0, 1 << 30}},
    {"rx_sustained", &NicModel::rx_sustained_bps, Quantity::kBitRate, kPeerRate},
    {"rx_slow_after", &NicModel::rx_slow_after_ps, Quantity::kTime, kTime},
    {"rx_slow", &NicModel::rx_slow_ps, Quantity::kTime, kTime},
    {"rx_slow_rate", &NicModel::rx_slow_rate_bps, Quantity::kBitRate, kPeerRate},
    {"rx_resume", &NicModel::rx_resume_B, Quantity::kSize, {0, 1 << 30}},
    {"pfc_response", &NicModel::pfc_response_ps, Quantity::kTime, kTime},
    {"ack_interval", &NicModel::ack_interval_packets, Quantity::kPackets, {1, 1 << 20}},
    {"max_rd_atomic", &NicModel::max_rd_atomic, {}, {1, 255}},
    {"max_inline", &NicModel::max_inline_B, Quantity::kSize, {0, 4096}},
    {"end_to_end_credits", &NicModel::end_to_end_credits},
    {"mig_req", &NicModel::mig_req},
    {"ack_timeout_mode", &NicModel::ack_timeout_mode},
    {"adaptive_timeout", &NicModel::adaptive_timeout_ps, Quantity::kTime, {ns(100'000), kTime.max}},
    {"nak_generation", &NicModel::nak_generation_ps, Quantity::kTime, kTime},
    {"nak_reaction", &NicModel::nak_reaction_ps, Quantity::kTime, kTime},
    {"selective_repeat", &NicModel::selective_repeat},
    {"tx_psn_window", &NicModel::tx_psn_window, Quantity::kPackets, {1, 1024}},
    {"cnp_scope", &NicModel::cnp_scope},
    {"min_time_between_cnps", &NicModel::min_time_between_cnps_ps, Quantity::kTime, kTime},
    {"cnp_generation", &NicModel::cnp_generation_ps, Quantity::kTime, kTime},
    {"mild_restart", &NicModel::mild_restart},
    {"slow_restart", &NicModel::slow_restart},
};

const ModelField<HostModel> kHostFields[] = {
    {"description", &HostModel::description},
    {"cpu_kind", &HostModel::cpu_kind},
    {"gpu_fabric", &HostModel::gpu_fabric},
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
    {"interrupt_misses", &HostModel::interrupt_misses, {}, {0, 100'000}},
    {"write_window", &HostModel::write_window_B, Quantity::kSize, {0, 1 << 24}},
    {"ordered_write_window", &HostModel::ordered_write_window_B, Quantity::kSize, {0, 1 << 24}},
    {"peer_rate", &HostModel::peer_rate_bps, Quantity::kBitRate, kPeerRate},
    {"peer_latency", &HostModel::peer_latency_ps, Quantity::kTime, kTime},
    {"iotlb_entries", &HostModel::iotlb_entries, {}, {0, 1 << 20}},
    {"iotlb_miss", &HostModel::iotlb_miss_ps, Quantity::kTime, kTime},
    {"iotlb_walk", &HostModel::iotlb_walk_ps, Quantity::kTime, kTime},
    {"smt_slowdown_percent", &HostModel::smt_slowdown_percent, {}, {0, 400}},
    {"virtual_machine", &HostModel::virtual_machine},
    {"sched_slice", &HostModel::sched_slice_ps, Quantity::kTime, kPositiveTime},
    {"sched_balance", &HostModel::sched_balance_ps, Quantity::kTime, kTime},
    {"halt_poll", &HostModel::halt_poll_ps, Quantity::kTime, kTime},
    {"vm_exit", &HostModel::vm_exit_ps, Quantity::kTime, kTime},
    {"wakeup", &HostModel::wakeup_ps, Quantity::kTime, kPositiveTime},
    {"tcp_send_KiB", &HostModel::tcp_send_KiB_ps, Quantity::kTime, kPositiveTime},
    {"tcp_receive_KiB", &HostModel::tcp_receive_KiB_ps, Quantity::kTime, kPositiveTime},
    {"tcp_remote_KiB", &HostModel::tcp_remote_KiB_ps, Quantity::kTime, kTime},
    {"tcp_send_skb", &HostModel::tcp_send_skb_ps, Quantity::kTime, kPositiveTime},
    {"tcp_receive_packet", &HostModel::tcp_receive_packet_ps, Quantity::kTime, kPositiveTime},
    {"tcp_receive_skb", &HostModel::tcp_receive_skb_ps, Quantity::kTime, kPositiveTime},
    {"tcp_ack", &HostModel::tcp_ack_ps, Quantity::kTime, kPositiveTime},
    {"rx_ring", &HostModel::rx_ring, {}, {16, 65536}},
    {"rx_usecs", &HostModel::rx_usecs_ps, Quantity::kTime, kTime},
};

const ModelField<GpuModel> kGpuFields[] = {
    {"description", &GpuModel::description},
    {"memory", &GpuModel::memory},
    {"memory_bandwidth", &GpuModel::memory_bandwidth},
    {"pcie", &GpuModel::pcie},
    {"gpu_link", &GpuModel::gpu_link},
    {"gpudirect", &GpuModel::gpudirect},
    {"api", &GpuModel::api},
    {"bar", &GpuModel::bar_B, Quantity::kSize, kMemory},
    {"pcie_generation", &GpuModel::pcie_generation, {}, {0, 6}},
    {"pcie_lanes", &GpuModel::pcie_lanes, {}, {0, 16}},
    {"completion", &GpuModel::completion_B, Quantity::kSize, {64, 4096}},
    {"peer_read", &GpuModel::peer_read_bps, Quantity::kBitRate, kPeerRate},
    {"peer_write", &GpuModel::peer_write_bps, Quantity::kBitRate, kPeerRate},
    {"peer_latency", &GpuModel::peer_latency_ps, Quantity::kTime, kTime},
    {"peermem", &GpuModel::peermem},
    {"dmabuf", &GpuModel::dmabuf},
    {"compute_capability", &GpuModel::compute_capability, {}, {0, 999}},
    {"sms", &GpuModel::sms, {}, {1, 1024}},
    {"bf16_TFLOPS", &GpuModel::bf16_TFLOPS, {}, {1, 100'000}},
    {"memory_size", &GpuModel::memory_B, Quantity::kSize, kMemory},
    {"memory_rate", &GpuModel::memory_rate_bps, Quantity::kBitRate, kMemoryRate},
    {"links", &GpuModel::links, {}, {0, 64}},
    {"link_rate", &GpuModel::link_rate_bps, Quantity::kBitRate, kPeerRate},
    {"nccl_link_rate", &GpuModel::nccl_link_rate_bps, Quantity::kBitRate, kPeerRate},
    {"gpu_fabric", &GpuModel::gpu_fabric},
    {"kernel_launch", &GpuModel::kernel_launch_ps, Quantity::kTime, kTime},
};

const ModelField<SwitchModel> kSwitchFields[] = {
    {"description", &SwitchModel::description},
    {"asic", &SwitchModel::asic},
    {"oui", &SwitchModel::oui},
    {"sonic_platform", &SwitchModel::sonic_platform},
    {"port_prefix", &SwitchModel::port_prefix},
    {"buffer", &SwitchModel::buffer_B, Quantity::kSize, {64 << 10, kMemory.max}},
    {"cell", &SwitchModel::cell_B, Quantity::kSize, {1, 64 << 10}},
    {"buffer_split", &SwitchModel::buffer_split},
    {"buffer_slices", &SwitchModel::buffer_slices, {}, {1, 64}},
    {"pipes", &SwitchModel::pipes, {}, {1, 64}},
    {"cut_through", &SwitchModel::cut_through},
    {"pipeline", &SwitchModel::pipeline_ps, Quantity::kTime, kPositiveTime},
    {"port_latency", &SwitchModel::port_latency_ps, Quantity::kTime, kTime},
    {"pfc_response", &SwitchModel::pfc_response_ps, Quantity::kTime, kTime},
    {"max_mtu", &SwitchModel::max_mtu_B, Quantity::kSize, {1500, 65535}},
    {"headroom_method", &SwitchModel::headroom_method},
    {"headroom_pipeline", &SwitchModel::headroom_pipeline_B, Quantity::kSize, kMemory},
    {"headroom_pause_quanta", &SwitchModel::headroom_pause_quanta},
    {"headroom_tile", &SwitchModel::headroom_tile_ps, Quantity::kTime, kTime},
    {"headroom_fixed", &SwitchModel::headroom_fixed_B, Quantity::kSize, kMemory},
    {"headroom_fixed_reserved", &SwitchModel::headroom_fixed_reserved_B, Quantity::kSize, kMemory},
    {"headroom_fixed_xon", &SwitchModel::headroom_fixed_xon_B, Quantity::kSize, kMemory},
    {"headroom_fixed_xon_offset", &SwitchModel::headroom_fixed_xon_offset_B, Quantity::kSize, kMemory},
    {"headroom_pool", &SwitchModel::headroom_pool_B, Quantity::kSize, kMemory},
    {"ingress_pool", &SwitchModel::ingress_pool_B, Quantity::kSize, kMemory},
    {"egress_lossy_pool", &SwitchModel::egress_lossy_pool_B, Quantity::kSize, kMemory},
    {"drop_resume", &SwitchModel::drop_resume_B, Quantity::kSize, {0, 1 << 30}},
    {"max_lossless_priorities", &SwitchModel::max_lossless_priorities, {}, {0, 8}},
    {"fec_autonegotiation", &SwitchModel::fec_autonegotiation},
    {"has_pfc", &SwitchModel::has_pfc},
    {"has_ecn", &SwitchModel::has_ecn},
    {"has_wjh", &SwitchModel::has_wjh},
    {"has_int", &SwitchModel::has_int},
    {"has_ifa", &SwitchModel::has_ifa},
    {"has_erspan", &SwitchModel::has_erspan},
    {"has_adaptive_routing", &SwitchModel::has_adaptive_routing},
    {"cpu_packets_per_s", &SwitchModel::cpu_packets_per_s, {}, {0, 1'000'000'000}},
};

const ModelField<ForwarderModel> kForwarderFields[] = {
    {"description", &ForwarderModel::description},
    {"oui", &ForwarderModel::oui},
    {"port_prefix", &ForwarderModel::port_prefix},
    {"max_mtu", &ForwarderModel::max_mtu_B, Quantity::kSize, {1500, 65535}},
    {"port_latency", &ForwarderModel::port_latency_ps, Quantity::kTime, kTime},
    {"rx_latency", &ForwarderModel::rx_latency_ps, Quantity::kTime, kPositiveTime},
    {"tx_latency", &ForwarderModel::tx_latency_ps, Quantity::kTime, kTime},
    {"cores", &ForwarderModel::cores, {}, {1, 256}},
    {"packet_cost", &ForwarderModel::packet_cost_ps, Quantity::kTime, kPositiveTime},
    {"red_cost", &ForwarderModel::red_cost_ps, Quantity::kTime, kTime},
    {"rx_ring", &ForwarderModel::rx_ring, {}, {1, 1 << 20}},
    {"max_rx_ring", &ForwarderModel::max_rx_ring, {}, {1, 1 << 20}},
    {"rx_usecs", &ForwarderModel::rx_usecs_ps, Quantity::kTime, kTime},
    {"rx_frames", &ForwarderModel::rx_frames, {}, {1, 1 << 16}},
    {"interrupt_latency", &ForwarderModel::interrupt_latency_ps, Quantity::kTime, kTime},
    {"napi_weight", &ForwarderModel::napi_weight, {}, {1, 1 << 16}},
    {"netdev_budget", &ForwarderModel::netdev_budget, {}, {1, 1 << 20}},
    {"softirq_resume", &ForwarderModel::softirq_resume_ps, Quantity::kTime, kTime},
    {"tx_usecs", &ForwarderModel::tx_usecs_ps, Quantity::kTime, kTime},
    {"tx_stall_interval", &ForwarderModel::tx_stall_interval_ps, Quantity::kTime, {0, 3600 * kSecond_ps}},
    {"tx_stall", &ForwarderModel::tx_stall_ps, Quantity::kTime, kPositiveTime},
    {"pfifo_limit", &ForwarderModel::pfifo_limit, {}, {1, 1 << 20}},
};

std::span<const Word<AckTimeoutMode>> words_of(AckTimeoutMode) {
  return kAckTimeoutWords;
}
std::span<const Word<CnpScope>> words_of(CnpScope) {
  return kCnpScopeWords;
}
std::span<const Word<BufferSplit>> words_of(BufferSplit) {
  return kBufferSplitWords;
}
std::span<const Word<HeadroomMethod>> words_of(HeadroomMethod) {
  return kHeadroomMethodWords;
}

// Reads one value by the type of the member.
template <class Model>
struct FieldReader {
  const YamlNode& node;
  const ModelField<Model>& field;
  ProblemList& problems;

  template <class Member>
  std::optional<std::int64_t> operator()(Member Model::*) const {
    if constexpr (std::is_same_v<Member, bool>) {
      return number(read_bool(node, field.key, problems));
    } else if constexpr (std::is_enum_v<Member>) {
      return number(read_choice<Member>(node, field.key, words_of(Member{}), problems));
    } else {
      if (field.quantity) return read_quantity(node, field.key, *field.quantity, field.range, problems);
      const Range<std::uint64_t> range{static_cast<std::uint64_t>(field.range.min),
                                       static_cast<std::uint64_t>(field.range.max)};
      return number(read_unsigned(node, field.key, range, problems));
    }
  }
  std::optional<std::int64_t> operator()(std::string Model::*) const { return std::nullopt; }

  template <class Value>
  static std::optional<std::int64_t> number(const std::optional<Value>& value) {
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
    if (value == nullptr) continue;
    if (const auto number = read_field(*value, field, problems)) set_field(field, *number, "", model);
  }
}

}  // namespace

std::span<const ModelField<NicModel>> nic_fields() {
  return kNicFields;
}
std::span<const ModelField<HostModel>> host_fields() {
  return kHostFields;
}
std::span<const ModelField<GpuModel>> gpu_fields() {
  return kGpuFields;
}
std::span<const ModelField<SwitchModel>> switch_fields() {
  return kSwitchFields;
}
std::span<const ModelField<ForwarderModel>> forwarder_fields() {
  return kForwarderFields;
}
std::span<const Word<AckTimeoutMode>> ack_timeout_words() {
  return kAckTimeoutWords;
}
std::span<const Word<CnpScope>> cnp_scope_words() {
  return kCnpScopeWords;
}
std::span<const Word<BufferSplit>> buffer_split_words() {
  return kBufferSplitWords;
}
std::span<const Word<HeadroomMethod>> headroom_method_words() {
  return kHeadroomMethodWords;
}

template <class Model>
std::optional<std::int64_t> read_field(const YamlNode& node, const ModelField<Model>& field, ProblemList& problems) {
  return std::visit(FieldReader<Model>{node, field, problems}, field.member);
}
template std::optional<std::int64_t> read_field(const YamlNode&, const ModelField<NicModel>&, ProblemList&);
template std::optional<std::int64_t> read_field(const YamlNode&, const ModelField<HostModel>&, ProblemList&);
template std::optional<std::int64_t> read_field(const YamlNode&, const ModelField<GpuModel>&, ProblemList&);
template std::optional<std::int64_t> read_field(const YamlNode&, const ModelField<SwitchModel>&, ProblemList&);
template std::optional<std::int64_t> read_field(const YamlNode&, const ModelField<ForwarderModel>&, ProblemList&);

template <class Model>
void set_field(const ModelField<Model>& field, std::int64_t number, std::string_view text, Model& model) {
  const auto set = [&]<class Member>(Member Model::*member) {
    if constexpr (std::is_same_v<Member, std::string>) {
      model.*member = text;
    } else {
      model.*member = static_cast<Member>(number);
    }
  };
  std::visit(set, field.member);
}
template void set_field(const ModelField<NicModel>&, std::int64_t, std::string_view, NicModel&);
template void set_field(const ModelField<HostModel>&, std::int64_t, std::string_view, HostModel&);
template void set_field(const ModelField<GpuModel>&, std::int64_t, std::string_view, GpuModel&);
template void set_field(const ModelField<SwitchModel>&, std::int64_t, std::string_view, SwitchModel&);
template void set_field(const ModelField<ForwarderModel>&, std::int64_t, std::string_view, ForwarderModel&);

void apply_set(const YamlNode& node, NicModel& model, ProblemList& problems) {
  const NicModel before = model;
  apply(node, nic_fields(), model, problems);
  const auto is_set = [&](std::string_view key) { return node.is_map() && node.find(key) != nullptr; };
  // Thresholds that the lab does not name keep their share of the buffer.
  const auto scaled_B = [&](std::int64_t threshold_B) { return threshold_B * model.rx_buffer_B / before.rx_buffer_B; };
  if (is_set("rx_buffer") && before.rx_buffer_B > 0) {
    if (!is_set("rx_pause_xoff")) model.rx_pause_xoff_B = scaled_B(before.rx_pause_xoff_B);
    if (!is_set("rx_pause_xon")) model.rx_pause_xon_B = scaled_B(before.rx_pause_xon_B);
  }
  if (model.rx_pause_xon_B > model.rx_pause_xoff_B || model.rx_pause_xoff_B > model.rx_buffer_B) {
    problems.add(node.place, "rx_pause_xon, rx_pause_xoff and rx_buffer are out of order",
                 "set them so that rx_pause_xon <= rx_pause_xoff <= rx_buffer");
  }
}
void apply_set(const YamlNode& node, HostModel& model, ProblemList& problems) {
  apply(node, host_fields(), model, problems);
}
void apply_set(const YamlNode& node, SwitchModel& model, ProblemList& problems) {
  apply(node, switch_fields(), model, problems);
}
void apply_set(const YamlNode& node, ForwarderModel& model, ProblemList& problems) {
  apply(node, forwarder_fields(), model, problems);
}

std::vector<std::string_view> settable_nic_keys() {
  return settable_keys(nic_fields());
}
std::vector<std::string_view> settable_host_keys() {
  return settable_keys(host_fields());
}
std::vector<std::string_view> settable_switch_keys() {
  return settable_keys(switch_fields());
}
std::vector<std::string_view> settable_forwarder_keys() {
  return settable_keys(forwarder_fields());
}

}  // namespace weft::lab

#include "catalog/model_fields.h"

#include "base/time.h"
#include "text/yaml_walk.h"

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

constexpr fields::Sizes kTime{0, kSecond_ps};
constexpr fields::Sizes kPositiveTime{1, kSecond_ps};
constexpr fields::Sizes kMemory{0, std::int64_t{1} << 40};
constexpr fields::Sizes kMemoryRate{1, 1'000'000'000'000'000};
constexpr fields::Sizes kPeerRate{0, 10'000'000'000'000};  // 0: no limit of its own
constexpr fields::Sizes kRate{1'000'000'000, 800'000'000'000};

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

constexpr std::string_view kOfModel = "the model's";

constexpr Field<NicModel> kNicFields[] = {
    {"description", text_at<&NicModel::description>(), kOfModel, "what it is"},
    {"driver", text_at<&NicModel::driver>(), kOfModel, "mlx5 or irdma: decides device and counter names"},
    {"pci_id", text_at<&NicModel::pci_id>(), kOfModel, "PCI vendor and device"},
    {"firmware", text_at<&NicModel::firmware>(), kOfModel, "its version"},
    {"oui", text_at<&NicModel::oui>(), kOfModel, "of the made-up MAC addresses"},
    {"line_rate", quantity_at<&NicModel::line_rate_bps>(Quantity::kBitRate, kRate), kOfModel, "of one port"},
    {"internal_rate", quantity_at<&NicModel::internal_rate_bps>(Quantity::kBitRate, kPeerRate), kOfModel,
     "what the embedded switch carries to this card's functions; 0: not known, and packets between functions go at the "
     "line rate"},
    {"ports", number_at<&NicModel::ports>({1, 16}), kOfModel, "how many it has"},
    {"max_netdev_mtu", quantity_at<&NicModel::max_netdev_mtu_B>(Quantity::kSize, {1500, 65535}), kOfModel,
     "largest MTU of an interface"},
    {"pcie_generation", number_at<&NicModel::pcie_generation>({1, 6}), kOfModel, "of PCIe"},
    {"pcie_lanes", number_at<&NicModel::pcie_lanes>({1, 16}), kOfModel, "of one function: 1, 2, 4, 8 or 16"},
    {"pcie_functions_per_port", number_at<&NicModel::pcie_functions_per_port>({1, 4}), kOfModel,
     "DGX Spark: each port is fed by two x4 functions"},
    {"pcie_max_payload", quantity_at<&NicModel::pcie_max_payload_B>(Quantity::kSize, {128, 4096}), kOfModel,
     "a power of two"},
    {"pcie_max_read_request", quantity_at<&NicModel::pcie_max_read_request_B>(Quantity::kSize, {128, 4096}), kOfModel,
     "a power of two"},
    {"pcie_read_requests", number_at<&NicModel::pcie_read_requests>({1, 1024}), kOfModel, "in flight: tags"},
    {"pcie_relaxed_ordering", flag_at<&NicModel::pcie_relaxed_ordering>(), kOfModel,
     "regions are registered for it and the function has it enabled"},
    {"message_rate", quantity_at<&NicModel::message_rate_per_s>(Quantity::kMessageRate, {1, 10'000'000'000}), kOfModel,
     "of the whole NIC"},
    {"wqe_interval", quantity_at<&NicModel::wqe_interval_ps>(Quantity::kTime, kTime), kOfModel,
     "of one queue pair: shortest time between two messages"},
    {"tx_latency", quantity_at<&NicModel::tx_latency_ps>(Quantity::kTime, kTime), kOfModel,
     "from the doorbell at the NIC to the first bit at the port"},
    {"rx_latency", quantity_at<&NicModel::rx_latency_ps>(Quantity::kTime, kTime), kOfModel,
     "from the last bit at the port to the packet checked, when the DMA write leaves"},
    {"response_latency", quantity_at<&NicModel::response_latency_ps>(Quantity::kTime, kTime), kOfModel,
     "from a request checked to an ACK, CNP or response that can leave"},
    {"port_latency", quantity_at<&NicModel::port_latency_ps>(Quantity::kTime, kTime), kOfModel,
     "MAC, PCS and SerDes of one port, one direction, without FEC"},
    {"atomic_interval", quantity_at<&NicModel::atomic_interval_ps>(Quantity::kTime, kTime), kOfModel,
     "shortest time between two atomics"},
    {"read_interval", quantity_at<&NicModel::read_interval_ps>(Quantity::kTime, kTime), kOfModel,
     "of the READ responder: shortest time between two requests that it begins"},
    {"fetch_burst", quantity_at<&NicModel::fetch_burst_B>(Quantity::kSize, {0, 1 << 20}), kOfModel,
     "payload of a message that is in the NIC before its first packet leaves"},
    {"read_turnaround", quantity_at<&NicModel::read_turnaround_ps>(Quantity::kTime, kTime), kOfModel,
     "of one queue pair: from the last bit of a READ's data to the first bit of the next READ's"},
    {"context_cache", number_at<&NicModel::context_cache>({0, 1 << 24}), kOfModel,
     "queue pairs whose contexts the NIC holds; 0: all"},
    {"context_map", number_at<&NicModel::context_map>({0, 1 << 24}), kOfModel,
     "contexts whose place in host memory it knows without asking"},
    {"context_fetches", number_at<&NicModel::context_fetches>({1, 1024}), kOfModel,
     "reads of contexts from host memory at once"},
    {"rx_buffer", quantity_at<&NicModel::rx_buffer_B>(Quantity::kSize, {16 << 10, 1 << 30}), kOfModel,
     "between port and PCIe; what does not fit counts in rx_discards_phy"},
    {"rx_pause_xoff", quantity_at<&NicModel::rx_pause_xoff_B>(Quantity::kSize, {1, 1 << 30}), kOfModel,
     "fill of the receive buffer at which the NIC sends XOFF"},
    {"rx_pause_xon", quantity_at<&NicModel::rx_pause_xon_B>(Quantity::kSize, {0, 1 << 30}), kOfModel,
     "and at which it sends XON"},
    {"rx_sustained", quantity_at<&NicModel::rx_sustained_bps>(Quantity::kBitRate, kPeerRate), kOfModel,
     "what it can receive all the time; 0: the line rate"},
    {"rx_slow_after", quantity_at<&NicModel::rx_slow_after_ps>(Quantity::kTime, kTime), kOfModel,
     "of more than that, until it becomes slow"},
    {"rx_slow", quantity_at<&NicModel::rx_slow_ps>(Quantity::kTime, kTime), kOfModel, "for so long"},
    {"rx_slow_rate", quantity_at<&NicModel::rx_slow_rate_bps>(Quantity::kBitRate, kPeerRate), kOfModel,
     "what then leaves the receive buffer"},
    {"rx_resume", quantity_at<&NicModel::rx_resume_B>(Quantity::kSize, {0, 1 << 30}), kOfModel,
     "what a full buffer falls to before it takes packets again"},
    {"pfc_response", quantity_at<&NicModel::pfc_response_ps>(Quantity::kTime, kTime), kOfModel,
     "from a pause frame received to no new frame of that priority"},
    {"ack_interval", quantity_at<&NicModel::ack_interval_packets>(Quantity::kPackets, {1, 1 << 20}), kOfModel,
     "the responder acknowledges at the latest after so many packets"},
    {"max_rd_atomic", number_at<&NicModel::max_rd_atomic>({1, 255}), kOfModel,
     "outstanding READ and atomic requests of one queue pair"},
    {"max_inline", quantity_at<&NicModel::max_inline_B>(Quantity::kSize, {0, 4096}), kOfModel,
     "data that a WQE can hold"},
    {"end_to_end_credits", flag_at<&NicModel::end_to_end_credits>(), kOfModel,
     "AETH carries receive credits (IBTA 9.7.7.2), else code 31"},
    {"mig_req", flag_at<&NicModel::mig_req>(), kOfModel, "MigReq bit of the BTH (ConnectX 1, E810 0)"},
    {"ack_timeout_mode", choice_at<choice_words<kAckTimeoutWords>, &NicModel::ack_timeout_mode>(), kOfModel,
     "as IBTA says, or as ConnectX does"},
    {"adaptive_timeout", quantity_at<&NicModel::adaptive_timeout_ps>(Quantity::kTime, {ns(100'000), kTime.max}),
     kOfModel, "of `connectx`: the shortest timeout of its own"},
    {"nak_generation", quantity_at<&NicModel::nak_generation_ps>(Quantity::kTime, kTime), kOfModel,
     "from a gap that is seen to a NAK that can leave"},
    {"nak_reaction", quantity_at<&NicModel::nak_reaction_ps>(Quantity::kTime, kTime), kOfModel,
     "from a NAK received to the first retransmission that can leave"},
    {"selective_repeat", flag_at<&NicModel::selective_repeat>(), kOfModel, "of RC queue pairs"},
    {"tx_psn_window", quantity_at<&NicModel::tx_psn_window>(Quantity::kPackets, {1, 1024}), kOfModel,
     "of selective repeat: packets in flight"},
    {"cnp_scope", choice_at<choice_words<kCnpScopeWords>, &NicModel::cnp_scope>(), kOfModel,
     "what min_time_between_cnps counts for"},
    {"min_time_between_cnps", quantity_at<&NicModel::min_time_between_cnps_ps>(Quantity::kTime, kTime), kOfModel,
     "shortest time between two CNPs"},
    {"cnp_generation", quantity_at<&NicModel::cnp_generation_ps>(Quantity::kTime, kTime), kOfModel,
     "from a CE packet checked to a CNP that can leave"},
    {"mild_restart", flag_at<&NicModel::mild_restart>(), kOfModel,
     "slow restart of a queue pair near its line rate costs it little"},
    {"slow_restart", flag_at<&NicModel::slow_restart>(), kOfModel,
     "loss is congestion: a gap asks for a CNP, and the sender reacts to a NAK or timeout"},
};

constexpr Field<HostModel> kHostFields[] = {
    {"description", text_at<&HostModel::description>(), kOfModel, "what it is"},
    {"cpu_kind", text_at<&HostModel::cpu_kind>(), kOfModel, "as NCCL tells them apart"},
    {"gpu_fabric", text_at<&HostModel::gpu_fabric>(), kOfModel, "how its GPUs are joined"},
    {"post_wqe", quantity_at<&HostModel::post_wqe_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "of ibv_post_send: one WQE"},
    {"doorbell", quantity_at<&HostModel::doorbell_ps>(Quantity::kTime, kTime), kOfModel,
     "of ibv_post_send: the doorbell"},
    {"post_loop", quantity_at<&HostModel::post_loop_ps>(Quantity::kTime, kTime), kOfModel,
     "of ibv_post_send: the rest of the call and the benchmark's loop around it"},
    {"post_recv", quantity_at<&HostModel::post_recv_ps>(Quantity::kTime, kPositiveTime), kOfModel, "one ibv_post_recv"},
    {"poll_hit", quantity_at<&HostModel::poll_hit_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "an ibv_poll_cq that finds a CQE, or a load that sees the awaited byte"},
    {"poll_empty", quantity_at<&HostModel::poll_empty_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "an ibv_poll_cq that finds nothing"},
    {"mmio_write", quantity_at<&HostModel::mmio_write_ps>(Quantity::kTime, kTime), kOfModel,
     "from a CPU's store to the doorbell page until the NIC has it"},
    {"dma_read", quantity_at<&HostModel::dma_read_ps>(Quantity::kTime, kTime), kOfModel,
     "from a NIC's read request to the first completion"},
    {"dma_write", quantity_at<&HostModel::dma_write_ps>(Quantity::kTime, kTime), kOfModel,
     "from a NIC's posted write until the CPU can see it"},
    {"memory_jitter", quantity_at<&HostModel::memory_jitter_ps>(Quantity::kTime, kTime), kOfModel,
     "uniform, 0 to this, added to each DMA write that the CPU waits for"},
    {"interrupt_period", quantity_at<&HostModel::interrupt_period_ps>(Quantity::kTime, kTime), kOfModel,
     "of the timer tick or VM exit that steals the polling CPU; 0: never"},
    {"interrupt_cost", quantity_at<&HostModel::interrupt_cost_ps>(Quantity::kTime, kTime), kOfModel,
     "how long it takes"},
    {"interrupt_misses", number_at<&HostModel::interrupt_misses>({0, 100'000}), kOfModel,
     "memory accesses of that interrupt to the NIC's node"},
    {"write_window", quantity_at<&HostModel::write_window_B>(Quantity::kSize, {0, 1 << 24}), kOfModel,
     "posted writes in flight with relaxed ordering; 0: never the limit"},
    {"ordered_write_window", quantity_at<&HostModel::ordered_write_window_B>(Quantity::kSize, {0, 1 << 24}), kOfModel,
     "and without; 0: never the limit"},
    {"peer_rate", quantity_at<&HostModel::peer_rate_bps>(Quantity::kBitRate, kPeerRate), kOfModel,
     "peer to peer through the root complex, both ways together; 0: never the limit"},
    {"peer_latency", quantity_at<&HostModel::peer_latency_ps>(Quantity::kTime, kTime), kOfModel,
     "added to a peer's access that goes through it"},
    {"iotlb_entries", number_at<&HostModel::iotlb_entries>({0, 1 << 20}), kOfModel,
     "of the IOMMU's cache; 0: never the limit"},
    {"iotlb_miss", quantity_at<&HostModel::iotlb_miss_ps>(Quantity::kTime, kTime), kOfModel, "cost of a miss"},
    {"iotlb_walk", quantity_at<&HostModel::iotlb_walk_ps>(Quantity::kTime, kTime), kOfModel,
     "of the page tables: shortest time between two"},
    {"smt_slowdown_percent", number_at<&HostModel::smt_slowdown_percent>({0, 400}), kOfModel,
     "instructions take so much longer while the sibling is busy"},
    {"virtual_machine", flag_at<&HostModel::virtual_machine>(), kOfModel,
     "its CPUs are threads of another machine: interrupts wait for them too"},
    {"sched_slice", quantity_at<&HostModel::sched_slice_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "a thread keeps its CPU so long while others wait"},
    {"sched_balance", quantity_at<&HostModel::sched_balance_ps>(Quantity::kTime, kTime), kOfModel,
     "an idle CPU looks for waiting threads so often, a busy one 16 times less"},
    {"halt_poll", quantity_at<&HostModel::halt_poll_ps>(Quantity::kTime, kTime), kOfModel,
     "a VM's CPU that goes idle keeps its own so long, at most"},
    {"vm_exit", quantity_at<&HostModel::vm_exit_ps>(Quantity::kTime, kTime), kOfModel,
     "from a guest to the host and back"},
    {"wakeup", quantity_at<&HostModel::wakeup_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "from the wake-up of a thread to its first instruction"},
    {"tcp_send_KiB", quantity_at<&HostModel::tcp_send_KiB_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "copy of 1 KiB from the program"},
    {"tcp_receive_KiB", quantity_at<&HostModel::tcp_receive_KiB_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "copy of 1 KiB to the program"},
    {"tcp_remote_KiB", quantity_at<&HostModel::tcp_remote_KiB_ps>(Quantity::kTime, kTime), kOfModel,
     "more for each KiB that the interrupt of another CPU received: caches"},
    {"tcp_send_skb", quantity_at<&HostModel::tcp_send_skb_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "one aggregate of up to 64 KB through TCP, qdisc and driver (TSO)"},
    {"tcp_receive_packet", quantity_at<&HostModel::tcp_receive_packet_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "one packet through driver and GRO"},
    {"tcp_receive_skb", quantity_at<&HostModel::tcp_receive_skb_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "one aggregate through IP and TCP, the wake-up of its reader included"},
    {"tcp_ack", quantity_at<&HostModel::tcp_ack_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "an ACK that is sent, or one that is processed"},
    {"rx_ring", number_at<&HostModel::rx_ring>({16, 65536}), kOfModel, "receive descriptors of a queue: ethtool -G rx"},
    {"rx_usecs", quantity_at<&HostModel::rx_usecs_ps>(Quantity::kTime, kTime), kOfModel,
     "interrupt moderation: ethtool -C rx-usecs"},
};

constexpr Field<GpuModel> kGpuFields[] = {
    {"description", text_at<&GpuModel::description>(), kOfModel, "of the catalog"},
    {"memory", text_at<&GpuModel::memory>(), kOfModel, "of the catalog"},
    {"memory_bandwidth", text_at<&GpuModel::memory_bandwidth>(), kOfModel, "of the catalog"},
    {"pcie", text_at<&GpuModel::pcie>(), kOfModel, "of the catalog"},
    {"gpu_link", text_at<&GpuModel::gpu_link>(), kOfModel, "of the catalog"},
    {"gpudirect", text_at<&GpuModel::gpudirect>(), kOfModel, "of the catalog"},
    {"api", text_at<&GpuModel::api>(), kOfModel, "of the catalog"},
    {"bar", quantity_at<&GpuModel::bar_B>(Quantity::kSize, kMemory), kOfModel, "of the catalog"},
    {"pcie_generation", number_at<&GpuModel::pcie_generation>({0, 6}), kOfModel, "of the catalog"},
    {"pcie_lanes", number_at<&GpuModel::pcie_lanes>({0, 16}), kOfModel, "of the catalog"},
    {"completion", quantity_at<&GpuModel::completion_B>(Quantity::kSize, {64, 4096}), kOfModel, "of the catalog"},
    {"peer_read", quantity_at<&GpuModel::peer_read_bps>(Quantity::kBitRate, kPeerRate), kOfModel, "of the catalog"},
    {"peer_write", quantity_at<&GpuModel::peer_write_bps>(Quantity::kBitRate, kPeerRate), kOfModel, "of the catalog"},
    {"peer_latency", quantity_at<&GpuModel::peer_latency_ps>(Quantity::kTime, kTime), kOfModel, "of the catalog"},
    {"peermem", flag_at<&GpuModel::peermem>(), kOfModel, "of the catalog"},
    {"dmabuf", flag_at<&GpuModel::dmabuf>(), kOfModel, "of the catalog"},
    {"compute_capability", number_at<&GpuModel::compute_capability>({0, 999}), kOfModel, "of the catalog"},
    {"sms", number_at<&GpuModel::sms>({1, 1024}), kOfModel, "of the catalog"},
    {"bf16_TFLOPS", number_at<&GpuModel::bf16_TFLOPS>({1, 100'000}), kOfModel, "of the catalog"},
    {"memory_size", quantity_at<&GpuModel::memory_B>(Quantity::kSize, kMemory), kOfModel, "of the catalog"},
    {"memory_rate", quantity_at<&GpuModel::memory_rate_bps>(Quantity::kBitRate, kMemoryRate), kOfModel,
     "of the catalog"},
    {"links", number_at<&GpuModel::links>({0, 64}), kOfModel, "of the catalog"},
    {"link_rate", quantity_at<&GpuModel::link_rate_bps>(Quantity::kBitRate, kPeerRate), kOfModel, "of the catalog"},
    {"nccl_link_rate", quantity_at<&GpuModel::nccl_link_rate_bps>(Quantity::kBitRate, kPeerRate), kOfModel,
     "of the catalog"},
    {"gpu_fabric", text_at<&GpuModel::gpu_fabric>(), kOfModel, "of the catalog"},
    {"kernel_launch", quantity_at<&GpuModel::kernel_launch_ps>(Quantity::kTime, kTime), kOfModel, "of the catalog"},
};

constexpr Field<SwitchModel> kSwitchFields[] = {
    {"description", text_at<&SwitchModel::description>(), kOfModel, "what it is"},
    {"asic", text_at<&SwitchModel::asic>(), kOfModel, "its chip"},
    {"oui", text_at<&SwitchModel::oui>(), kOfModel, "of the made-up MAC addresses"},
    {"sonic_platform", text_at<&SwitchModel::sonic_platform>(), kOfModel, "SONiC's name of it"},
    {"port_prefix", text_at<&SwitchModel::port_prefix>(), kOfModel, "swp names ports swp1, swp2, …"},
    {"buffer", quantity_at<&SwitchModel::buffer_B>(Quantity::kSize, {64 << 10, kMemory.max}), kOfModel,
     "usable packet memory"},
    {"cell", quantity_at<&SwitchModel::cell_B>(Quantity::kSize, {1, 64 << 10}), kOfModel, "unit of the packet memory"},
    {"buffer_split", choice_at<choice_words<kBufferSplitWords>, &SwitchModel::buffer_split>(), kOfModel,
     "how ports share the packet memory"},
    {"buffer_slices", number_at<&SwitchModel::buffer_slices>({1, 64}), kOfModel, "memories of the split"},
    {"pipes", number_at<&SwitchModel::pipes>({1, 64}), kOfModel, "ports are dealt to pipes in equal runs"},
    {"cut_through", flag_at<&SwitchModel::cut_through>(), kOfModel, "a frame leaves before it has come whole"},
    {"pipeline", quantity_at<&SwitchModel::pipeline_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "from the header at the ingress MAC to a frame that can start at an idle egress"},
    {"port_latency", quantity_at<&SwitchModel::port_latency_ps>(Quantity::kTime, kTime), kOfModel,
     "MAC, PCS and SerDes of one port, one direction, without FEC"},
    {"pfc_response", quantity_at<&SwitchModel::pfc_response_ps>(Quantity::kTime, kTime), kOfModel,
     "from a pause frame received to no new frame of that priority"},
    {"max_mtu", quantity_at<&SwitchModel::max_mtu_B>(Quantity::kSize, {1500, 65535}), kOfModel, "largest IP packet"},
    {"headroom_method", choice_at<choice_words<kHeadroomMethodWords>, &SwitchModel::headroom_method>(), kOfModel,
     "how the vendor sizes lossless headroom"},
    {"headroom_pipeline", quantity_at<&SwitchModel::headroom_pipeline_B>(Quantity::kSize, kMemory), kOfModel,
     "of `spectrum`: the term of the pipeline, also XON"},
    {"headroom_pause_quanta", flag_at<&SwitchModel::headroom_pause_quanta>(), kOfModel,
     "of `spectrum`: the peer's response from 802.3 31B.3.7 instead of 3.8 KiB"},
    {"headroom_tile", quantity_at<&SwitchModel::headroom_tile_ps>(Quantity::kTime, kTime), kOfModel,
     "of `spectrum`: Spectrum-4's tile crossing"},
    {"headroom_fixed", quantity_at<&SwitchModel::headroom_fixed_B>(Quantity::kSize, kMemory), kOfModel,
     "of `fixed`: XOFF"},
    {"headroom_fixed_reserved", quantity_at<&SwitchModel::headroom_fixed_reserved_B>(Quantity::kSize, kMemory),
     kOfModel, "of `fixed`: what a group has for itself"},
    {"headroom_fixed_xon", quantity_at<&SwitchModel::headroom_fixed_xon_B>(Quantity::kSize, kMemory), kOfModel,
     "of `fixed`: XON"},
    {"headroom_fixed_xon_offset", quantity_at<&SwitchModel::headroom_fixed_xon_offset_B>(Quantity::kSize, kMemory),
     kOfModel, "of `fixed`: the offset of XON"},
    {"headroom_pool", quantity_at<&SwitchModel::headroom_pool_B>(Quantity::kSize, kMemory), kOfModel,
     "shared headroom pool of the default configuration; 0 B: own headroom"},
    {"ingress_pool", quantity_at<&SwitchModel::ingress_pool_B>(Quantity::kSize, kMemory), kOfModel,
     "shared ingress pool of the default configuration"},
    {"egress_lossy_pool", quantity_at<&SwitchModel::egress_lossy_pool_B>(Quantity::kSize, kMemory), kOfModel,
     "pool of lossy queues of the default configuration"},
    {"drop_resume", quantity_at<&SwitchModel::drop_resume_B>(Quantity::kSize, {0, 1 << 30}), kOfModel,
     "a queue that dropped takes packets again when it is shorter by this"},
    {"max_lossless_priorities", number_at<&SwitchModel::max_lossless_priorities>({0, 8}), kOfModel,
     "that the device supports"},
    {"fec_autonegotiation", flag_at<&SwitchModel::fec_autonegotiation>(), kOfModel,
     "false: RS-FEC must be set at both ends, or the link may stay down"},
    {"has_pfc", flag_at<&SwitchModel::has_pfc>(), kOfModel, "the device has PFC"},
    {"has_ecn", flag_at<&SwitchModel::has_ecn>(), kOfModel, "the device marks"},
    {"has_wjh", flag_at<&SwitchModel::has_wjh>(), kOfModel, "the device has What Just Happened"},
    {"has_int", flag_at<&SwitchModel::has_int>(), kOfModel, "the device writes INT"},
    {"has_ifa", flag_at<&SwitchModel::has_ifa>(), kOfModel, "the device writes IFA"},
    {"has_erspan", flag_at<&SwitchModel::has_erspan>(), kOfModel, "the device mirrors by ERSPAN"},
    {"has_adaptive_routing", flag_at<&SwitchModel::has_adaptive_routing>(), kOfModel, "the device balances by load"},
    {"cpu_packets_per_s", number_at<&SwitchModel::cpu_packets_per_s>({0, 1'000'000'000}), kOfModel,
     "of what is not forwarded in hardware"},
};

constexpr Field<ForwarderModel> kForwarderFields[] = {
    {"description", text_at<&ForwarderModel::description>(), kOfModel, "what it is"},
    {"oui", text_at<&ForwarderModel::oui>(), kOfModel, "of the made-up MAC addresses"},
    {"port_prefix", text_at<&ForwarderModel::port_prefix>(), kOfModel, "eth names ports eth1, eth2, …"},
    {"max_mtu", quantity_at<&ForwarderModel::max_mtu_B>(Quantity::kSize, {1500, 65535}), kOfModel, "largest IP packet"},
    {"port_latency", quantity_at<&ForwarderModel::port_latency_ps>(Quantity::kTime, kTime), kOfModel,
     "MAC, PCS and SerDes of one port, one direction, without FEC"},
    {"rx_latency", quantity_at<&ForwarderModel::rx_latency_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "from the last bit at the MAC to frame and completion in host memory"},
    {"tx_latency", quantity_at<&ForwarderModel::tx_latency_ps>(Quantity::kTime, kTime), kOfModel,
     "from the doorbell to the first bit at the MAC"},
    {"cores", number_at<&ForwarderModel::cores>({1, 256}), kOfModel,
     "softirq CPUs: each has one RX queue of each port"},
    {"packet_cost", quantity_at<&ForwarderModel::packet_cost_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "of a CPU, for one packet from the ring to the doorbell"},
    {"red_cost", quantity_at<&ForwarderModel::red_cost_ps>(Quantity::kTime, kTime), kOfModel,
     "more than that through a red at the root, which one lock guards"},
    {"rx_ring", number_at<&ForwarderModel::rx_ring>({1, 1 << 20}), kOfModel,
     "descriptors of each RX queue (ethtool -G)"},
    {"max_rx_ring", number_at<&ForwarderModel::max_rx_ring>({1, 1 << 20}), kOfModel, "most that the driver takes"},
    {"rx_usecs", quantity_at<&ForwarderModel::rx_usecs_ps>(Quantity::kTime, kTime), kOfModel,
     "interrupt moderation (ethtool -C): after the first packet"},
    {"rx_frames", number_at<&ForwarderModel::rx_frames>({1, 1 << 16}), kOfModel,
     "interrupt moderation: after so many packets"},
    {"interrupt_latency", quantity_at<&ForwarderModel::interrupt_latency_ps>(Quantity::kTime, kTime), kOfModel,
     "from the interrupt to the first poll"},
    {"napi_weight", number_at<&ForwarderModel::napi_weight>({1, 1 << 16}), kOfModel,
     "packets of one poll; their descriptors are free again when it ends"},
    {"netdev_budget", number_at<&ForwarderModel::netdev_budget>({1, 1 << 20}), kOfModel,
     "packets of one softirq run (net.core.netdev_budget)"},
    {"softirq_resume", quantity_at<&ForwarderModel::softirq_resume_ps>(Quantity::kTime, kTime), kOfModel,
     "from the end of the budget until ksoftirqd polls on"},
    {"tx_usecs", quantity_at<&ForwarderModel::tx_usecs_ps>(Quantity::kTime, kTime), kOfModel,
     "completions of sent packets are seen so much later"},
    {"tx_stall_interval", quantity_at<&ForwarderModel::tx_stall_interval_ps>(Quantity::kTime, {0, 3600 * kSecond_ps}),
     kOfModel, "mean time between hold-ups of the CPU that takes completions; 0: there are none"},
    {"tx_stall", quantity_at<&ForwarderModel::tx_stall_ps>(Quantity::kTime, kPositiveTime), kOfModel,
     "mean length of one"},
    {"pfifo_limit", number_at<&ForwarderModel::pfifo_limit>({1, 1 << 20}), kOfModel,
     "packets (txqueuelen): the qdisc of a port whose lab names none"},
};

template <const auto& Fields>
constexpr std::size_t kLeadingTexts = [] {
  std::size_t texts = 0;
  while (Fields[texts].info.value.kind == FieldKind::kText) ++texts;
  return texts;
}();

// Without the texts at the beginning.
template <const auto& Fields>
constexpr auto values_of(std::string_view name, std::string_view help) {
  auto section = section_of<Fields>(name, help);
  section.fields = {std::size(Fields) - kLeadingTexts<Fields>,
                    [](std::size_t index) -> const FieldInfo& { return Fields[kLeadingTexts<Fields> + index].info; }};
  return section;
}

template <class Model>
void apply(const YamlNode& node, const SectionOf<Model>& keys, Model& model, ProblemList& problems) {
  MapReader(node, "set", keys, problems).read(keys, model);
}

}  // namespace

FieldList nic_fields() {
  return list_of<kNicFields>();
}
FieldList host_fields() {
  return list_of<kHostFields>();
}
FieldList gpu_fields() {
  return list_of<kGpuFields>();
}
FieldList switch_fields() {
  return list_of<kSwitchFields>();
}
FieldList forwarder_fields() {
  return list_of<kForwarderFields>();
}

// What a device is (the texts, which come first) is not for a lab to change.
constinit const SectionOf<NicModel> kNicSetKeys = values_of<kNicFields>(
    "nic_set", "values of the NIC model that this lab changes; weft catalog show NAME lists them");
constinit const SectionOf<HostModel> kHostSetKeys = values_of<kHostFields>(
    "host_set", "values of the host profile that this lab changes; weft catalog show NAME lists them");
constinit const SectionOf<SwitchModel> kSwitchSetKeys = values_of<kSwitchFields>(
    "switch_set", "values of the switch model that this lab changes; weft catalog show NAME lists them");
constinit const SectionOf<ForwarderModel> kForwarderSetKeys = values_of<kForwarderFields>(
    "forwarder_set", "values of the forwarder model that this lab changes; weft catalog show NAME lists them");

void apply_set(const YamlNode& node, NicModel& model, ProblemList& problems) {
  const NicModel before = model;
  apply(node, kNicSetKeys, model, problems);
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
  apply(node, kHostSetKeys, model, problems);
}
void apply_set(const YamlNode& node, SwitchModel& model, ProblemList& problems) {
  apply(node, kSwitchSetKeys, model, problems);
}
void apply_set(const YamlNode& node, ForwarderModel& model, ProblemList& problems) {
  apply(node, kForwarderSetKeys, model, problems);
}

}  // namespace weft::lab

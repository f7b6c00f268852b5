// Capabilities of a device and its port. Values that the world does not model are those that mlx5 answers; what this
// library cannot do is not claimed (raw packets, receive hashing, tag matching).
#include <endian.h>

#include <cerrno>
#include <cstring>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {
namespace {

constexpr std::uint8_t kAckDelay = 16;           // local_ca_ack_delay of mlx5
constexpr std::uint64_t kPageSizes = ~0xfffULL;  // 4 KiB and every larger power of two
constexpr std::uint16_t kPkeys = 128;            // as mlx5 says of the device; its Ethernet port has one
constexpr int kQpsOfMulticastGroup = 240;

constexpr std::uint64_t kTimestampClock_kHz = 1'000'000;

int number(std::uint32_t value) {
  return static_cast<int>(value);
}

void fill(const DeviceInfo& info, ibv_device_attr& attr) {
  attr = {};
  std::memcpy(attr.fw_ver, info.firmware, sizeof attr.fw_ver);
  attr.node_guid = htobe64(info.node_guid);
  attr.sys_image_guid = htobe64(info.system_guid);
  attr.max_mr_size = info.max_mr_size;
  attr.page_size_cap = kPageSizes;
  attr.vendor_id = info.vendor_id;
  attr.vendor_part_id = info.vendor_part_id;
  attr.hw_ver = info.hw_ver;
  attr.max_qp = number(info.max_qp);
  attr.max_qp_wr = number(info.max_qp_wr);
  attr.device_cap_flags = IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_PORT_ACTIVE_EVENT |
                          IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |
                          IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_XRC;
  attr.max_mw = number(info.max_mr);
  attr.max_sge = attr.max_sge_rd = attr.max_srq_sge = number(info.max_sge);
  attr.max_cq = number(info.max_cq);
  attr.max_cqe = number(info.max_cqe);
  attr.max_mr = number(info.max_mr);
  attr.max_pd = number(info.max_pd);
  attr.max_qp_rd_atom = attr.max_qp_init_rd_atom = number(info.max_rd_atomic);
  const std::uint64_t all_rd_atomic = std::uint64_t{info.max_rd_atomic} * info.max_qp;
  attr.max_res_rd_atom = static_cast<int>(all_rd_atomic < INT32_MAX ? all_rd_atomic : INT32_MAX);
  attr.atomic_cap = IBV_ATOMIC_HCA;
  attr.max_mcast_grp = number(info.max_mcast_grp);
  attr.max_mcast_qp_attach = kQpsOfMulticastGroup;
  const std::uint64_t all_attached = std::uint64_t{info.max_mcast_grp} * kQpsOfMulticastGroup;
  attr.max_total_mcast_qp_attach = static_cast<int>(all_attached < INT32_MAX ? all_attached : INT32_MAX);
  attr.max_ah = number(info.max_ah);
  attr.max_srq = number(info.max_srq);
  attr.max_srq_wr = number(info.max_srq_wr);
  attr.max_pkeys = kPkeys;
  attr.local_ca_ack_delay = kAckDelay;
  attr.phys_port_cnt = 1;
}

void fill(const DeviceInfo& info, ibv_port_attr& attr) {
  attr = {};
  attr.state = static_cast<ibv_port_state>(info.port_state);
  attr.max_mtu = static_cast<ibv_mtu>(info.max_mtu);
  attr.active_mtu = static_cast<ibv_mtu>(info.active_mtu);
  attr.gid_tbl_len = kGidTable;
  attr.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
  attr.max_msg_sz = info.max_msg_B;
  attr.pkey_tbl_len = 1;
  attr.active_width = static_cast<std::uint8_t>(info.active_width);
  attr.active_speed = static_cast<std::uint8_t>(info.active_speed);
  attr.phys_state = static_cast<std::uint8_t>(info.phys_state);
  attr.link_layer = IBV_LINK_LAYER_ETHERNET;
  attr.flags = IBV_QPF_GRH_REQUIRED;
}

}  // namespace

// Programs that were compiled with another rdma-core have a shorter or a longer struct.
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    std::size_t attr_B) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (attr_B < sizeof(ibv_device_attr)) return EINVAL;
  ibv_device_attr_ex full{};
  fill(device_info(*context), full.orig_attr);
  full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
  full.phys_port_cnt_ex = 1;
  // Answers of mlx5 for a ConnectX-5. A page of a program that is not there is there when the device asks for it.
  constexpr std::uint32_t kAllOdp = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
                                    IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
  full.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  full.odp_caps.per_transport_caps.rc_odp_caps = kAllOdp;
  full.odp_caps.per_transport_caps.ud_odp_caps = IBV_ODP_SUPPORT_SEND;
  full.xrc_odp_caps = kAllOdp;
  full.completion_timestamp_mask = UINT64_MAX;
  full.hca_core_clock = kTimestampClock_kHz;
  full.cq_mod_caps.max_cq_count = full.cq_mod_caps.max_cq_period = 0xffff;
  full.max_dm_size = device_info(*context).max_dm_B;
  std::memset(static_cast<void*>(attr), 0, attr_B);
  std::memcpy(static_cast<void*>(attr), &full, attr_B < sizeof full ? attr_B : sizeof full);
  return 0;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t attr_B) {
  if (port != kPort) return EINVAL;
  DeviceInfo info;
  if (const int error = read_device(*static_cast<Device*>(context->device), info); error != 0) return error;
  ibv_port_attr full;
  fill(info, full);
  std::memset(static_cast<void*>(attr), 0, attr_B);
  std::memcpy(static_cast<void*>(attr), &full, attr_B < sizeof full ? attr_B : sizeof full);
  return 0;
}

}  // namespace weft::verbs

using namespace weft::verbs;

int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  fill(device_info(*context), *attr);
  return 0;
}

// Programs from before 2018, and those that look the name up, have a struct that ends before port_cap_flags2.
#undef ibv_query_port
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attr) {
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attr), offsetof(ibv_port_attr, port_cap_flags2));
}

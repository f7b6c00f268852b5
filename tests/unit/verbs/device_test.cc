#include <arpa/inet.h>

#include <cerrno>
#include <cstring>

#include "unit/verbs/setting.h"

namespace weft::verbs {
namespace {

class DeviceQuery : public Setting {};

TEST_F(DeviceQuery, ListEndsWithNull) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_EQ(count, 1);
  EXPECT_STREQ(ibv_get_device_name(list[0]), "mlx5_0");
  EXPECT_STREQ(list[0]->ibdev_path, "/sys/class/infiniband/mlx5_0");
  EXPECT_EQ(list[0]->node_type, IBV_NODE_CA);
  EXPECT_EQ(list[1], nullptr);
  const std::uint8_t kGuid[] = {0x0c, 0x42, 0xa1, 0x03, 0x00, 0x12, 0xab, 0xcd};
  const __be64 guid = ibv_get_device_guid(list[0]);
  EXPECT_EQ(std::memcmp(&guid, kGuid, sizeof guid), 0);
  ibv_free_device_list(list);
}

TEST_F(DeviceQuery, PortQueryIsNotCached) {
  ibv_port_attr attr;
  ASSERT_EQ(ibv_query_port(context, 1, &attr), 0);
  EXPECT_EQ(attr.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(attr.active_speed, 32);
  fake_world().device.port_state = IBV_PORT_DOWN;
  ASSERT_EQ(ibv_query_port(context, 1, &attr), 0);
  EXPECT_EQ(attr.state, IBV_PORT_DOWN);
  EXPECT_EQ(ibv_query_port(context, 2, &attr), EINVAL);
}

// The symbol itself, which old programs and NCCL call, knows a struct of 48 bytes.
TEST_F(DeviceQuery, OldPortStructIsNotOverrun) {
  std::uint8_t bytes[64];
  std::memset(bytes, 0xee, sizeof bytes);
  ASSERT_EQ((ibv_query_port)(context, 1, reinterpret_cast<_compat_ibv_port_attr*>(bytes)), 0);
  EXPECT_EQ(bytes[0], IBV_PORT_ACTIVE);
  EXPECT_NE(bytes[47], 0xee);
  for (std::size_t i = 48; i < sizeof bytes; ++i) EXPECT_EQ(bytes[i], 0xee) << i;
}

TEST_F(DeviceQuery, GidsBeyondLastAreEmpty) {
  ibv_gid gid;
  ASSERT_EQ(ibv_query_gid(context, 1, 3, &gid), 0);
  const std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  EXPECT_EQ(std::memcmp(gid.raw, kMapped, sizeof kMapped), 0);
  ASSERT_EQ(ibv_query_gid(context, 1, 254, &gid), 0);
  EXPECT_EQ(gid.global.interface_id, 0u);
  EXPECT_EQ(ibv_query_gid(context, 1, 255, &gid), -1);

  ibv_gid_entry entry;
  ASSERT_EQ(ibv_query_gid_ex(context, 1, 2, &entry, 0), 0);
  EXPECT_EQ(entry.gid_type, static_cast<std::uint32_t>(IBV_GID_TYPE_ROCE_V1));
  EXPECT_EQ(ibv_query_gid_ex(context, 1, 4, &entry, 0), ENODATA);
  ibv_gid_entry table[8];
  ASSERT_EQ(ibv_query_gid_table(context, table, 8, 0), 4);
  EXPECT_EQ(table[3].gid_index, 3u);
  EXPECT_EQ(table[3].gid_type, static_cast<std::uint32_t>(IBV_GID_TYPE_ROCE_V2));
  EXPECT_EQ(ibv_query_gid_table(context, table, 2, 0), -EINVAL) << "no room for all of them, as on Linux";

  __be16 pkey = 0;
  ASSERT_EQ(ibv_query_pkey(context, 1, 0, &pkey), 0);
  EXPECT_EQ(pkey, 0xffff);
}

TEST_F(DeviceQuery, QueuePairsReportActualCapabilities) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {5, 7, 3, 2, 100};
  init.qp_type = IBV_QPT_RC;
  ibv_qp* qp = ibv_create_qp(pd, &init);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(init.cap.max_send_wr, 8u);  // the ring has a power of two
  EXPECT_EQ(init.cap.max_recv_wr, 8u);
  EXPECT_GE(init.cap.max_send_sge, 3u);
  EXPECT_EQ(init.cap.max_recv_sge, 2u);
  EXPECT_GE(init.cap.max_inline_data, 100u);

  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = 0x123456;
  attr.min_rnr_timer = 12;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.dgid.raw[15] = 9;
  attr.ah_attr.grh.sgid_index = 3;
  attr.ah_attr.grh.traffic_class = 106;
  const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_MIN_RNR_TIMER;
  EXPECT_EQ(ibv_modify_qp(qp, &attr, mask), EINVAL);  // no GRH: there is no RoCE without
  attr.ah_attr.is_global = 1;
  ASSERT_EQ(ibv_modify_qp(qp, &attr, mask), 0);
  EXPECT_EQ(qp->state, IBV_QPS_RTR);
  ibv_qp_attr now;
  ibv_qp_init_attr how;
  ASSERT_EQ(ibv_query_qp(qp, &now, mask, &how), 0);
  EXPECT_EQ(now.path_mtu, IBV_MTU_4096);
  EXPECT_EQ(now.dest_qp_num, 0x123456u);
  EXPECT_EQ(now.min_rnr_timer, 12);
  EXPECT_EQ(now.ah_attr.grh.dgid.raw[15], 9);
  EXPECT_EQ(now.ah_attr.grh.sgid_index, 3);
  EXPECT_EQ(now.ah_attr.grh.traffic_class, 106);
  EXPECT_EQ(how.qp_type, IBV_QPT_RC);
  EXPECT_EQ(how.cap.max_send_wr, 8u);
}

TEST_F(DeviceQuery, MemoryKeepsAddresses) {
  char buffer[64];
  ibv_mr* mr = ibv_reg_mr_iova2(pd, buffer, sizeof buffer, 0x500000, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->lkey, 0x1000u);
  EXPECT_EQ(mr->rkey, 0x2000u);
  EXPECT_EQ(mr->addr, buffer);
  EXPECT_EQ(fake_world().last_mr.iova, 0x500000u);
  EXPECT_EQ(fake_world().last_mr.address, reinterpret_cast<std::uintptr_t>(buffer));
  EXPECT_EQ(fake_world().last_mr.length_B, sizeof buffer);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ((ibv_reg_mr)(pd, buffer, sizeof buffer, IBV_ACCESS_REMOTE_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

// RFC 1071's sum over 45 00 00 30 00 00 40 00 40 11 .... 0a 00 00 02 0a 00 00 01, worked out by hand: 0x26bb.
TEST_F(DeviceQuery, AddressHandleFromCompletionTargetsSender) {
  std::uint8_t bytes[40] = {};
  const std::uint8_t kIpv4[] = {0x45, 0, 0, 0x30, 0, 0, 0x40, 0, 0x40, 0x11, 0x26, 0xbb, 10, 0, 0, 2, 10, 0, 0, 1};
  std::memcpy(bytes + 20, kIpv4, sizeof kIpv4);
  ibv_grh grh;
  std::memcpy(&grh, bytes, sizeof grh);
  ibv_wc wc{};
  wc.wc_flags = IBV_WC_GRH;
  ASSERT_NE(ibv_create_ah_from_wc(pd, &wc, &grh, 1), nullptr);
  const std::uint8_t kSender[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2};
  EXPECT_EQ(std::memcmp(fake_world().last_ah.attr.dgid, kSender, sizeof kSender), 0);
  EXPECT_EQ(fake_world().last_ah.attr.sgid_index, 3u);

  // IPv6, from fe80::2 to our link-local address.
  std::memset(bytes, 0, sizeof bytes);
  bytes[0] = 0x60;
  bytes[8] = 0xfe;
  bytes[9] = 0x80;
  bytes[23] = 2;
  std::memcpy(bytes + 24, fake_world().device.gids[0].raw, 16);
  std::memcpy(&grh, bytes, sizeof grh);
  ASSERT_NE(ibv_create_ah_from_wc(pd, &wc, &grh, 1), nullptr);
  EXPECT_EQ(fake_world().last_ah.attr.dgid[15], 2);
  EXPECT_EQ(fake_world().last_ah.attr.sgid_index, 1u);
  bytes[39] ^= 1;  // not to us
  std::memcpy(&grh, bytes, sizeof grh);
  EXPECT_EQ(ibv_create_ah_from_wc(pd, &wc, &grh, 1), nullptr);
}

// As rdma-core 44 answers. Four lanes of FDR are 4 x 14.0625 Gb/s, which is no whole multiple of 2.5.
TEST(Rates, MatchStandard) {
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_40_GBPS), 16);
  EXPECT_EQ(mult_to_ibv_rate(48), IBV_RATE_120_GBPS);
  EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_56_GBPS), 56250);
  EXPECT_EQ(mbps_to_ibv_rate(10000), IBV_RATE_10_GBPS);
  EXPECT_EQ(mbps_to_ibv_rate(1), IBV_RATE_MAX);
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_MAX), -1);
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_56_GBPS), -1);
  EXPECT_EQ(mult_to_ibv_rate(0), IBV_RATE_MAX);
}

TEST(Names, MatchRdmaCore) {
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR), "transport retry counter exceeded");
  EXPECT_STREQ(ibv_wc_status_str(static_cast<ibv_wc_status>(31)), "unknown");
  EXPECT_STREQ(ibv_event_type_str(IBV_EVENT_PORT_ERR), "port error");
  EXPECT_STREQ(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
}

}  // namespace
}  // namespace weft::verbs

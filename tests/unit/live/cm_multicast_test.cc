// Joining multicast groups through the communication manager.
#include <gtest/gtest.h>

#include "unit/live/cm_pair.h"
#include "wire/ipv6.h"

namespace weft::live {
namespace {

verbs::Address ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  verbs::Address address{};
  const wire::IpAddress mapped = wire::ipv4_mapped(a, b, c, d);
  std::copy(mapped.begin(), mapped.end(), address.bytes);
  return address;
}

struct JoiningPair : CmPair {
  JoiningPair() : id(make_id(kClient, RDMA_PS_UDP)) {}
  std::uint32_t bind() {
    ask<verbs::CmIdInfo>(kClient, Op::kCmBind, verbs::CmAddress{id, 0, address_of(kClient)});
    return id;
  }
  int join(const verbs::Address& group, std::uint64_t cookie) {
    return call(kClient, Op::kCmJoin, verbs::CmGroup{id, 0, cookie, group}).error;
  }
  std::uint32_t id;
};

TEST(CmMulticast, JoinNamesGroupAndItsQueuePair) {
  JoiningPair pair;
  EXPECT_EQ(pair.join(ipv4(239, 1, 2, 3), 77), EINVAL) << "not bound to a device";
  pair.bind();
  EXPECT_EQ(pair.join(ipv4(10, 0, 0, 1), 77), EINVAL) << "no group";
  ASSERT_EQ(pair.join(ipv4(239, 1, 2, 3), 77), 0);
  const verbs::CmEvent event = pair.event(kClient);
  EXPECT_EQ(event.type, RDMA_CM_EVENT_MULTICAST_JOIN);
  EXPECT_EQ(event.status, 0);
  EXPECT_EQ(event.listen_cookie, 77U);
  EXPECT_EQ(event.conn.qpn, 0xffffffU);
  EXPECT_EQ(event.conn.qkey, static_cast<std::uint32_t>(RDMA_UDP_QKEY));
  const verbs::Address group = ipv4(239, 1, 2, 3);
  EXPECT_EQ(std::memcmp(&event.info.remote, &group, sizeof group), 0);
}

TEST(CmMulticast, LeaveTakesBackUnseenJoin) {
  JoiningPair pair;
  pair.bind();
  ASSERT_EQ(pair.join(ipv4(239, 1, 2, 3), 77), 0);
  ASSERT_EQ(pair.join(ipv4(239, 1, 2, 4), 78), 0);
  EXPECT_EQ(pair.call(kClient, Op::kCmLeave, verbs::CmGroup{pair.id, 0, 77, ipv4(239, 1, 2, 3)}).error, 0);
  EXPECT_EQ(pair.event(kClient).listen_cookie, 78U);
  EXPECT_FALSE(pair.poll(kClient));
}

// A group is no host's: it needs no answer.
TEST(CmMulticast, ResolvesGroupAtOnce) {
  JoiningPair pair;
  const verbs::CmResolve to{pair.id, 1000, 0, 0, ipv4(239, 1, 2, 3), {}};
  EXPECT_EQ(pair.call(kClient, Op::kCmResolveAddress, to).error, 0);
  EXPECT_EQ(pair.event(kClient).type, RDMA_CM_EVENT_ADDR_RESOLVED);
}

}  // namespace
}  // namespace weft::live

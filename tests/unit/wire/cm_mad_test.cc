#include "wire/cm_mad.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unit/wire/arbitrary.h"
#include "unit/wire/hex.h"

namespace weft::wire {
namespace {

Bytes part(const Mad& mad, std::size_t at, std::size_t size_B) {
  return Bytes(mad).subspan(at, size_B);
}
void expect_bytes(const Mad& mad, std::size_t at, const char* text) {
  const auto wanted = hex(text);
  const Bytes is = part(mad, at, wanted.size());
  EXPECT_TRUE(std::equal(is.begin(), is.end(), wanted.begin(), wanted.end())) << "at byte " << at << ": " << text;
}

Gid any_gid() {
  return any_bytes<16>();
}

// Offsets are those of IBTA vol 1, table 106 (12.7), and 24 bytes of MAD header before them.
TEST(CmMad, RequestBytes) {
  CmReq req;
  req.local_comm_id = 0x11223344;
  req.service_id = ip_service_id(kTcpPortSpace, 0x4853);
  req.ca_guid = 0x0102030405060708;
  req.qpn = 0x000109;
  req.responder_resources = 16;
  req.initiator_depth = 15;
  req.remote_response_timeout = req.local_response_timeout = 20;
  req.flow_control = true;
  req.starting_psn = 0xabcdef;
  req.retry_count = 7;
  req.rnr_retry_count = 6;
  req.path_mtu = 5;
  req.max_retries = 15;
  req.srq = true;
  req.path.flow_label = 0x12345;
  req.path.packet_rate = 7;
  req.path.traffic_class = 0x60;
  req.path.hop_limit = 64;
  req.path.service_level = 3;
  req.path.ack_timeout = 18;
  const Mad mad = build_cm_mad({0x55667788, req});
  expect_bytes(mad, 0, "01 07 02 03 0000 0000 0000000055667788 0010 0000 00000000");
  expect_bytes(mad, 24, "11223344 00000000 0000000001064853 0102030405060708 00000000 00000000");
  expect_bytes(mad, 24 + 32, "000109 10 000000 0f 000000 a1 abcdef a7 ffff 56 f8 ffff ffff");
  expect_bytes(mad, 24 + 88, "12345007 60 40 30 90");
}

// XRC: transport 3 and extended transport 1; the target stands in the field of the EE context.
TEST(CmMad, XrcBytes) {
  CmReq req;
  req.transport = kCmExtended;
  req.extended_transport = kCmXrc;
  req.max_retries = 15;
  const Mad request = build_cm_mad({0, req});
  expect_bytes(request, 24 + 43, "06");
  expect_bytes(request, 24 + 51, "f1");
  CmRep rep;
  rep.ee_context = 0x010203;
  rep.srq = true;
  const Mad reply = build_cm_mad({0, rep});
  expect_bytes(reply, 24 + 12, "00000000 01020300");
  expect_bytes(reply, 24 + 27, "10");
}

TEST(CmMad, IpServiceHeader) {
  IpCmHeader header;
  header.port = 0x8000;
  header.source = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2};
  header.destination = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  std::array<std::uint8_t, kIpCmHeader_B> bytes{};
  write_ip_cm_header(header, bytes);
  const auto wanted = hex("00 40 8000 000000000000000000000000 0a000002 000000000000000000000000 0a000001");
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()));
  EXPECT_EQ(*parse_ip_cm_header(bytes), header);
  EXPECT_EQ(parse_ip_cm_header(Bytes(bytes).first(35)).error(), WireError::kTruncated);
  bytes[1] = 0x50;
  EXPECT_EQ(parse_ip_cm_header(bytes).error(), WireError::kBadIpVersion);
}

TEST(CmMad, RejectsOtherMads) {
  Mad mad = build_cm_mad({1, CmRtu{}});
  EXPECT_EQ(parse_cm_mad(Bytes(mad).first(255)).error(), WireError::kTruncated);
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    mad[at] ^= 0x40;
    EXPECT_EQ(parse_cm_mad(mad).error(), WireError::kNotCm) << at;
    mad[at] ^= 0x40;
  }
  mad[17] = 0x19;  // LAP
  EXPECT_EQ(parse_cm_mad(mad).error(), WireError::kNotCm);
}

template <typename Body>
void check_round_trip(const Body& body) {
  const CmMessage message{any<std::uint64_t>(), body};
  const auto parsed = parse_cm_mad(build_cm_mad(message));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == message);
}

RC_GTEST_PROP(CmMad, RequestRoundTrip, ()) {
  CmReq req;
  req.local_comm_id = any<std::uint32_t>();
  req.service_id = any<std::uint64_t>();
  req.ca_guid = any<std::uint64_t>();
  req.qkey = any<std::uint32_t>();
  req.qpn = any_u24();
  req.responder_resources = any<std::uint8_t>();
  req.initiator_depth = any<std::uint8_t>();
  req.remote_response_timeout = static_cast<std::uint8_t>(any_below(32));
  req.local_response_timeout = static_cast<std::uint8_t>(any_below(32));
  req.transport = static_cast<std::uint8_t>(any_below(4));
  req.extended_transport = static_cast<std::uint8_t>(any_below(8));
  req.flow_control = any<bool>();
  req.starting_psn = any_u24();
  req.retry_count = static_cast<std::uint8_t>(any_below(8));
  req.rnr_retry_count = static_cast<std::uint8_t>(any_below(8));
  req.p_key = any<std::uint16_t>();
  req.path_mtu = static_cast<std::uint8_t>(any_below(16));
  req.max_retries = static_cast<std::uint8_t>(any_below(16));
  req.srq = any<bool>();
  req.path = {any<std::uint16_t>(),
              any<std::uint16_t>(),
              any_gid(),
              any_gid(),
              any_below(1 << 20),
              static_cast<std::uint8_t>(any_below(64)),
              any<std::uint8_t>(),
              any<std::uint8_t>(),
              static_cast<std::uint8_t>(any_below(16)),
              any<bool>(),
              static_cast<std::uint8_t>(any_below(32))};
  req.private_data = any_bytes<kReqPrivate_B>();
  check_round_trip(req);
}

RC_GTEST_PROP(CmMad, OtherMessagesRoundTrip, ()) {
  const auto local = any<std::uint32_t>(), remote = any<std::uint32_t>();
  const auto answered = static_cast<CmAnswered>(any_below(3));
  check_round_trip(
      CmMra{local, remote, answered, static_cast<std::uint8_t>(any_below(32)), any_bytes<kMraPrivate_B>()});
  check_round_trip(CmRej{local, remote, answered, static_cast<std::uint8_t>(any_below(128)), any<std::uint16_t>(),
                         any_bytes<kRejInfo_B>(), any_bytes<kRejPrivate_B>()});
  CmRep rep;
  rep.local_comm_id = local;
  rep.remote_comm_id = remote;
  rep.qkey = any<std::uint32_t>();
  rep.qpn = any_u24();
  rep.ee_context = any_u24();
  rep.starting_psn = any_u24();
  rep.responder_resources = any<std::uint8_t>();
  rep.initiator_depth = any<std::uint8_t>();
  rep.target_ack_delay = static_cast<std::uint8_t>(any_below(32));
  rep.failover = static_cast<std::uint8_t>(any_below(4));
  rep.flow_control = any<bool>();
  rep.rnr_retry_count = static_cast<std::uint8_t>(any_below(8));
  rep.srq = any<bool>();
  rep.ca_guid = any<std::uint64_t>();
  rep.private_data = any_bytes<kRepPrivate_B>();
  check_round_trip(rep);
  check_round_trip(CmRtu{local, remote, any_bytes<kRtuPrivate_B>()});
  check_round_trip(CmDreq{local, remote, any_u24(), any_bytes<kDreqPrivate_B>()});
  check_round_trip(CmDrep{local, remote, any_bytes<kDrepPrivate_B>()});
  check_round_trip(CmSidrReq{local, any<std::uint16_t>(), any<std::uint64_t>(), any_bytes<kSidrReqPrivate_B>()});
  check_round_trip(
      CmSidrRep{local, any<std::uint8_t>(), any_u24(), any<std::uint64_t>(), remote, any_bytes<kSidrRepPrivate_B>()});
}

// What comes from a wire may be anything: a message or an error.
RC_GTEST_PROP(CmMad, AnyBytesAreReadOrRejected, ()) {
  Mad mad = any_bytes<kMad_B>();
  mad[0] = 1;
  mad[1] = 7;
  mad[2] = 2;
  mad[3] = 3;
  mad[16] = 0;
  mad[17] = static_cast<std::uint8_t>(0x0e + any_below(0x0f));
  const auto parsed = parse_cm_mad(mad);
  RC_ASSERT(parsed.has_value() == (mad[17] >= 0x10 && mad[17] <= 0x18));
}

}  // namespace
}  // namespace weft::wire

// Communication management MADs (IBTA vol 1, 12.6 and 12.7; the MAD around them 13.4): 256 bytes in a UD SEND to queue
// pair 1. And what RDMA CM writes at the beginning of the private data, the RDMA IP CM service (IBTA annex A11).
// Alternate paths, LAP and APR are not modelled: an alternate path is written as zeros and not read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>
#include <variant>

#include "wire/bytes.h"
#include "wire/wire_error.h"

namespace weft::wire {

inline constexpr std::size_t kMad_B = 256;
inline constexpr std::uint32_t kGeneralServicesQp = 1;
inline constexpr std::uint32_t kGeneralServicesQkey = 0x80010000;
inline constexpr std::uint16_t kPermissiveLid = 0xffff;

// Sizes of the private data.
inline constexpr std::size_t kReqPrivate_B = 92, kMraPrivate_B = 222, kRejPrivate_B = 148, kRepPrivate_B = 196,
                             kRtuPrivate_B = 224, kDreqPrivate_B = 220, kDrepPrivate_B = 224, kSidrReqPrivate_B = 216,
                             kSidrRepPrivate_B = 136;
inline constexpr std::size_t kRejInfo_B = 72;

using Gid = std::array<std::uint8_t, 16>;

struct CmPath {
  std::uint16_t local_lid = kPermissiveLid, remote_lid = kPermissiveLid;  // RoCE has none
  Gid local_gid{}, remote_gid{};
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t packet_rate = 0;  // 6 bits, IBTA table 57
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t service_level = 0;  // 4 bits
  bool subnet_local = false;
  std::uint8_t ack_timeout = 0;  // 5 bits: 4.096 us times 2^n

  friend bool operator==(const CmPath&, const CmPath&) = default;
};

// Transport service types.
// Transport of a REQ; XRC is 3 with 1 in the field of extended transports.
inline constexpr std::uint8_t kCmRc = 0, kCmUc = 1, kCmExtended = 3;
inline constexpr std::uint8_t kCmXrc = 1;

// The starting PSN is the one that the receiver of the message sends with: the sender's rq_psn.
struct CmReq {
  std::uint32_t local_comm_id = 0;
  std::uint64_t service_id = 0;
  std::uint64_t ca_guid = 0;
  std::uint32_t qkey = 0;
  std::uint32_t qpn = 0;  // 24 bits
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t remote_response_timeout = 0, local_response_timeout = 0;  // 5 bits, as ack_timeout
  std::uint8_t transport = kCmRc, extended_transport = 0;                // 2 and 3 bits
  bool flow_control = false;
  std::uint32_t starting_psn = 0;
  std::uint8_t retry_count = 0, rnr_retry_count = 0;  // 3 bits
  std::uint16_t p_key = 0xffff;
  std::uint8_t path_mtu = 0;     // ibv_mtu: 1 is 256, 5 is 4096
  std::uint8_t max_retries = 0;  // of CM messages; 4 bits
  bool srq = false;
  CmPath path;
  std::array<std::uint8_t, kReqPrivate_B> private_data{};

  friend bool operator==(const CmReq&, const CmReq&) = default;
};

// Which message an MRA or a REJ answers.
enum class CmAnswered : std::uint8_t { kReq = 0, kRep = 1, kOther = 2 };

struct CmMra {
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  CmAnswered answered = CmAnswered::kReq;
  std::uint8_t service_timeout = 0;  // 5 bits
  std::array<std::uint8_t, kMraPrivate_B> private_data{};

  friend bool operator==(const CmMra&, const CmMra&) = default;
};

// IBTA table 109, those that are used here.
enum class CmReason : std::uint16_t {
  kTimeout = 4,
  kInvalidServiceId = 8,
  kStaleConnection = 10,
  kConsumer = 28,
};

struct CmRej {
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  CmAnswered answered = CmAnswered::kReq;
  std::uint8_t info_B = 0;  // 7 bits
  std::uint16_t reason = 0;
  std::array<std::uint8_t, kRejInfo_B> info{};
  std::array<std::uint8_t, kRejPrivate_B> private_data{};

  friend bool operator==(const CmRej&, const CmRej&) = default;
};

struct CmRep {
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  std::uint32_t qkey = 0;
  std::uint32_t qpn = 0;
  std::uint32_t ee_context = 0;  // of XRC: the number of its target, in place of qpn
  std::uint32_t starting_psn = 0;
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t target_ack_delay = 0;  // 5 bits
  std::uint8_t failover = 0;          // 2 bits
  bool flow_control = false;
  std::uint8_t rnr_retry_count = 0;
  bool srq = false;
  std::uint64_t ca_guid = 0;
  std::array<std::uint8_t, kRepPrivate_B> private_data{};

  friend bool operator==(const CmRep&, const CmRep&) = default;
};

struct CmRtu {
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  std::array<std::uint8_t, kRtuPrivate_B> private_data{};

  friend bool operator==(const CmRtu&, const CmRtu&) = default;
};

struct CmDreq {
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  std::uint32_t remote_qpn = 0;
  std::array<std::uint8_t, kDreqPrivate_B> private_data{};

  friend bool operator==(const CmDreq&, const CmDreq&) = default;
};

struct CmDrep {
  std::uint32_t local_comm_id = 0, remote_comm_id = 0;
  std::array<std::uint8_t, kDrepPrivate_B> private_data{};

  friend bool operator==(const CmDrep&, const CmDrep&) = default;
};

struct CmSidrReq {
  std::uint32_t request_id = 0;
  std::uint16_t p_key = 0xffff;
  std::uint64_t service_id = 0;
  std::array<std::uint8_t, kSidrReqPrivate_B> private_data{};

  friend bool operator==(const CmSidrReq&, const CmSidrReq&) = default;
};

// IBTA table 114.
enum class SidrStatus : std::uint8_t { kValid = 0, kUnsupported = 1, kRejected = 2, kNoQp = 3 };

struct CmSidrRep {
  std::uint32_t request_id = 0;
  std::uint8_t status = 0;
  std::uint32_t qpn = 0;
  std::uint64_t service_id = 0;
  std::uint32_t qkey = 0;
  std::array<std::uint8_t, kSidrRepPrivate_B> private_data{};

  friend bool operator==(const CmSidrRep&, const CmSidrRep&) = default;
};

struct CmMessage {
  std::uint64_t transaction_id = 0;
  std::variant<CmReq, CmMra, CmRej, CmRep, CmRtu, CmDreq, CmDrep, CmSidrReq, CmSidrRep> body;

  friend bool operator==(const CmMessage&, const CmMessage&) = default;
};

// "REQ", as Wireshark and IBTA call it.
const char* name(const CmMessage& message);

using Mad = std::array<std::uint8_t, kMad_B>;
// Fields wider than their place are cut to it.
Mad build_cm_mad(const CmMessage& message);
// Checks the length, the MAD header (version 1, class 7 version 2, method Send) and the attribute.
tl::expected<CmMessage, WireError> parse_cm_mad(Bytes mad);

// The RDMA IP CM service: a service id holds a port space and the port; the private data of a REQ or SIDR_REQ begins
// with the addresses of both ends, IPv4 as ::ffff:a.b.c.d here.
inline constexpr std::uint16_t kTcpPortSpace = 0x0106, kUdpPortSpace = 0x0111;
constexpr std::uint64_t ip_service_id(std::uint16_t port_space, std::uint16_t port) {
  return std::uint64_t{port_space} << 16 | port;
}
inline constexpr std::size_t kIpCmHeader_B = 36;
struct IpCmHeader {
  bool v4 = true;
  std::uint16_t port = 0;  // of the sender
  Gid source{}, destination{};

  friend bool operator==(const IpCmHeader&, const IpCmHeader&) = default;
};
// Writes kIpCmHeader_B bytes.
void write_ip_cm_header(const IpCmHeader& header, MutableBytes out);
tl::expected<IpCmHeader, WireError> parse_ip_cm_header(Bytes private_data);

}  // namespace weft::wire

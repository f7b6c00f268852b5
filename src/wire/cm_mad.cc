#include "wire/cm_mad.h"

#include <algorithm>

namespace weft::wire {

namespace {

constexpr std::size_t kMadHeader_B = 24;
constexpr std::uint8_t kMadVersion = 1, kCmClass = 0x07, kCmClassVersion = 2, kMethodSend = 0x03;

// Attribute ids, in the order of CmMessage's alternatives.
constexpr std::array<std::uint16_t, 9> kAttributes = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};

std::uint8_t bits(std::uint32_t value, int width, int shift) {
  return static_cast<std::uint8_t>((value & ((1u << width) - 1)) << shift);
}
std::uint8_t bits(bool value, int shift) {
  return static_cast<std::uint8_t>((value ? 1u : 0u) << shift);
}

template <std::size_t kSize>
void put_bytes(MutableBytes out, std::size_t at, const std::array<std::uint8_t, kSize>& from) {
  std::copy(from.begin(), from.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
}
template <std::size_t kSize>
void get_bytes(Bytes in, std::size_t at, std::array<std::uint8_t, kSize>& to) {
  std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(at), kSize, to.begin());
}

// Every write_ and read_ works on the 232 bytes behind the header; offsets are those of IBTA's tables.

void write_path(const CmPath& path, MutableBytes out) {
  put_be16(out, 0, path.local_lid);
  put_be16(out, 2, path.remote_lid);
  put_bytes(out, 4, path.local_gid);
  put_bytes(out, 20, path.remote_gid);
  put_be32(out, 36, (path.flow_label & 0xfffff) << 12 | bits(path.packet_rate, 6, 0));
  out[40] = path.traffic_class;
  out[41] = path.hop_limit;
  out[42] = static_cast<std::uint8_t>(bits(path.service_level, 4, 4) | bits(path.subnet_local, 3));
  out[43] = bits(path.ack_timeout, 5, 3);
}
CmPath read_path(Bytes in) {
  CmPath path;
  path.local_lid = be16(in, 0);
  path.remote_lid = be16(in, 2);
  get_bytes(in, 4, path.local_gid);
  get_bytes(in, 20, path.remote_gid);
  path.flow_label = be32(in, 36) >> 12;
  path.packet_rate = in[39] & 0x3f;
  path.traffic_class = in[40];
  path.hop_limit = in[41];
  path.service_level = in[42] >> 4;
  path.subnet_local = (in[42] >> 3 & 1) != 0;
  path.ack_timeout = in[43] >> 3;
  return path;
}

void write_body(const CmReq& req, MutableBytes out) {
  put_be32(out, 0, req.local_comm_id);
  put_be64(out, 8, req.service_id);
  put_be64(out, 16, req.ca_guid);
  put_be32(out, 28, req.qkey);
  put_be24(out, 32, req.qpn);
  out[35] = req.responder_resources;
  out[39] = req.initiator_depth;
  out[43] = static_cast<std::uint8_t>(bits(req.remote_response_timeout, 5, 3) | bits(req.transport, 2, 1) |
                                      bits(req.flow_control, 0));
  put_be24(out, 44, req.starting_psn);
  out[47] = static_cast<std::uint8_t>(bits(req.local_response_timeout, 5, 3) | bits(req.retry_count, 3, 0));
  put_be16(out, 48, req.p_key);
  out[50] = static_cast<std::uint8_t>(bits(req.path_mtu, 4, 4) | bits(req.rnr_retry_count, 3, 0));
  out[51] =
      static_cast<std::uint8_t>(bits(req.max_retries, 4, 4) | bits(req.srq, 3) | bits(req.extended_transport, 3, 0));
  write_path(req.path, out.subspan(52));
  put_bytes(out, 140, req.private_data);
}
void read_body(Bytes in, CmReq& req) {
  req.local_comm_id = be32(in, 0);
  req.service_id = be64(in, 8);
  req.ca_guid = be64(in, 16);
  req.qkey = be32(in, 28);
  req.qpn = be24(in, 32);
  req.responder_resources = in[35];
  req.initiator_depth = in[39];
  req.remote_response_timeout = in[43] >> 3;
  req.transport = in[43] >> 1 & 3;
  req.flow_control = (in[43] & 1) != 0;
  req.starting_psn = be24(in, 44);
  req.local_response_timeout = in[47] >> 3;
  req.retry_count = in[47] & 7;
  req.p_key = be16(in, 48);
  req.path_mtu = in[50] >> 4;
  req.rnr_retry_count = in[50] & 7;
  req.max_retries = in[51] >> 4;
  req.srq = (in[51] >> 3 & 1) != 0;
  req.extended_transport = in[51] & 7;
  req.path = read_path(in.subspan(52));
  get_bytes(in, 140, req.private_data);
}

// Common beginning of all messages but REQ and SIDR.
template <typename Body>
void write_ids(const Body& body, MutableBytes out) {
  put_be32(out, 0, body.local_comm_id);
  put_be32(out, 4, body.remote_comm_id);
}
template <typename Body>
void read_ids(Bytes in, Body& body) {
  body.local_comm_id = be32(in, 0);
  body.remote_comm_id = be32(in, 4);
}

void write_body(const CmMra& mra, MutableBytes out) {
  write_ids(mra, out);
  out[8] = bits(static_cast<std::uint32_t>(mra.answered), 2, 6);
  out[9] = bits(mra.service_timeout, 5, 3);
  put_bytes(out, 10, mra.private_data);
}
void read_body(Bytes in, CmMra& mra) {
  read_ids(in, mra);
  mra.answered = static_cast<CmAnswered>(in[8] >> 6);
  mra.service_timeout = in[9] >> 3;
  get_bytes(in, 10, mra.private_data);
}

void write_body(const CmRej& rej, MutableBytes out) {
  write_ids(rej, out);
  out[8] = bits(static_cast<std::uint32_t>(rej.answered), 2, 6);
  out[9] = bits(rej.info_B, 7, 1);
  put_be16(out, 10, rej.reason);
  put_bytes(out, 12, rej.info);
  put_bytes(out, 84, rej.private_data);
}
void read_body(Bytes in, CmRej& rej) {
  read_ids(in, rej);
  rej.answered = static_cast<CmAnswered>(in[8] >> 6);
  rej.info_B = in[9] >> 1;
  rej.reason = be16(in, 10);
  get_bytes(in, 12, rej.info);
  get_bytes(in, 84, rej.private_data);
}

void write_body(const CmRep& rep, MutableBytes out) {
  write_ids(rep, out);
  put_be32(out, 8, rep.qkey);
  put_be24(out, 12, rep.qpn);
  put_be24(out, 16, rep.ee_context);
  put_be24(out, 20, rep.starting_psn);
  out[24] = rep.responder_resources;
  out[25] = rep.initiator_depth;
  out[26] = static_cast<std::uint8_t>(bits(rep.target_ack_delay, 5, 3) | bits(rep.failover, 2, 1) |
                                      bits(rep.flow_control, 0));
  out[27] = static_cast<std::uint8_t>(bits(rep.rnr_retry_count, 3, 5) | bits(rep.srq, 4));
  put_be64(out, 28, rep.ca_guid);
  put_bytes(out, 36, rep.private_data);
}
void read_body(Bytes in, CmRep& rep) {
  read_ids(in, rep);
  rep.qkey = be32(in, 8);
  rep.qpn = be24(in, 12);
  rep.ee_context = be24(in, 16);
  rep.starting_psn = be24(in, 20);
  rep.responder_resources = in[24];
  rep.initiator_depth = in[25];
  rep.target_ack_delay = in[26] >> 3;
  rep.failover = in[26] >> 1 & 3;
  rep.flow_control = (in[26] & 1) != 0;
  rep.rnr_retry_count = in[27] >> 5;
  rep.srq = (in[27] >> 4 & 1) != 0;
  rep.ca_guid = be64(in, 28);
  get_bytes(in, 36, rep.private_data);
}

void write_body(const CmRtu& rtu, MutableBytes out) {
  write_ids(rtu, out);
  put_bytes(out, 8, rtu.private_data);
}
void read_body(Bytes in, CmRtu& rtu) {
  read_ids(in, rtu);
  get_bytes(in, 8, rtu.private_data);
}

void write_body(const CmDreq& dreq, MutableBytes out) {
  write_ids(dreq, out);
  put_be24(out, 8, dreq.remote_qpn);
  put_bytes(out, 12, dreq.private_data);
}
void read_body(Bytes in, CmDreq& dreq) {
  read_ids(in, dreq);
  dreq.remote_qpn = be24(in, 8);
  get_bytes(in, 12, dreq.private_data);
}

void write_body(const CmDrep& drep, MutableBytes out) {
  write_ids(drep, out);
  put_bytes(out, 8, drep.private_data);
}
void read_body(Bytes in, CmDrep& drep) {
  read_ids(in, drep);
  get_bytes(in, 8, drep.private_data);
}

void write_body(const CmSidrReq& req, MutableBytes out) {
  put_be32(out, 0, req.request_id);
  put_be16(out, 4, req.p_key);
  put_be64(out, 8, req.service_id);
  put_bytes(out, 16, req.private_data);
}
void read_body(Bytes in, CmSidrReq& req) {
  req.request_id = be32(in, 0);
  req.p_key = be16(in, 4);
  req.service_id = be64(in, 8);
  get_bytes(in, 16, req.private_data);
}

void write_body(const CmSidrRep& rep, MutableBytes out) {
  put_be32(out, 0, rep.request_id);
  out[4] = rep.status;
  put_be24(out, 8, rep.qpn);
  put_be64(out, 12, rep.service_id);
  put_be32(out, 20, rep.qkey);
  put_bytes(out, 96, rep.private_data);
}
void read_body(Bytes in, CmSidrRep& rep) {
  rep.request_id = be32(in, 0);
  rep.status = in[4];
  rep.qpn = be24(in, 8);
  rep.service_id = be64(in, 12);
  rep.qkey = be32(in, 20);
  get_bytes(in, 96, rep.private_data);
}

template <typename Body>
CmMessage read_message(Bytes mad) {
  Body body;
  read_body(mad.subspan(kMadHeader_B), body);
  return {be64(mad, 8), body};
}

}  // namespace

const char* name(const CmMessage& message) {
  static constexpr const char* kNames[] = {"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP"};
  return kNames[message.body.index()];
}

Mad build_cm_mad(const CmMessage& message) {
  Mad mad{};
  mad[0] = kMadVersion;
  mad[1] = kCmClass;
  mad[2] = kCmClassVersion;
  mad[3] = kMethodSend;
  put_be64(mad, 8, message.transaction_id);
  put_be16(mad, 16, kAttributes[message.body.index()]);
  std::visit([&](const auto& body) { write_body(body, MutableBytes(mad).subspan(kMadHeader_B)); }, message.body);
  return mad;
}

tl::expected<CmMessage, WireError> parse_cm_mad(Bytes mad) {
  if (mad.size() < kMad_B) return tl::unexpected(WireError::kTruncated);
  bool is_cm = mad[0] == kMadVersion && mad[1] == kCmClass && mad[2] == kCmClassVersion && mad[3] == kMethodSend;
  if (!is_cm) return tl::unexpected(WireError::kNotCm);
  using Reader = CmMessage (*)(Bytes);
  static constexpr std::array<Reader, kAttributes.size()> kReaders = {
      read_message<CmReq>,  read_message<CmMra>,  read_message<CmRej>,     read_message<CmRep>,    read_message<CmRtu>,
      read_message<CmDreq>, read_message<CmDrep>, read_message<CmSidrReq>, read_message<CmSidrRep>};
  const auto* found = std::find(kAttributes.begin(), kAttributes.end(), be16(mad, 16));
  if (found == kAttributes.end()) return tl::unexpected(WireError::kNotCm);
  return kReaders[static_cast<std::size_t>(found - kAttributes.begin())](mad);
}

namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

void write_ip(const Gid& ip, bool v4, MutableBytes out) {
  put_bytes(out, 0, ip);
  // An IPv4 address has twelve bytes of nothing before it.
  if (v4) std::fill_n(out.begin(), kMappedPrefix.size(), std::uint8_t{0});
}
Gid read_ip(Bytes in, bool v4) {
  Gid ip;
  get_bytes(in, 0, ip);
  if (v4) std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), ip.begin());
  return ip;
}

}  // namespace

void write_ip_cm_header(const IpCmHeader& header, MutableBytes out) {
  out[0] = 0;  // version of the service
  out[1] = static_cast<std::uint8_t>((header.v4 ? 4 : 6) << 4);
  put_be16(out, 2, header.port);
  write_ip(header.source, header.v4, out.subspan(4, 16));
  write_ip(header.destination, header.v4, out.subspan(20, 16));
}

tl::expected<IpCmHeader, WireError> parse_ip_cm_header(Bytes private_data) {
  if (private_data.size() < kIpCmHeader_B) return tl::unexpected(WireError::kTruncated);
  const std::uint8_t version = private_data[1] >> 4;
  if (private_data[0] != 0 || (version != 4 && version != 6)) return tl::unexpected(WireError::kBadIpVersion);
  const bool v4 = version == 4;
  return IpCmHeader{v4, be16(private_data, 2), read_ip(private_data.subspan(4, 16), v4),
                    read_ip(private_data.subspan(20, 16), v4)};
}

}  // namespace weft::wire

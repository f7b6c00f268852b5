// Options of TCP. What a connection over the simulated fabric has, the world knows; one of the management network has
// what a connection over 1 GbE would.
#include "preload/sockets/stream_tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include <algorithm>

namespace weft::preload {

namespace {

constexpr std::uint32_t kSegment_B = 1448;   // of 1 GbE with timestamps
constexpr std::uint32_t kRoundTrip_us = 60;  // of the management network
constexpr const char* kAlgorithms[] = {"cubic", "reno", "dctcp"};
constexpr std::size_t kMostName_B = 16;  // TCP_CA_NAME_MAX

bool ask_tcp(const Stream& stream, verbs::StreamTcp& info) {
  return !stream.datagram && verbs::call(verbs::Op::kStreamTcp, verbs::Handle{stream.handle}, info) == 0 &&
         info.fabric != 0;
}

int give(const void* from, std::size_t from_B, void* value, socklen_t* size_B) {
  *size_B = std::min(*size_B, static_cast<socklen_t>(from_B));
  memcpy(value, from, *size_B);
  return 0;
}

tcp_info of_management(const Stream& stream) {
  tcp_info info{};
  info.tcpi_state = stream.state == Stream::State::kListening ? TCP_LISTEN : TCP_ESTABLISHED;
  info.tcpi_snd_mss = info.tcpi_rcv_mss = info.tcpi_advmss = kSegment_B;
  info.tcpi_pmtu = 1500;
  info.tcpi_rtt = kRoundTrip_us;
  info.tcpi_snd_cwnd = 10;
  return info;
}

// Linux's struct, of which the C library's header has the first part.
struct LongTcpInfo {
  tcp_info first;
  std::uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
  std::uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
  std::uint64_t delivery_rate, busy_time, rwnd_limited, sndbuf_limited;
  std::uint32_t delivered, delivered_ce;
  std::uint64_t bytes_sent, bytes_retrans;
  std::uint32_t dsack_dups, reord_seen, rcv_ooopack, snd_wnd;
};

LongTcpInfo of_fabric(const verbs::StreamTcp& from) {
  LongTcpInfo all{};
  tcp_info& info = all.first;
  info.tcpi_state = static_cast<std::uint8_t>(from.state);
  info.tcpi_ca_state = static_cast<std::uint8_t>(from.ca_state);
  info.tcpi_retransmits = info.tcpi_backoff = static_cast<std::uint8_t>(from.backoff);
  info.tcpi_options =
      static_cast<std::uint8_t>(TCPI_OPT_TIMESTAMPS | TCPI_OPT_SACK | TCPI_OPT_WSCALE | (from.ecn ? TCPI_OPT_ECN : 0));
  info.tcpi_rto = from.rto_us;
  info.tcpi_snd_mss = from.snd_mss_B;
  info.tcpi_rcv_mss = from.rcv_mss_B;
  info.tcpi_advmss = from.advmss_B;
  info.tcpi_pmtu = from.pmtu_B;
  info.tcpi_unacked = from.unacked;
  info.tcpi_sacked = from.sacked;
  info.tcpi_lost = from.lost;
  info.tcpi_retrans = from.retrans;
  info.tcpi_total_retrans = from.total_retrans;
  info.tcpi_rtt = from.rtt_us;
  info.tcpi_rttvar = from.rttvar_us;
  info.tcpi_snd_ssthresh = from.snd_ssthresh;
  info.tcpi_snd_cwnd = from.snd_cwnd;
  info.tcpi_reordering = 3;
  info.tcpi_rcv_ssthresh = info.tcpi_rcv_space = from.rcv_space_B;
  all.bytes_acked = from.bytes_acked;
  all.bytes_sent = from.bytes_sent;
  all.bytes_received = from.bytes_received;
  all.segs_in = static_cast<std::uint32_t>(from.segments_in);
  all.segs_out = static_cast<std::uint32_t>(from.segments_out);
  all.notsent_bytes = from.notsent_B;
  all.min_rtt = from.min_rtt_us;
  all.snd_wnd = from.snd_wnd_B;
  return all;
}

int tell_option(const Stream& stream, verbs::StreamOption option, std::uint32_t value) {
  return verbs::call(verbs::Op::kStreamSet, verbs::StreamSet{stream.handle, option, value});
}

}  // namespace

bool get_tcp_option(const Stream& stream, int option, void* value, socklen_t* size_B) {
  verbs::StreamTcp info{};
  if (option == TCP_INFO) {
    if (ask_tcp(stream, info)) {
      const LongTcpInfo all = of_fabric(info);
      give(&all, sizeof all, value, size_B);
    } else {
      const tcp_info managed = of_management(stream);
      give(&managed, sizeof managed, value, size_B);
    }
    return true;
  }
  if (option == TCP_CONGESTION) {
    const bool fabric = ask_tcp(stream, info) && info.algorithm < std::size(kAlgorithms);
    char name[kMostName_B] = {};
    strncpy(name, kAlgorithms[fabric ? info.algorithm : 0], sizeof name - 1);
    give(name, sizeof name, value, size_B);
    return true;
  }
  if (option == TCP_MAXSEG) {
    const int segment_B = static_cast<int>(ask_tcp(stream, info) ? info.snd_mss_B : kSegment_B);
    give(&segment_B, sizeof segment_B, value, size_B);
    return true;
  }
  return false;
}

bool set_tcp_option(Stream& stream, int option, const void* value, socklen_t size_B, int& error) {
  error = 0;
  if (option == TCP_CONGESTION) {
    char name[kMostName_B] = {};
    memcpy(name, value, std::min<std::size_t>(size_B, sizeof name - 1));
    for (std::uint32_t i = 0; i < std::size(kAlgorithms); ++i) {
      if (strcmp(name, kAlgorithms[i]) != 0) continue;
      error = tell_option(stream, verbs::StreamOption::kCongestion, i);
      return true;
    }
    error = ENOENT;
    return true;
  }
  if (option != TCP_NODELAY && option != TCP_MAXSEG) return false;
  if (size_B < sizeof(int)) {
    error = EINVAL;
    return true;
  }
  int number;
  memcpy(&number, value, sizeof number);
  if (option == TCP_NODELAY) {
    stream.no_delay = number != 0;
    error = tell_option(stream, verbs::StreamOption::kNoDelay, number != 0);
  } else {
    error = tell_option(stream, verbs::StreamOption::kMostSegment, static_cast<std::uint32_t>(number));
  }
  return true;
}

void set_type_of_service(const Stream& stream, int value) {
  tell_option(stream, verbs::StreamOption::kTypeOfService, static_cast<std::uint32_t>(value));
}

int type_of_service(const Stream& stream) {
  verbs::StreamTcp info{};
  return ask_tcp(stream, info) ? static_cast<int>(info.type_of_service) : 0;
}

}  // namespace weft::preload

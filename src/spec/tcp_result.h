// What an iperf3 run measured: for each stream both ends, with their intervals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "spec/iperf3_options.h"

namespace weft::workload {

struct TcpInterval {
  Time_ps start_ps = 0, end_ps = 0;  // from the start of the test
  std::uint64_t bytes = 0;
  std::uint64_t retransmits = 0;
  std::uint64_t cwnd_B = 0;
  Time_ps rtt_ps = 0, rttvar_ps = 0;

  double bits_per_second() const {
    return end_ps > start_ps ? 8e12 * static_cast<double>(bytes) / static_cast<double>(end_ps - start_ps) : 0;
  }
};

// One end of a stream: of the sender what it wrote, of the receiver what it read.
struct TcpStreamEnd {
  bool connected = false;
  Time_ps elapsed_ps = 0;
  std::uint64_t bytes = 0;
  std::uint64_t retransmits = 0, timeouts = 0;
  std::uint64_t max_cwnd_B = 0;
  Time_ps min_rtt_ps = 0, mean_rtt_ps = 0, max_rtt_ps = 0;
  std::uint64_t ring_drops = 0;              // no receive descriptor was free
  Time_ps program_ps = 0, interrupt_ps = 0;  // CPU time
  std::vector<TcpInterval> intervals;
};

struct TcpStream {
  int id = 5;  // the socket's file descriptor, as iperf3 prints it
  std::string local, remote;
  std::uint16_t local_port = 0, remote_port = 5201;
  TcpStreamEnd sender, receiver;
};

struct Iperf3Result {
  using Options = Iperf3Options;

  std::string client, server;  // addresses
  std::uint32_t mss_B = 0;
  std::vector<TcpStream> streams;
  bool interrupted = false;

  std::uint64_t sent_B() const { return sum(&TcpStream::sender, &TcpStreamEnd::bytes); }
  std::uint64_t received_B() const { return sum(&TcpStream::receiver, &TcpStreamEnd::bytes); }
  std::uint64_t retransmits() const { return sum(&TcpStream::sender, &TcpStreamEnd::retransmits); }
  double sent_bps() const { return rate(&TcpStream::sender); }
  double received_bps() const { return rate(&TcpStream::receiver); }
  // CPU time of one end in percent of the test's time, as iperf3's own rusage counts it: of the program alone.
  double cpu_percent(TcpStreamEnd TcpStream::*end) const;
  Time_ps elapsed_ps(TcpStreamEnd TcpStream::*end) const;

 private:
  std::uint64_t sum(TcpStreamEnd TcpStream::*end, std::uint64_t TcpStreamEnd::*what) const {
    std::uint64_t all = 0;
    for (const TcpStream& stream : streams) all += stream.*end.*what;
    return all;
  }
  double rate(TcpStreamEnd TcpStream::*end) const;
};

}  // namespace weft::workload

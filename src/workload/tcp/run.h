// One iperf3 between two ports: its streams, and what they measured.
#pragma once

#include <memory>
#include <vector>

#include "workload/tcp/socket.h"
#include "workload/workload.h"

namespace weft::workload {

struct TcpPath {
  std::uint32_t mtu_B = 1500;  // of the netdevs
  bool v4 = true;
  bool routed = false;
};

class Iperf3Run final : public Workload {
 public:
  Iperf3Run(const Iperf3Options& options, const Endpoint& client, const Endpoint& server, const TcpPath& path);
  Iperf3Run(const Iperf3Run&) = delete;
  Iperf3Run& operator=(const Iperf3Run&) = delete;

  bool start_phase(Time_ps at_ps) override;
  void finish_phase(bool interrupted) override;
  bool is_finished() const override;
  Iperf3Result& result() { return result_; }

 private:
  struct Pair {
    std::unique_ptr<TcpSocket> client, server;
  };
  void read_out();

  Iperf3Options options_;
  std::vector<Pair> pairs_;
  Iperf3Result result_;
  bool started_ = false;
};

}  // namespace weft::workload

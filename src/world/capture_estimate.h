// How large a capture of a run will be, before anything runs: the bytes that the workloads ask for, as frames, at the
// captured ports of the shortest paths. An estimate: paths of equal length get equal shares, and what the fabric adds
// (retransmissions, pause frames, CNPs) is not in it.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "model/lab.h"

namespace weft::lab {

struct CaptureEstimate {
  double file_B = 0;     // in pcapng
  bool is_whole = true;  // false: not all is in it: programs say no bytes
  double full_Bps = 0;   // what the captured ports carry in both directions at full load
};

// `snaplen_B` 0: whole frames.
CaptureEstimate estimate_capture(const Lab& lab, const std::vector<PortRef>& ports, std::uint32_t snaplen_B);

// What workloads send, gathered, and how much of a file it makes.
class CaptureTraffic {
 public:
  CaptureTraffic(const Lab& lab, const std::vector<PortRef>& captured, std::uint32_t snaplen_B);

  // Of RoCE, in packets of `mtu_B`; 0: the smaller active MTU. With answers: acknowledgements, or the requests of
  // READs.
  void add_messages(const PortRef& from, const PortRef& to, double count, std::uint64_t size_B, std::uint32_t mtu_B,
                    bool has_answers);
  // Of a TCP stream; `mss_B` 0: of the MTU.
  void add_stream(const PortRef& from, const PortRef& to, double size_B, std::uint32_t mss_B);
  // A workload that does not say what it sends.
  void add_unknown() { is_whole_ = false; }

  const Lab& lab() const { return lab_; }
  // How often a port sends such a message in a second.
  double messages_per_s(const PortRef& from, const PortRef& to, std::uint64_t size_B, std::uint32_t mtu_B) const;
  double rate_bps(const PortRef& port) const;  // of its cable; 0: it has none
  CaptureEstimate estimate() const;

 private:
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  struct Edge {
    std::uint32_t to = 0;
    double seen = 0;  // ends that are captured
  };
  struct Frames;

  static Place place_of(const PortRef& port) { return {port.host, port.nic, port.port}; }
  Frames frames(const PortRef& from, const PortRef& to, std::uint32_t mtu_B) const;
  std::uint32_t node_of(const PortRef& port);
  void add(const PortRef& from, const PortRef& to, double file_B);
  double seen_on_the_way_to(std::uint32_t destination) const;

  const Lab& lab_;
  std::uint32_t snaplen_B_;
  bool is_whole_ = true;
  double full_Bps_ = 0;
  std::vector<std::vector<Edge>> nodes_;                           // switches, then the cabled ports of hosts
  std::map<Place, std::uint32_t> hosts_;                           // their nodes
  std::map<Place, double> rates_bps_;                              // of cabled ports
  std::vector<std::vector<std::pair<std::uint32_t, double>>> to_;  // by node: from which one how much
};

#define WEFT_DECLARE(Options, Outcome) \
  void add_traffic(const workload::Options& options, const WorkloadConfig& config, CaptureTraffic& traffic);
WEFT_WORKLOAD_KINDS(WEFT_DECLARE)
#undef WEFT_DECLARE

}  // namespace weft::lab

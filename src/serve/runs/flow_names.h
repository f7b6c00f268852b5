// The flow of a queue pair. A flow is named as in reports and by explain: "incast/3"; what other workloads sent
// from one port to another is "write-bw/h0:p0>h1:p0".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "serve/runs/open_run.h"

namespace weft::serve {

class FlowNames {
 public:
  explicit FlowNames(OpenRun& run);

  // Flow of the sender with this number at this port; empty: not known.
  std::string of_sender(const std::string& port, std::int64_t qpn) const;
  // Flow of packets from `from` to this number at `to`.
  std::string of_receiver(const std::string& from, const std::string& to, std::int64_t qpn) const;

 private:
  std::map<std::pair<std::string, std::int64_t>, std::string> senders_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::string> receivers_;
};

}  // namespace weft::serve

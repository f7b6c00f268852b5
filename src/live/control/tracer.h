// Those who trace a world: what each wants to see, and the lines or JSON objects that it gets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "live/control/command.h"
#include "live/control/output_stream.h"
#include "live/os/trace.h"

namespace weft::live {

// All that are given must match; empty: anything does.
struct TraceFilter {
  std::vector<std::string> nodes, kinds, programs;  // a kind also as what is before its '_': "qp"
  std::optional<std::uint32_t> qpn;
  std::optional<int> pid;
  Time_ps for_ps = 0;  // 0: without end

  bool takes(const TraceEvent& event) const;
};
// "--node", "h0,h1", "--event", "qp_modify,cm", "--qp", "0x11", "--process", "ib_write_bw" or a number, "--for", "1ms".
tl::expected<TraceFilter, CommandProblem> read_trace_filter(const lab::Lab& lab, CommandWords words);

std::string trace_line(const TraceEvent& event);
std::string trace_json(const TraceEvent& event);

class Tracer final : public TraceSink {
 public:
  void emit(const TraceEvent& event) override;
  void add(TraceFilter filter, bool json, std::shared_ptr<OutputStream> stream);
  // Returns what is to be said at its end.
  std::string remove(const OutputStream& stream);

 private:
  struct Watcher {
    TraceFilter filter;
    bool json;
    std::shared_ptr<OutputStream> stream;
    std::uint64_t events = 0, lost = 0;
  };
  std::vector<Watcher> watchers_;
};

}  // namespace weft::live

// Events of `weft trace`: moments in the life of programs, their verbs objects, connections and links. Code that knows
// of one asks first whether anybody traces, and only then puts it together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"

namespace weft::live {

struct TraceField {
  std::string_view key;
  std::variant<std::uint64_t, std::string> value;
  bool hex = false;  // as a line shows it
};

struct TraceEvent {
  Time_ps at_ps = 0;
  std::string_view kind;  // "qp_modify"
  std::string node;       // or a link, of what happens to one
  int pid = 0;            // 0: of no program
  std::string program;
  std::optional<std::uint32_t> qpn;
  std::vector<TraceField> fields;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  bool active() const { return active_; }
  virtual void emit(const TraceEvent& event) = 0;

 protected:
  bool active_ = false;
};

}  // namespace weft::live

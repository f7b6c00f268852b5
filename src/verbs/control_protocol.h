// Protocol of `weft link`, `fault`, `impair`, `set`, `capture`, `trace` and `counters --watch` with a world that is up,
// on a connection of their own: Command, then its words, each with a NUL behind it. As hostile as anything that comes
// in.
#pragma once

#include <cstdint>

namespace weft::verbs {

inline constexpr std::int64_t kNow_ps = -1;
inline constexpr std::uint32_t kMaxWords = 256;

struct Command {
  std::int64_t at_ps;  // of the world's time, or kNow_ps
  std::uint32_t json;  // not 0: the text of the reply is JSON
  std::uint32_t words;
};
// Then the text and, of a problem, its remedy: in the body, or in the file that comes with it.
struct CommandReply {
  std::int32_t status;  // exit status of the command: 0, 1, 2
  std::uint32_t text_B, remedy_B;
  std::uint32_t waits;  // not 0: for its moment
  std::int64_t at_ps;   // when it happened or will happen
};

// A stream (kWatch) is CommandReply, then messages whose body goes to stdout. The last has this error, and what goes to
// stderr.
inline constexpr std::int32_t kStreamEnd = -1;

}  // namespace weft::verbs

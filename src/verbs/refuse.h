// The answer of the stand-ins for libraries that reach past the verbs: there is nothing behind them here.
#pragma once

#include <cerrno>
#include <cstddef>

namespace weft::verbs {

inline std::nullptr_t refuse() {
  errno = EOPNOTSUPP;
  return nullptr;
}

}  // namespace weft::verbs

// For a server: in a thread where a CheckThrows lives, a failed check (check.h) throws in place of an abort, which
// would end what other clients use. The request is answered with the text of the failure.
#pragma once

#include <stdexcept>

namespace weft {

// Its text is the one that is printed.
struct CheckFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class CheckThrows {
 public:
  CheckThrows();
  ~CheckThrows();
  CheckThrows(const CheckThrows&) = delete;
  CheckThrows& operator=(const CheckThrows&) = delete;
};

}  // namespace weft

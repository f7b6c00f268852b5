// What a verified transfer measured.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "spec/transfer_options.h"

namespace weft::workload {

struct TransferResult {
  using Options = TransferOptions;

  std::uint64_t posted = 0;
  std::uint64_t completed = 0;  // with success
  std::uint64_t failed = 0;     // with an error
  std::uint64_t verified = 0;   // operations whose bytes are right at the far end
  std::uint64_t bytes_ok = 0;
  std::uint64_t received = 0;      // receive completions with success at the server
  std::uint64_t out_of_order = 0;  // completions or receives that came in the wrong order
  int wc_status = 0;               // of the first completion with an error
  std::uint8_t vendor_error = 0;
  Time_ps started_ps = 0;
  Time_ps finished_ps = 0;  // last completion seen by the client
  bool stalled = false;     // not everything completed, and nothing more will happen
};

}  // namespace weft::workload

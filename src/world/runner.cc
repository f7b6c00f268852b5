#include "world/runner.h"

namespace weft::lab {

tl::expected<RunResult, std::string> run_lab(const Lab& lab, const SessionOptions& options,
                                             Session::Subscriber subscriber) {
  auto session = Session::open(lab, options);
  if (!session) return tl::make_unexpected(session.error());
  if (subscriber) (*session)->subscribe(std::move(subscriber));
  (*session)->advance_until(kNever_ps);
  return (*session)->finish();
}

}  // namespace weft::lab

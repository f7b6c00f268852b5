#include "fabric/switch/service_plan.h"

namespace weft::fabric {

void ServicePlan::grow() {
  const auto next = next_ - services_.data();
  const auto end = end_ - services_.data();
  services_.resize(2 * services_.size());
  next_ = services_.data() + next;
  end_ = services_.data() + end;
}

}  // namespace weft::fabric

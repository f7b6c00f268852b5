// Headroom of the planned switches' lossless group, where what their vendor takes for a cable is less than RoCE packets
// of full size need (docs/mechanisms/shared-buffer.md).
#include "model/headroom.h"

#include <algorithm>

#include "catalog/catalog.h"
#include "gear/plan/fabric.h"

namespace weft::gear {
namespace {

// Sender towards the group, and how long it takes to stop.
struct SendingEnd {
  Time_ps port_ps = 0, response_ps = 0;
};

class HeadroomPlanner {
 public:
  explicit HeadroomPlanner(const FabricPlan& plan) : plan_(plan) {}

  std::int64_t headroom_B() {
    for (const FabricCable& cable : plan_.cables) {
      add(cable, cable.from, cable.to);
      add(cable, cable.to, cable.from);
    }
    return lacking_ ? most_B_ : 0;
  }

 private:
  const fabric::SwitchModel* switch_at(const std::string& end) const {
    if (end.starts_with("h")) return nullptr;
    return lab::Catalog::built_in().switch_model(end.starts_with("leaf") ? plan_.leaf_model : plan_.spine_model);
  }

  SendingEnd sender(const std::string& end) const {
    if (const fabric::SwitchModel* device = switch_at(end)) return {device->port_latency_ps, device->pfc_response_ps};
    const nic::NicModel* nic = lab::Catalog::built_in().nic(plan_.nic);
    return {nic->port_latency_ps, nic->pfc_response_ps};
  }

  void add(const FabricCable& cable, const std::string& here, const std::string& peer) {
    const fabric::SwitchModel* device = switch_at(here);
    if (device == nullptr) return;
    const lab::Catalog& catalog = lab::Catalog::built_in();
    const SendingEnd other = sender(peer);
    // The slowest kind of cable and FEC: which of them a link gets is decided where the lab is read.
    Time_ps fec_ps = 0;
    for (lab::Fec fec : {lab::Fec::kBaseR, lab::Fec::kRs528, lab::Fec::kRs544})
      fec_ps = std::max(fec_ps, catalog.fec_latency_ps(fec, cable.rate_bps).value_or(0));
    const std::int64_t metre_ps = catalog.cable(lab::CableKind::kFibre).propagation_ps_per_m;
    fabric::HeadroomPath path;
    path.rate_bps = cable.rate_bps;
    path.flight_in_ps = path.flight_out_ps =
        device->port_latency_ps + other.port_ps + cable.length_m * metre_ps + fec_ps;
    path.pipeline_ps = device->pipeline_ps;
    path.response_ps = other.response_ps;
    path.max_lossless_B = path.max_out_B = fabric::largest_roce_frame_B(fabric::kSonicMtu_B);
    path.cell_B = std::max<std::int64_t>(device->cell_B, 1);
    const std::int64_t need_B = fabric::headroom_need_B(path, path.max_lossless_B);
    const std::int64_t usual_B = fabric::auto_headroom_B(*device, cable.rate_bps, std::int64_t{cable.length_m} * 1000);
    lacking_ = lacking_ || need_B > usual_B;
    most_B_ = std::max({most_B_, need_B, usual_B});
  }

  const FabricPlan& plan_;
  std::int64_t most_B_ = 0;
  bool lacking_ = false;
};

}  // namespace

std::int64_t planned_headroom_B(const FabricPlan& plan) {
  return HeadroomPlanner(plan).headroom_B();
}

}  // namespace weft::gear

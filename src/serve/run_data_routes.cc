#include "serve/run_data_routes.h"

#include <memory>

#include "serve/jobs/job_routes.h"
#include "serve/packets/event_packets.h"
#include "serve/packets/packet_routes.h"
#include "serve/runs/fabric_routes.h"
#include "serve/runs/finding_routes.h"
#include "serve/runs/flow_routes.h"
#include "serve/runs/node_routes.h"
#include "serve/runs/run_event_routes.h"
#include "serve/runs/run_routes.h"
#include "serve/runs/series_routes.h"

namespace weft::serve {

void add_run_data_routes(Router& router, const RunPlace& place, AnswerCache& cache, RunList& runs) {
  add_run_routes(router, place, cache, runs);
  add_fabric_routes(router, place, cache);
  add_series_routes(router, place, cache);
  add_run_event_routes(router, place, cache,
                       [packets = std::make_shared<EventPackets>(cache)](OpenRun& run, std::vector<RunEvent>& events) {
                         packets->fill(run, events);
                       });
  add_flow_routes(router, place, cache);
  add_node_routes(router, place, cache);
  add_finding_routes(router, place, cache);
  add_packet_routes(router, place);
  add_job_routes(router, place, cache);
}

}  // namespace weft::serve

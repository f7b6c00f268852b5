#include "serve/runs/finding_routes.h"

#include "explain/explain.h"
#include "serve/runs/open_run.h"
#include "serve/runs/run_findings.h"

namespace weft::serve {

namespace {

Response explain_answer(const Request& request, OpenRun& run) {
  const auto explanation = explain::explain_run({run.directory(), request.text("flow"), request.text("between")});
  if (!explanation) return problem(422, explanation.error().message, explanation.error().remedy);
  return {200, "application/json", explain::explanation_json(*explanation), {}, {}};
}

}  // namespace

void add_finding_routes(Router& router, const RunPlace& place, AnswerCache& cache) {
  router.add("GET", "/api/runs/*/findings", on_run(place, cache, [](const Request&, OpenRun& run) {
               return Response{200, "application/json", run_findings(run), {}, {}};
             }));
  router.add("GET", "/api/runs/*/explain", on_run(place, cache, explain_answer));
}

}  // namespace weft::serve

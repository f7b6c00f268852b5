#include "serve/run_explanation.h"

#include <stdexcept>

#include "explain/read_evidence.h"

namespace weft::serve {

lab::Explanation explanation_of(const std::string& directory) {
  auto evidence = explain::read_evidence(directory);
  if (!evidence) throw std::runtime_error(evidence.error().message);
  // Each drop is a row of its own in the file.
  std::vector<lab::DropEvidence> drops;
  for (const lab::DropEvidence& drop : evidence->drops) lab::merge_drop(drops, drop);
  evidence->drops = std::move(drops);
  return lab::explain(*evidence);
}

std::string flow_id(const lab::FlowAnswer& flow) {
  const std::string prefix = flow.workload + "/";
  if (flow.workload.empty() || !flow.id.starts_with(prefix)) return flow.id;
  return flow.workload + "." + flow.id.substr(prefix.size());
}

}  // namespace weft::serve

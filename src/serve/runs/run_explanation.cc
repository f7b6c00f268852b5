#include "serve/runs/run_explanation.h"

#include <deque>
#include <mutex>
#include <stdexcept>

#include "explain/read_evidence.h"
#include "serve/runs/open_run.h"

namespace weft::serve {

namespace {

lab::Explanation read_explanation(const std::string& directory) {
  auto evidence = explain::read_evidence(directory);
  if (!evidence) throw std::runtime_error(evidence.error().message);
  // Each drop is a row in the file.
  std::vector<lab::DropEvidence> drops;
  for (const lab::DropEvidence& drop : evidence->drops) lab::merge_drop(drops, drop);
  evidence->drops = std::move(drops);
  return lab::explain(*evidence);
}

struct KeptExplanations {
  static constexpr std::size_t kMost = 4;
  std::mutex mutex;
  std::deque<std::pair<std::string, std::shared_ptr<const lab::Explanation>>> list;  // the newest first
};

}  // namespace

std::shared_ptr<const lab::Explanation> explanation_of(const std::string& directory) {
  static KeptExplanations kept;
  const std::string stamp = stamp_of(directory);
  {
    const std::lock_guard lock(kept.mutex);
    for (const auto& [of, explanation] : kept.list) {
      if (of == stamp) return explanation;
    }
  }
  auto read = std::make_shared<const lab::Explanation>(read_explanation(directory));
  const std::lock_guard lock(kept.mutex);
  kept.list.emplace_front(stamp, read);
  if (kept.list.size() > KeptExplanations::kMost) kept.list.pop_back();
  return read;
}

}  // namespace weft::serve

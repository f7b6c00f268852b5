// How programs take part in a run: live/ implements this, cli hands it to run_lab. Programs run in real time while
// virtual time waits for them, so with programs the world runs in slices, between which they are looked at.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "engine/engine.h"
#include "spec/program_options.h"
#include "spec/program_result.h"
#include "workload/program/run.h"
#include "world/world.h"

namespace weft::lab {

class ProgramSession {
 public:
  virtual ~ProgramSession() = default;
  // `number` is that of the workload in its lab.
  virtual std::unique_ptr<workload::ProgramRun> make(const workload::ProgramOptions& options, std::size_t number) = 0;
  // As Engine::run; at rest means that no program runs either. `run` lets the world run until then, or until `cancel`
  // is set.
  virtual engine::RunEnd advance(Time_ps deadline_ps, const std::atomic<bool>& cancel,
                                 const std::function<void(Time_ps)>& run) = 0;
};

// Opens a session on the world, which outlives it. The error says what is missing.
using ProgramSessionMaker = std::function<tl::expected<std::unique_ptr<ProgramSession>, std::string>(World& world)>;

}  // namespace weft::lab

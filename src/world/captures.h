// The captures of a world: chosen ports in one file, the lab's mirror sessions in another. `weft run` and worlds that
// are up use the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "observe/capture.h"
#include "world/world.h"

namespace weft::lab {

class Captures {
 public:
  // Before anything is sent. `path` is used when there are ports, `mirror_path` when the lab has mirrors; where that is
  // empty they are not written. The error names what could not be created.
  // `options` are those of both.
  static tl::expected<std::unique_ptr<Captures>, std::string> open(World& world, const std::vector<PortRef>& ports,
                                                                   const std::string& path,
                                                                   const std::string& mirror_path,
                                                                   const observe::CaptureOptions& options = {});

  // The world has come to `now_ps`: writes what cannot be preceded any more. At kNever_ps it is idle.
  void flush(Time_ps now_ps);
  // Writes the rest.
  tl::expected<void, std::string> close();
  std::uint64_t frames() const { return ports_ ? ports_->frames() : 0; }
  std::uint64_t left_out() const { return ports_ ? ports_->left_out() : 0; }
  // Of the ports, oldest first, as their paths are.
  std::vector<std::string> files() const { return ports_ ? ports_->files() : std::vector<std::string>(); }
  ~Captures() { world_.engine().call_progress_on(nullptr); }

 private:
  Captures(World& world, std::string path, std::string mirror_path)
      : world_(world), path_(std::move(path)), mirror_path_(std::move(mirror_path)) {}

  World& world_;
  std::string path_, mirror_path_;
  std::atomic<bool> full_{false};
  std::unique_ptr<observe::Capture> ports_, mirrors_;  // null: none
};

}  // namespace weft::lab

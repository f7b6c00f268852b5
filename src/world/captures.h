// The captures of a world: chosen ports in one file, the lab's mirror sessions in another. `weft run` and worlds that
// are up use the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
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

  // Captures that begin while the world runs. The error names what could not be created.
  tl::expected<std::uint32_t, std::string> start(const std::vector<PortRef>& ports, const std::string& path,
                                                 const observe::CaptureOptions& options);
  // Into a stream of the caller's, frame by frame; `name` is what it is listed as.
  std::uint32_t start(const std::vector<PortRef>& ports, std::FILE* file, const observe::CaptureOptions& options,
                      const std::string& name = "");
  struct Started {
    std::uint32_t number = 0;
    std::string path;  // of a stream the name, empty where its reader ends it
    bool is_stream = false;
    std::vector<PortRef> ports;
    std::unique_ptr<observe::Capture> capture;
    std::vector<const void*> taps;
  };
  const std::vector<Started>& started() const { return started_; }
  // Writes what it has seen. False: not every byte could be written. Nothing: there is none of this number.
  std::optional<bool> stop(std::uint32_t number);

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

  void add_ports(observe::Capture& capture, const std::vector<PortRef>& ports, std::vector<const void*>* taps);
  void flush(observe::Capture& capture, Time_ps now_ps);
  std::uint32_t keep(const std::vector<PortRef>& ports, const std::string& path,
                     std::unique_ptr<observe::Capture> capture);

  World& world_;
  std::string path_, mirror_path_;
  std::atomic<bool> full_{false};
  std::unique_ptr<observe::Capture> ports_, mirrors_;  // null: none
  std::vector<Started> started_;
  std::uint32_t last_number_ = 0;
};

}  // namespace weft::lab

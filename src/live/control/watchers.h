// Watchers besides traces: frames as they pass, and counters as they grow.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "live/control/command.h"
#include "live/control/output_stream.h"
#include "live/control/packet_blocks.h"

namespace weft::live {

// `weft capture --live`: pcapng, block by block. A frame that finds no room in the stream is lost and counted.
class LiveCapture {
 public:
  // "PORT[,PORT]" or "all", then "--snaplen" and a size.
  static tl::expected<std::shared_ptr<LiveCapture>, CommandProblem> start(CommandContext& context, CommandWords words,
                                                                          std::shared_ptr<OutputStream> stream);
  ~LiveCapture();
  // Returns what is to be said at its end.
  std::string stop();

 private:
  LiveCapture(CommandContext& context, std::shared_ptr<OutputStream> stream)
      : context_(context), stream_(std::move(stream)) {}
  static ssize_t write(void* self, const char* bytes, std::size_t size_B);

  CommandContext& context_;
  std::shared_ptr<OutputStream> stream_;
  std::FILE* file_ = nullptr;
  std::uint32_t number_ = 0;  // 0: it has ended
  PacketBlocks blocks_;
  std::uint64_t frames_ = 0, lost_ = 0;
};

// `weft counters --watch`: what has changed in each interval of the world's time.
class CounterWatch : public std::enable_shared_from_this<CounterWatch> {
 public:
  // "NODE[:PORT]", the interval, and how many; 0: without end.
  static tl::expected<std::shared_ptr<CounterWatch>, CommandProblem> start(CommandContext& context, CommandWords words,
                                                                           bool json,
                                                                           std::shared_ptr<OutputStream> stream,
                                                                           Time_ps now_ps);
  void on_end(std::function<void()> what) { on_end_ = std::move(what); }
  std::string stop();

 private:
  using Numbers = std::vector<std::pair<std::string, double>>;
  CounterWatch(CommandContext& context, std::shared_ptr<OutputStream> stream)
      : context_(context), stream_(std::move(stream)) {}
  tl::expected<Numbers, CommandProblem> take() const;
  void plan();
  void step(Time_ps now_ps);

  CommandContext& context_;
  std::shared_ptr<OutputStream> stream_;
  std::function<void()> on_end_;
  std::string where_;
  Time_ps interval_ps_ = 0, last_ps_ = 0;
  std::uint64_t left_ = 0, lost_ = 0;
  bool endless_ = false, json_ = false, stopped_ = false;
  Numbers last_;
};

}  // namespace weft::live

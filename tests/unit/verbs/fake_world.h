// A world of one device for tests of the verbs library: it answers requests in the process itself, with the far side of
// every ring in reach of the test. Nothing moves by itself: a test reads what was posted and writes what completes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "verbs/extended_protocol.h"
#include "verbs/world_call.h"

namespace weft::verbs {

struct FakeRing {
  int fd = -1;
  std::uint8_t* memory = nullptr;
  QueueInfo info{};
  RingHead& head() const { return *reinterpret_cast<RingHead*>(memory + info.offset_B); }
  template <typename Entry>
  Entry& at(std::uint32_t number) const {
    return *reinterpret_cast<Entry*>(memory + info.offset_B + sizeof(RingHead) +
                                     std::size_t{number & (info.entries - 1)} * info.stride_B);
  }
};

struct FakeWorld {
  bool is_virtual = true;
  std::int64_t now_ps = 0;
  Costs costs{1000, 200, 300, 50, 0, 7};
  DeviceInfo device{};
  std::uint32_t next_handle = 1;
  std::uint32_t next_qpn = 0x1ff0;              // so that a few queue pairs cross a page of the table
  std::map<std::uint32_t, FakeRing> cqs, srqs;  // by handle
  std::map<std::uint32_t, FakeRing> sends, receives;
  std::map<std::uint32_t, QpAttr> qp_attrs;
  std::vector<std::uint32_t> doorbells;  // as they rang
  std::vector<Op> calls;                 // as they came
  std::vector<std::uint64_t> cq_cookies, cq_events;
  std::vector<AsyncEvent> async_events;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> watched;  // WaitItem::What and handle
  std::function<void()> on_connect;                              // of a thread that may or may not be connected
  int regions = 0;
  Destroyed fetched{};  // what the next end of an object says of its events
  GetEvent last_wait{};
  CreateAh last_ah{};
  RegMr last_mr{};
  Import last_import{};
  std::vector<std::uint8_t> device_memory;
  std::uint32_t srq_limit = 0;
  int fail_with = 0;                  // the next call's answer
  CqEntry on_poll{};                  // written to the last of the CQs that are waited for, when its qpn is not 0
  std::vector<std::uint32_t> polled;  // the CQs of the last wait
  std::size_t count(Op op) const;     // calls of this kind
  void complete(std::uint32_t cq, const CqEntry& entry);
};

// The world of this process; `start_anew` forgets everything but the device.
FakeWorld& fake_world();
void start_anew();

}  // namespace weft::verbs

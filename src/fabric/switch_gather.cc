// Arrivals at a switch in a window, with all that is known about it before its turn comes, in order.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "fabric/arrival_key.h"
#include "fabric/switch.h"

namespace weft::fabric {

using engine::Packet;
using engine::PacketBody;
using namespace arrival_key;

namespace {

constexpr int kPacketsShift = 40;  // packets and bytes counted in one word

// For keys that are nearly in order.
void insertion_sort(std::uint64_t* keys, std::size_t count) {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t key = keys[i];
    if (key >= last) {
      last = key;
      continue;
    }
    std::size_t at = i;
    do {
      keys[at] = keys[at - 1];
      --at;
    } while (at > 0 && key < keys[at - 1]);
    keys[at] = key;
  }
}

// Bins of a counting sort: first how many there are in each, then where the next of each belongs.
constexpr int kBinBits = 6;
struct Bins {
  static constexpr std::size_t kMostKeys = 255;
  static_assert(std::endian::native == std::endian::little, "start() adds up the bytes of a word from the lowest");
  std::array<std::uint8_t, 1 << kBinBits> at{};

  // Eight sums by one multiplication.
  void start() {
    constexpr std::uint64_t kOnes = 0x0101010101010101;
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < at.size(); i += 8) {
      std::uint64_t counts;
      std::memcpy(&counts, &at[i], 8);
      const std::uint64_t sums = (counts + before) * kOnes;
      const std::uint64_t starts = sums - counts;
      std::memcpy(&at[i], &starts, 8);
      before = sums >> 56;
    }
  }
};
}  // namespace

// Nothing that is sent in this window can be due in it, so what arrives is known now. Of most packets everything is
// known that matters: class, size, where it leaves. The lines that it will touch are on their way before its turn
// comes.
[[gnu::noinline]] void Switch::gather(Time_ps end_ps, SwitchVisit& visit) {
  __builtin_prefetch(&classifier_);
  const std::size_t words = more_inbox_.size() + 1;
  if (visit.due.size() < words) visit.due.resize(words);
  std::uint64_t* const due_ports = visit.due.data();
  Time_ps first_ps = end_ps;
  Time_ps later_ps = kNever_ps;
  const Wires* const wires = wires_.get();
  for (std::size_t w = 0; w < words; ++w) {
    const engine::InboxWord& word = inbox_word(w);
    std::uint64_t due = 0;
    for (std::uint64_t bits = word.bits; bits != 0; bits &= bits - 1) {
      auto i = static_cast<std::uint32_t>(std::countr_zero(bits));
      const Time_ps next_ps = word.next_ps[i];
      if (next_ps < end_ps) {
        due |= bits & -bits;
        first_ps = std::min(first_ps, next_ps);
        __builtin_prefetch(wires[64 * w + i].inbound);
        __builtin_prefetch(&ports_[64 * w + i].ingress);
      } else {
        later_ps = std::min(later_ps, next_ps);
      }
    }
    due_ports[w] = due;
  }
  std::size_t most = 1;  // the end mark
  for (std::size_t w = 0; w < words; ++w) {
    for (std::uint64_t bits = due_ports[w]; bits != 0; bits &= bits - 1) {
      const engine::Inlet& inlet = *wires[64 * w + static_cast<std::size_t>(std::countr_zero(bits))].inbound;
      inlet.prefetch_front();
      most += inlet.waiting();
    }
  }
  if (most > visit.sorted.size()) [[unlikely]]
    visit.reserve(most);
  WEFT_CHECK(end_ps - first_ps < kLongestWindow_ps, "a window is shorter than a second");

  Arrival* arrival = visit.arrivals.data();
  for (std::size_t w = 0; w < words; ++w) {
    engine::InboxWord& word = inbox_word(w);
    for (std::uint64_t bits = due_ports[w]; bits != 0; bits &= bits - 1) {
      auto i = static_cast<std::uint32_t>(std::countr_zero(bits));
      const auto port = static_cast<std::uint32_t>(64 * w + i);
      engine::Inlet& inlet = *wires[port].inbound;
      arrival = take_arrivals(inlet, port, arrival, end_ps);
      const Time_ps next_ps = inlet.next_ps();
      later_ps = std::min(later_ps, next_ps);
      word.next_ps[i] = next_ps;
      if (next_ps == kNever_ps) word.bits &= ~(bits & -bits);
    }
  }
  arrival_ps_ = later_ps;
  visit.first_ps = first_ps;
  visit.count = static_cast<std::size_t>(arrival - visit.arrivals.data());
  WEFT_DCHECK(visit.count < visit.sorted.size(), "arrivals and the end mark have room");
  visit.sort(end_ps - first_ps);
}

// Takes all that is due at one port.
inline SwitchVisit::Arrival* Switch::take_arrivals(engine::Inlet& inlet, std::uint32_t in, Arrival* arrival,
                                                   Time_ps end_ps) {
  Arrival* const first = arrival;
  std::uint32_t place = 0;
  std::uint64_t traffic = 0;  // packets << 40 and bytes
  auto count_traffic = [&] {
    PortTraffic& rx = ports_[in].ingress[place].rx;
    rx.packets += traffic >> kPacketsShift;
    rx.bytes += traffic & ((std::uint64_t{1} << kPacketsShift) - 1);
    traffic = 0;
  };
  auto data = [&](Packet& packet) {
    const PacketClass lane = classifier_.of(packet);
    const std::uint32_t line_bytes = line_B(packet);
    if (lane.ingress() != place) {
      count_traffic();
      place = lane.ingress();
    }
    traffic += (std::uint64_t{1} << kPacketsShift) + line_bytes - kLineGap_B;
    const bool usual = (packet.flags & (Packet::kBadFcs | Packet::kHasCold)) == 0 && packet.hops < engine::kTtl - 1 &&
                       line_bytes <= passes_B_;
    const std::uint32_t port = usual ? ways_.way(packet) : kNoPort;
    WEFT_DCHECK(port == kNoPort || port < ports_.size(), "a route leads to a port of this switch");
    SwitchPort* const out = port == kNoPort ? nullptr : &ports_[port];
    arrival->packet = &packet;
    arrival->out = out;
    arrival->time_ps = packet.time_ps;
    arrival->in = static_cast<std::uint16_t>(in);
    arrival->line_B = static_cast<std::uint16_t>(line_bytes);
    arrival->lane = lane;
    arrival->kind = kDataKind;
    ++arrival;
    if (out == nullptr) [[unlikely]]
      return;
    packet.hops = static_cast<std::uint8_t>(packet.hops + ((packet.flags & Packet::kRouted) != 0));
    __builtin_prefetch(out);
    __builtin_prefetch(&out->lanes[lane.queue()]);
    __builtin_prefetch(wires_[port].outbound);
  };
  auto pause = [&](Packet& packet) {
    *arrival++ = {&packet, nullptr, packet.time_ps, static_cast<std::uint16_t>(in), 0, {}, kPauseKind};
  };
  inlet.take_until(end_ps, data, pause);
  count_traffic();
  if (ways_.careful || inlet.tapped) [[unlikely]]
    SwitchVisit::take_back(first, arrival);
  return arrival;
}

void SwitchVisit::reserve(std::size_t most) {
  WEFT_CHECK(most <= kPlaceMask, "fewer packets than that arrive at a switch in one window");
  arrivals.resize(2 * most);
  keys.resize(2 * most);
  sorted.resize(2 * most);
}

void SwitchVisit::take_back(Arrival* first, Arrival* last) {
  for (; first != last; ++first) {
    if (first->out != nullptr && (first->packet->flags & Packet::kRouted)) --first->packet->hops;
    first->out = nullptr;
  }
}

// Those of each port are in order. A few are sorted where they are; of more than that the sort by bins is quicker.
inline void SwitchVisit::sort(Time_ps length_ps) {
  constexpr std::size_t kFew = 8;
  const std::size_t total = count;
  const Arrival* const list = arrivals.data();
  std::uint64_t* const drawn = keys.data();
  std::uint64_t* const in_order = sorted.data();
  auto key_of = [list, start_ps = first_ps](std::size_t i) {
    WEFT_DCHECK(list[i].time_ps >= start_ps, "the first arrival of a visit is the earliest");
    return static_cast<std::uint64_t>(list[i].time_ps - start_ps) << kTimeShift |
           std::uint64_t{list[i].kind} << kKindShift | i;
  };
  if (total > kFew && total <= Bins::kMostKeys) {
    const int width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(length_ps)));
    const int shift = kTimeShift + std::max(0, width - kBinBits);
    Bins bins;
    for (std::size_t i = 0; i < total; ++i) {
      drawn[i] = key_of(i);
      ++bins.at[drawn[i] >> shift];
    }
    bins.start();
    for (std::size_t i = 0; i < total; ++i) in_order[bins.at[drawn[i] >> shift]++] = drawn[i];
  } else {
    for (std::size_t i = 0; i < total; ++i) in_order[i] = key_of(i);
  }
  if (total > Bins::kMostKeys) [[unlikely]] {
    std::sort(in_order, in_order + total);
  } else {
    insertion_sort(in_order, total);
  }
  WEFT_DCHECK(std::is_sorted(in_order, in_order + total), "arrivals are in order");
  in_order[total] = kNoArrival;
}

}  // namespace weft::fabric

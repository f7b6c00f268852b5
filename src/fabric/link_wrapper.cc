#include "fabric/link_wrapper.h"

#include <algorithm>

#include "base/check.h"
#include "fabric/ecn_marker.h"
#include "fabric/link.h"

namespace weft::fabric {

namespace {

FaultVerdict no_signal() {
  FaultVerdict verdict;
  verdict.lost = true;
  verdict.loss = Fate::kLinkDown;
  verdict.comment = "weft: lost, link down";
  return verdict;
}

}  // namespace

void LinkDirection::send_wrapped(const engine::Packet& packet, Time_ps start_ps) {
  wrapper_->send(*this, packet, start_ps);
}
void LinkDirection::send_pause_wrapped(const engine::Packet& packet, Time_ps start_ps) {
  wrapper_->send_pause(*this, packet, start_ps);
}
void LinkDirection::tap_arrival(const engine::Packet& packet) {
  wrapper_->arrive(*this, packet);
}
Time_ps LinkDirection::wrapped_release_ps() const {
  return wrapper_->next_release_ps(*this);
}
void LinkDirection::release(Time_ps now_ps) {
  wrapper_->release(*this, now_ps);
}
std::uint64_t LinkDirection::in_flight() const {
  return (inlet_ == nullptr ? 0 : inlet_->in_flight()) + (wrapper_ == nullptr ? 0 : wrapper_->waiting());
}

void LinkWrapper::send(LinkDirection& link, engine::Packet packet, Time_ps start_ps) {
  FaultVerdict verdict = faults_.judge(packet, *link.source().formats, line_B(packet), start_ps);
  if (!carrier_ && !verdict.lost) verdict = no_signal();
  if (impairer_ && !verdict.lost)
    impairer_->judge(line_B(packet), delayed_.size(), start_ps, !send_taps_.empty(), verdict);
  show(send_taps_, {packet, link.source(), from_, to_, start_ps, true, verdict.comment});
  if (verdict.lost) {
    link.sent.count(verdict.loss);
    link.source().release(packet);
    return;
  }
  if (verdict.ce_mark && (packet.tos & kEcnMask) != 0) packet.tos |= kEcnCe;
  if (verdict.corrupt) packet.flags |= engine::Packet::kBadIcrc;
  if (verdict.bit_error) packet.flags |= engine::Packet::kBadFcs;
  Time_ps due_ps = packet.time_ps;
  WEFT_CHECK(verdict.delay_ps >= 0 && due_ps > start_ps, "a packet comes after it was sent");
  packet.time_ps += verdict.delay_ps;
  if (verdict.duplicate) {
    engine::Packet twin = link.source().copy(packet);
    twin.time_ps += std::max(verdict.duplicate_delay_ps, link.serialisation_ps(packet));
    ++link.sent.copies;
    hold(twin);
  }
  flush(link, due_ps);
  if (verdict.delay_ps > 0) {
    hold(packet);
  } else {
    link.outlet().push(packet);
  }
}

// Only a link that is down and bit errors hit a pause frame; rules that select frames are about transports.
void LinkWrapper::send_pause(LinkDirection& link, const engine::Packet& packet, Time_ps start_ps) {
  FaultVerdict verdict = faults_.judge_pause(kMinLine_B, start_ps);
  if (!carrier_ && !verdict.lost) verdict = no_signal();
  show(send_taps_, {packet, link.source(), from_, to_, start_ps, true, verdict.comment});
  if (verdict.lost || verdict.bit_error) {
    link.sent.count(verdict.lost ? verdict.loss : Fate::kFcsError);
    return;
  }
  link.outlet().push_pause(packet);
}

void LinkWrapper::arrive(LinkDirection& link, const engine::Packet& packet) {
  // A frame with a bad FCS never leaves the MAC, so no capture on a host shows it.
  if ((packet.flags & engine::Packet::kBadFcs) != 0) return;
  bool pause = packet.transport == engine::kLinkControl;
  Time_ps first_bit_ps = packet.time_ps - (pause ? link.timing().response_ps + kMinLine_B * link.timing().ps_per_byte
                                                 : link.handling_ps(line_B(packet)));
  std::string_view comment =
      (packet.flags & engine::Packet::kBadIcrc) != 0 ? "weft: corrupted on purpose (bad ICRC)" : "";
  show(receive_taps_, {packet, link.destination(), from_, to_, first_bit_ps, false, comment});
}

void LinkWrapper::remove_taps(const void* self) {
  for (std::vector<Tap>* taps : {&send_taps_, &receive_taps_})
    std::erase_if(*taps, [&](const Tap& tap) { return tap.self == self; });
}

void LinkWrapper::impair(const std::optional<Impairment>& impairment, std::uint64_t seed) {
  impairer_.reset();
  if (impairment) impairer_.emplace(*impairment, seed, std::uint64_t{from_} << 32 | impairments_++);
}

void LinkWrapper::hold(const engine::Packet& packet) {
  delayed_.push_back({packet.time_ps, next_order_++, packet});
  std::push_heap(delayed_.begin(), delayed_.end());
}

void LinkWrapper::flush(LinkDirection& link, Time_ps time_ps) {
  while (!delayed_.empty() && delayed_.front().due_ps <= time_ps) {
    std::pop_heap(delayed_.begin(), delayed_.end());
    link.outlet().push(delayed_.back().packet);
    delayed_.pop_back();
  }
}

Time_ps LinkWrapper::next_release_ps(const LinkDirection& link) const {
  if (delayed_.empty()) return kNever_ps;
  return delayed_.front().due_ps - link.timing().flight_ps - link.timing().pipeline_ps;
}

void LinkWrapper::release(LinkDirection& link, Time_ps now_ps) {
  flush(link, now_ps + link.timing().flight_ps + link.timing().pipeline_ps);
}

}  // namespace weft::fabric

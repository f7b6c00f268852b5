#include "analyze/streams/streams.h"

#include <algorithm>
#include <limits>

namespace weft::analyze {
namespace {

std::size_t mixed(std::uint64_t high, std::uint64_t low) {
  std::uint64_t hash = high * 0x9e3779b97f4a7c15ULL ^ low;
  hash = (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<std::size_t>(hash ^ hash >> 31);
}

void count(std::uint32_t& counter) {
  if (counter != std::numeric_limits<std::uint32_t>::max()) ++counter;
}

}  // namespace

std::size_t Streams::PairHash::operator()(const Pair& pair) const {
  return mixed(std::uint64_t{pair.src} << 32 | pair.dst, pair.point);
}

std::size_t Streams::slot_of(PointId point, AddressId src, AddressId dst, std::uint32_t dst_qp) const {
  std::size_t at = mixed(std::uint64_t{src} << 32 | dst, std::uint64_t{point} << 32 | dst_qp);
  for (;; ++at) {
    const std::uint32_t slot = slots_[at & (slots_.size() - 1)];
    if (slot == 0) return at & (slots_.size() - 1);
    const Stream& stream = streams_[slot - 1];
    if (stream.dst_qp == dst_qp && stream.src == src && stream.dst == dst && stream.point == point)
      return at & (slots_.size() - 1);
  }
}

StreamId Streams::find(PointId point, AddressId src, AddressId dst, std::uint32_t dst_qp) const {
  return slots_.empty() ? kNone : slots_[slot_of(point, src, dst, dst_qp)] - 1;
}

void Streams::grow() {
  const std::vector<std::uint32_t> before = std::move(slots_);
  slots_.assign(before.empty() ? 64 : before.size() * 2, 0);
  for (StreamId id = 0; id < streams_.size(); ++id) {
    const Stream& stream = streams_[id];
    std::size_t at =
        mixed(std::uint64_t{stream.src} << 32 | stream.dst, std::uint64_t{stream.point} << 32 | stream.dst_qp);
    while (slots_[at & (slots_.size() - 1)] != 0) ++at;
    slots_[at & (slots_.size() - 1)] = id + 1;
  }
}

// Requests without their answers would look like a broken connection: answers to streams that are kept have as much
// room again.
bool Streams::has_room_for(const Frame& frame) const {
  if (frame.src == kNone || frame.dst == kNone) return false;
  if (streams_.size() < most_) return true;
  if (streams_.size() >= most_ * 2 || frame.is_request()) return false;
  return newest_.contains(Pair{frame.point, frame.dst, frame.src});
}

StreamId Streams::see(const Frame& frame) {
  if (streams_.size() * 2 >= slots_.size()) grow();
  std::uint32_t& slot = slots_[slot_of(frame.point, frame.src, frame.dst, frame.dest_qp)];
  if (slot == 0) {
    if (!has_room_for(frame)) {
      counted_.see(frame);
      return kNone;
    }
    Stream stream;
    stream.point = frame.point;
    stream.src = frame.src;
    stream.dst = frame.dst;
    stream.dst_qp = frame.dest_qp;
    stream.first_ns = frame.time_ns;
    stream.first_frame = frame.number;
    stream.ttl = frame.ttl;
    stream.mirror = frame.mirror;
    streams_.push_back(stream);
    slot = static_cast<std::uint32_t>(streams_.size());
    auto [newest, is_first] = newest_.try_emplace(Pair{frame.point, frame.src, frame.dst}, slot - 1);
    older_.push_back(is_first ? kNone : newest->second);
    newest->second = slot - 1;
    if (!known_peer_.empty()) pair_known(slot - 1);
  }
  const StreamId id = slot - 1;
  Stream& stream = streams_[id];
  if (frame.time_ns - stream.last_ns >= kSilence_ns && stream.frames > 0) [[unlikely]]
    add_silence(id, {stream.last_ns, frame.time_ns, frame.number});
  ++stream.frames;
  stream.last_ns = frame.time_ns;
  stream.ce_marked += frame.ce() ? 1 : 0;
  if (stream.payload_B == 0) stream.data_tos = frame.tos;
  stream.payload_B += frame.payload_B;
  stream.wire_B += frame.wire_B;
  if (frame.payload_B > stream.payload_B_most) stream.payload_B_most = frame.payload_B;
  stream.src_port = frame.src_port;
  if (frame.is_cnp()) {
    count(stream.cnps);
    return id;
  }
  stream.transport = static_cast<std::uint8_t>(frame.opcode) & wire::kTransportMask;
  if (frame.is_request()) {
    if (stream.requests == 0) stream.first_request_psn = stream.newest_request_psn = frame.psn;
    count(stream.requests);
    stream.last_request_psn = frame.psn;
    if (((frame.psn - stream.newest_request_psn) & 0xffffff) < 0x800000) stream.newest_request_psn = frame.psn;
  } else if (wire::is_response(frame.opcode)) {
    count(stream.responses);
    stream.last_response_psn = frame.psn;
    if (stream.reverse == kNone) find_reverse(id, frame);
  }
  return id;
}

void Streams::add_silence(StreamId id, const Silence& silence) {
  constexpr std::size_t kMostSilent = 1 << 13;  // streams
  if (silences_.size() == kMostSilent && !silences_.contains(id)) return;
  std::vector<Silence>& all = silences_[id];
  if (all.size() < kMostSilences) return all.push_back(silence);
  const auto length_ns = [](const Silence& each) { return each.to_ns - each.from_ns; };
  const auto shortest = std::min_element(all.begin(), all.end(), [&](const Silence& one, const Silence& other) {
    return length_ns(one) < length_ns(other);
  });
  if (length_ns(silence) > length_ns(*shortest)) *shortest = silence;
}

StreamId Streams::only_between(PointId point, AddressId src, AddressId dst) const {
  const auto newest = newest_.find(Pair{point, src, dst});
  return newest == newest_.end() || older_[newest->second] != kNone ? kNone : newest->second;
}

void Streams::pair(StreamId one, StreamId other) {
  streams_[one].reverse = other;
  streams_[other].reverse = one;
}

void Streams::pair_cnps() {
  for (StreamId id = 0; id < streams_.size(); ++id) {
    const Stream& cnps = streams_[id];
    if (cnps.reverse != kNone || cnps.cnps != cnps.frames) continue;
    const StreamId data = only_between(cnps.point, cnps.dst, cnps.src);
    if (data != kNone && streams_[data].reverse == kNone) pair(data, id);
  }
}

void Streams::know(Endpoint one, Endpoint other) {
  constexpr std::size_t kMostKnown = 1 << 20;
  if (known_peer_.size() >= kMostKnown) return;
  known_peer_[std::uint64_t{one.address} << 32 | one.qp] = other.qp;
  known_peer_[std::uint64_t{other.address} << 32 | other.qp] = one.qp;
}

void Streams::pair_known(StreamId id) {
  const Stream& stream = streams_[id];
  const auto peer = known_peer_.find(std::uint64_t{stream.dst} << 32 | stream.dst_qp);
  if (peer == known_peer_.end()) return;
  const StreamId other = find(stream.point, stream.dst, stream.src, peer->second);
  if (other != kNone && streams_[other].reverse == kNone) pair(id, other);
}

}  // namespace weft::analyze

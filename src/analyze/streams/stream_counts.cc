#include "analyze/streams/stream_counts.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "wire/opcode.h"

namespace weft::analyze {
namespace {

const char* transport_word(std::uint64_t opcode) {
  if (wire::is_xrc(static_cast<std::uint8_t>(opcode))) return "XRC";
  return (opcode & wire::kTransportMask) == 0 ? "RC" : opcode < 0x40 ? "UC" : opcode >> 5 == 3 ? "UD" : "";
}

}  // namespace

std::uint64_t StreamCounts::hash_of(AddressId src, AddressId dst, std::uint32_t point, std::uint32_t qp) {
  std::uint64_t hash = (std::uint64_t{src} << 32 | dst) * 0x9e3779b97f4a7c15ULL ^ (std::uint64_t{point} << 32 | qp);
  hash = (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9ULL;
  return hash ^ hash >> 29;
}

// Where the stream of `key` is, or where there is room for it. The low half of the hash is scaled to the table, which
// may have any size.
StreamCounts::Entry& StreamCounts::place_of(Table& table, const Entry& key, std::uint64_t hash) {
  const std::size_t size = table.entries.size();
  for (std::size_t at = (hash & 0xffffffff) * size >> 32;; at = at + 1 == size ? 0 : at + 1) {
    Entry& entry = table.entries[at];
    if (entry.frames == 0) return entry;
    if (entry.dst_qp == key.dst_qp && entry.src == key.src && entry.dst == key.dst && entry.point == key.point)
      return entry;
  }
}

// Growth by a quarter: room that is not used counts more here than the time to move.
void StreamCounts::grow(Table& table) {
  const std::vector<Entry> before = std::move(table.entries);
  table.entries.assign(before.size() + before.size() / 4 + 16, Entry{});
  for (const Entry& entry : before) {
    if (entry.frames != 0) place_of(table, entry, hash_of(entry.src, entry.dst, entry.point, entry.dst_qp)) = entry;
  }
}

void StreamCounts::see(const Frame& frame) {
  if (tables_.empty()) tables_.resize(std::size_t{1} << kTableBits);
  ++frames_;
  Entry key;
  key.src = frame.src;
  key.dst = frame.dst;
  key.dst_qp = frame.dest_qp & 0xffffff;
  key.point = frame.point & 0xfffff;
  const std::uint64_t hash = hash_of(key.src, key.dst, key.point, key.dst_qp);
  Table& table = tables_[hash >> (64 - kTableBits)];
  if (table.used * 5 >= table.entries.size() * 4) grow(table);
  Entry& entry = place_of(table, key, hash);
  if (entry.frames == 0) {
    if (size_ == kMostCounted) {
      ++left_out_;
      return;
    }
    entry = key;
    entry.opcode = static_cast<std::uint8_t>(frame.opcode);
    ++table.used;
    ++size_;
  }
  if (entry.frames != std::numeric_limits<std::uint32_t>::max()) ++entry.frames;
  entry.wire_B += frame.wire_B;
}

std::vector<Conversation> StreamCounts::largest(std::size_t most, const Addresses& addresses) const {
  std::vector<const Entry*> chosen;
  const auto is_larger = [](const Entry* one, const Entry* other) {
    if (one->wire_B != other->wire_B) return one->wire_B > other->wire_B;
    return std::tuple(one->src, one->dst, std::uint32_t{one->dst_qp}, std::uint64_t{one->point}) <
           std::tuple(other->src, other->dst, std::uint32_t{other->dst_qp}, std::uint64_t{other->point});
  };
  for (const Table& table : tables_) {
    for (const Entry& entry : table.entries) {
      if (entry.frames == 0) continue;
      chosen.push_back(&entry);
      if (chosen.size() < most * 2) continue;
      std::nth_element(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(most), chosen.end(), is_larger);
      chosen.resize(most);
    }
  }
  std::sort(chosen.begin(), chosen.end(), is_larger);
  chosen.resize(std::min(chosen.size(), most));
  std::vector<Conversation> conversations;
  for (const Entry* entry : chosen) {
    Conversation& each = conversations.emplace_back();
    each.a = addresses.text(entry->src);
    each.b = addresses.text(entry->dst);
    each.b_qp = std::uint32_t{entry->dst_qp};
    each.transport = transport_word(entry->opcode);
    each.packets = entry->frames;
    each.wire_B = entry->wire_B;
  }
  return conversations;
}

}  // namespace weft::analyze

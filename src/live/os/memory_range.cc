// Registered memory through the changes that a program makes to its mappings: pages that were pinned stay the NIC's,
// whatever becomes of the addresses.
#include <algorithm>
#include <cstring>

#include "live/os/node.h"

namespace weft::live {

namespace {

constexpr std::uint64_t kPage_B = 4096;  // the smallest; larger ones are several of them

}  // namespace

// Calls `mapped` or `kept` for each stretch of the range, in order.
template <typename Mapped, typename Kept>
bool MemoryRange::each_stretch(std::uint64_t from, std::size_t size_B, Mapped mapped, Kept in_kept) {
  for (std::size_t done = 0; done < size_B;) {
    const std::uint64_t at = from + done;
    std::size_t part_B = size_B - done;
    KeptPages* found = nullptr;
    for (KeptPages& each : kept) {
      if (at >= each.address && at - each.address < each.size_B) {
        found = &each;
        part_B = std::min<std::size_t>(part_B, each.size_B - (at - each.address));
        break;
      }
      if (at < each.address) part_B = std::min<std::size_t>(part_B, each.address - at);
    }
    const bool well =
        found != nullptr ? in_kept(found->bytes() + (at - found->address), done, part_B) : mapped(at, done, part_B);
    if (!well) return false;
    done += part_B;
  }
  return true;
}

bool MemoryRange::read(std::uint64_t at, std::span<std::uint8_t> out) {
  if (is_null) {
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    return true;
  }
  if (inside) {
    if (at > inside->size() || out.size() > inside->size() - at) return false;
    std::copy_n(inside->begin() + static_cast<std::ptrdiff_t>(at), out.size(), out.begin());
    return true;
  }
  process->settle_writes(kNever_ps);  // a DMA read does not pass a posted write
  if (kept.empty()) return process->read(at, out);
  return each_stretch(
      at, out.size(),
      [&](std::uint64_t from, std::size_t done, std::size_t part_B) {
        return process->read(from, out.subspan(done, part_B));
      },
      [&](const std::uint8_t* from, std::size_t done, std::size_t part_B) {
        std::memcpy(out.data() + done, from, part_B);
        return true;
      });
}

bool MemoryRange::write(std::uint64_t at, std::span<const std::uint8_t> in, Time_ps visible_ps) {
  if (is_null) return true;
  if (inside) {
    if (at > inside->size() || in.size() > inside->size() - at) return false;
    std::copy(in.begin(), in.end(), inside->begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }
  if (on_demand && !page_in(at, in.size())) return false;
  if (kept.empty()) {
    process->node->note_write(*process, at, in, visible_ps);
    return true;
  }
  return each_stretch(
      at, in.size(),
      [&](std::uint64_t to, std::size_t done, std::size_t part_B) {
        process->node->note_write(*process, to, in.subspan(done, part_B), visible_ps);
        return true;
      },
      [&](std::uint8_t* to, std::size_t done, std::size_t part_B) {
        std::memcpy(to, in.data() + done, part_B);
        return true;
      });
}

bool MemoryRange::give(std::uint64_t at, std::uint32_t size_B, nic::PayloadPool& pool, std::uint32_t slot,
                       Time_ps visible_ps) {
  if (is_plain() && !on_demand) {
    process->node->note_write(*process, {visible_ps, at, size_B, slot, 0, true}, pool);
    return true;
  }
  const bool written = write(at, std::span(pool[slot]).first(size_B), visible_ps);
  pool.give_back(slot);
  return written;
}

bool MemoryRange::page_in(std::uint64_t at, std::size_t size_B) const {
  std::uint8_t byte = 0;
  for (std::uint64_t from = at; from < at + size_B; from = (from / kPage_B + 1) * kPage_B) {
    if (!process->read(from, {&byte, 1})) return false;
  }
  return true;
}

// Pages kept before stay so, also where the program has mapped something else there since.
void MemoryRange::keep(const KeptPages& block) {
  std::uint64_t at = std::max(block.address, address);
  const std::uint64_t end = std::min(block.address + block.size_B, address + length_B);
  for (std::size_t i = 0; at < end; ++i) {
    const bool more = i < kept.size();
    if (more && kept[i].address + kept[i].size_B <= at) continue;
    const std::uint64_t until = more ? std::min(end, kept[i].address) : end;
    if (until > at) {
      kept.insert(kept.begin() + static_cast<std::ptrdiff_t>(i),
                  {at, until - at, block.block, block.offset_B + (at - block.address)});
      at = until;
    } else {
      at = kept[i].address + kept[i].size_B;
    }
  }
}

}  // namespace weft::live

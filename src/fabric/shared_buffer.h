// The packet memory of a switch, in cells (docs/mechanisms/shared-buffer.md). A packet is counted twice: at the
// priority group that it came in by, which decides XOFF and headroom, and at the queue that it leaves by, which decides
// tail drop of lossy traffic. Both share by a dynamic threshold: limit = 2^n times what is free in the pool.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "spec/switch_config.h"
#include "spec/switch_model.h"

namespace weft::fabric {

class SharedBuffer {
 public:
  struct Group {
    std::uint32_t shared = 0;    // cells, reserved ones included
    std::uint32_t headroom = 0;  // cells that came after the limit was reached
    std::uint32_t max_shared = 0;
    std::uint32_t max_headroom = 0;
  };
  enum class Place : std::uint8_t { kShared, kHeadroom, kNone };

  SharedBuffer(const SwitchModel& model, const SwitchQos& qos, const std::vector<SwitchPortConfig>& ports);
  SharedBuffer(const SharedBuffer&) = delete;
  SharedBuffer& operator=(const SharedBuffer&) = delete;
  // A switch keeps the groups of a buffer of one slice beside what else it touches for them: group `g` of port p lies
  // p times `port_stride` bytes after *first[g].
  void keep_groups_at(const std::array<Group*, kClasses>& first, std::size_t port_stride);

  std::uint32_t cells(std::uint32_t bytes) const {
    const auto count = static_cast<std::uint32_t>((std::uint64_t{bytes} + cell_B_ - 1) * inverse_ >> kInverseShift);
    WEFT_DCHECK(count == (bytes + cell_B_ - 1) / cell_B_, "a frame takes whole cells");
    return count;
  }
  bool has_one_slice() const { return one_slice_; }
  // Memory slice for a packet between these ports.
  std::uint32_t slice(std::uint32_t in_port, std::uint32_t out_port) const {
    return one_slice_ ? 0 : slice_of(in_port, out_port);
  }
  Group& group(std::uint32_t slice, std::uint32_t port, std::uint32_t g) {
    WEFT_DCHECK(slice < slices_.size() && port < ports_ && g < kClasses, "a group of this buffer");
    return *reinterpret_cast<Group*>(first_[g] + (std::size_t{slice} * ports_ + port) * port_stride_);
  }
  const Group& group(std::uint32_t slice, std::uint32_t port, std::uint32_t g) const {
    return const_cast<SharedBuffer*>(this)->group(slice, port, g);
  }

  // Ingress side: where `count` cells of group `g` of `port` find room. kHeadroom asks for XOFF.
  Place admit(std::uint32_t slice, std::uint32_t port, std::uint32_t g, std::uint32_t count) {
    Slice& pool = slices_[slice];
    const GroupLimit& limit = group_limits_[g];
    Group& group = this->group(slice, port, g);
    std::uint32_t shared = group.shared + count;
    std::uint32_t more = over(shared, limit.reserved) - over(group.shared, limit.reserved);
    if (shared <= limit.reserved + scaled(pool.size - pool.used, group_alpha(port, g)) &&
        pool.used + more <= pool.size) {
      pool.used += more;
      WEFT_DCHECK(pool.used <= pool.size && shared >= group.shared, "a pool holds what it has room for");
      group.shared = shared;
      group.max_shared = std::max(group.max_shared, shared);
      pool.max_used = std::max(pool.max_used, pool.used);
      return Place::kShared;
    }
    return limit.lossless ? admit_to_headroom(pool, group, port, g, count) : Place::kNone;
  }
  void release(std::uint32_t slice, std::uint32_t port, std::uint32_t g, std::uint32_t count) {
    Slice& pool = slices_[slice];
    Group& group = this->group(slice, port, g);
    WEFT_DCHECK(count <= group.shared + group.headroom, "a group holds what it gives back");
    if (group.headroom > 0) [[unlikely]] {
      std::uint32_t from_headroom = std::min(group.headroom, count);
      group.headroom -= from_headroom;
      WEFT_DCHECK(pool.headroom_used >= from_headroom, "the headroom of a slice is that of its groups");
      pool.headroom_used -= from_headroom;
      count -= from_headroom;
    }
    std::uint32_t shared = group.shared - count;
    const std::uint32_t less = over(group.shared, group_limits_[g].reserved) - over(shared, group_limits_[g].reserved);
    WEFT_DCHECK(pool.used >= less, "a pool holds what its groups share");
    pool.used -= less;
    group.shared = shared;
  }
  // May the group send XON?
  bool is_below_xon(std::uint32_t slice, std::uint32_t port, std::uint32_t g) const {
    const Group& group = this->group(slice, port, g);
    const GroupLimit& limit = group_limits_[g];
    if (group.headroom > 0) return false;
    const Slice& pool = slices_[slice];
    std::uint32_t now = limit.reserved + scaled(pool.size - pool.used, group_alpha(port, g));
    return group.shared <= std::max(limit.xon, now > limit.xon_offset ? now - limit.xon_offset : 0);
  }

  // Egress side: may a queue of `port` that holds `queue` cells take `count` more?
  bool egress_has_room(std::uint32_t port, std::uint32_t q, std::uint32_t queue, std::uint32_t count) const {
    const QueueLimit& limit = queue_limits_[q];
    if (limit.lossless) return true;
    std::uint32_t total = queue + count;
    std::uint32_t more = over(total, limit.reserved) - over(queue, limit.reserved);
    return total <= limit.reserved + scaled(egress_size_ - egress_used_, queue_alpha(port, q)) &&
           egress_used_ + more <= egress_size_;
  }
  void egress_take(std::uint32_t q, std::uint32_t queue, std::uint32_t count) {
    const QueueLimit& limit = queue_limits_[q];
    if (!limit.lossless) egress_used_ += over(queue + count, limit.reserved) - over(queue, limit.reserved);
    WEFT_DCHECK(egress_used_ <= egress_size_, "the egress pool holds what it has room for");
  }
  void egress_give(std::uint32_t q, std::uint32_t queue, std::uint32_t count) {
    const QueueLimit& limit = queue_limits_[q];
    WEFT_DCHECK(count <= queue && egress_share(q, queue) <= egress_used_, "a queue holds what it gives back");
    if (!limit.lossless) egress_used_ -= over(queue, limit.reserved) - over(queue - count, limit.reserved);
  }

  // While packets wait: what is held already stays.
  void set_alpha(std::uint32_t port, std::uint32_t number, std::int8_t of_queue, std::int8_t of_group);
  std::int8_t group_alpha(std::uint32_t port, std::uint32_t g) const {
    return own_alphas_.empty() ? group_limits_[g].alpha : own_alphas_[port].groups[g];
  }
  std::int8_t queue_alpha(std::uint32_t port, std::uint32_t q) const {
    return own_alphas_.empty() ? queue_limits_[q].alpha : own_alphas_[port].queues[q];
  }

  std::uint32_t cell_B() const { return cell_B_; }
  // Highest use of the shared pools, all slices, in bytes.
  std::uint64_t max_used_B() const;
  std::uint64_t pool_B() const;
  // Highest use by one group, all slices added.
  std::uint64_t max_shared_B(std::uint32_t port, std::uint32_t g) const;
  std::uint64_t max_headroom_B(std::uint32_t port, std::uint32_t g) const;
  // What its headroom holds now.
  std::uint64_t headroom_B(std::uint32_t port, std::uint32_t g) const;
  // What a group holds now, headroom included, and the limit of its shared part: above it, it asks for XOFF. Where
  // memory is split, of the slice in which it holds most, and of the one with the least room. The limit is that of the
  // groups without an alpha of their own.
  std::uint64_t held_B(std::uint32_t port, std::uint32_t g) const;
  std::uint64_t limit_B(std::uint32_t g) const;
  bool is_empty() const;
  // For checks: cells of a group in all slices, of the egress pool and of a queue in it, and pools that are the sum of
  // their groups.
  std::uint32_t held_cells(std::uint32_t port, std::uint32_t g) const;
  std::uint32_t egress_used() const { return egress_used_; }
  std::uint32_t egress_share(std::uint32_t q, std::uint32_t queue) const {
    return queue_limits_[q].lossless ? 0 : over(queue, queue_limits_[q].reserved);
  }
  bool is_consistent() const;

 private:
  static constexpr int kInverseShift = 40;
  struct Slice {
    std::uint32_t size = 0, used = 0, max_used = 0;      // shared pool
    std::uint32_t headroom_size = 0, headroom_used = 0;  // shared headroom pool; size 0: none
  };
  struct GroupLimit {
    std::uint32_t reserved = 0, xon = 0, xon_offset = 0;
    std::int8_t alpha = 0;
    bool lossless = false;
  };
  struct QueueLimit {
    std::uint32_t reserved = 0;
    std::int8_t alpha = 0;
    bool lossless = false;
  };
  struct Alphas {
    std::array<std::int8_t, kClasses> queues, groups;
  };
  static std::uint32_t over(std::uint32_t n, std::uint32_t reserved) { return n > reserved ? n - reserved : 0; }
  static std::uint32_t scaled(std::uint32_t free, std::int8_t alpha) {
    return alpha >= 0 ? static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{free} << alpha, 0x7fffffff))
                      : free >> -alpha;
  }
  Place admit_to_headroom(Slice& pool, Group& group, std::uint32_t port, std::uint32_t g, std::uint32_t count);
  std::uint32_t slice_of(std::uint32_t in_port, std::uint32_t out_port) const;

  std::uint32_t cell_B_;
  std::uint64_t inverse_;
  std::uint32_t ports_;
  bool one_slice_ = true;
  std::array<std::byte*, kClasses> first_{};  // of each group, that of slice 0 and port 0
  std::size_t port_stride_ = 0;
  BufferSplit split_;
  std::uint32_t pipes_;
  std::vector<Slice> slices_;
  std::array<GroupLimit, kClasses> group_limits_;
  std::array<QueueLimit, kClasses> queue_limits_;
  std::vector<Alphas> own_alphas_;           // by port; empty: all have those of the limits
  std::vector<Group> groups_;                // by slice, port, group; empty if they are kept elsewhere
  std::vector<std::uint32_t> headroom_max_;  // by port, group
  std::uint32_t egress_size_ = 0, egress_used_ = 0;
};

}  // namespace weft::fabric

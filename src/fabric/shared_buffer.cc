#include "fabric/shared_buffer.h"

#include "base/check.h"

namespace weft::fabric {

SharedBuffer::SharedBuffer(const SwitchModel& model, const SwitchQos& qos, const std::vector<SwitchPortConfig>& ports)
    : cell_B_(model.cell_B),
      inverse_(((std::uint64_t{1} << kInverseShift) + model.cell_B - 1) / model.cell_B),
      ports_(static_cast<std::uint32_t>(ports.size())),
      split_(model.buffer_split),
      pipes_(std::max(1u, model.pipes)) {
  WEFT_CHECK(model.cell_B > 0, "a switch needs a cell size");
  auto in_cells = [&](std::int64_t bytes) { return static_cast<std::uint32_t>(bytes / cell_B_); };
  auto up_cells = [&](std::int64_t bytes) { return static_cast<std::uint32_t>((bytes + cell_B_ - 1) / cell_B_); };
  std::uint32_t count = split_ == BufferSplit::kShared ? 1 : std::max(1u, model.buffer_slices);
  Slice slice;
  slice.size = in_cells(qos.ingress_pool_B / count);
  slice.headroom_size = in_cells(qos.headroom_pool_B / count);
  slices_.assign(count, slice);
  egress_size_ = in_cells(qos.egress_pool_B);
  for (std::size_t c = 0; c < kClasses; ++c) {
    const GroupConfig& group = qos.groups[c];
    group_limits_[c] = {up_cells(group.reserved_B), in_cells(group.xon_B), up_cells(group.xon_offset_B),
                        group.alpha_exponent, group.lossless};
    const QueueConfig& queue = qos.queues[c];
    queue_limits_[c] = {up_cells(queue.reserved_B), queue.alpha_exponent, queue.lossless};
  }
  one_slice_ = count == 1;
  groups_.resize(std::size_t{count} * ports_ * kClasses);
  for (std::size_t g = 0; g < kClasses && !groups_.empty(); ++g) first_[g] = reinterpret_cast<std::byte*>(&groups_[g]);
  port_stride_ = kClasses * sizeof(Group);
  for (const SwitchPortConfig& port : ports) {
    for (std::int64_t bytes : port.headroom_B) headroom_max_.push_back(up_cells(bytes));
  }
}

void SharedBuffer::set_alpha(std::uint32_t port, std::uint32_t number, std::int8_t of_queue, std::int8_t of_group) {
  if (own_alphas_.empty()) {
    Alphas all;
    for (std::size_t c = 0; c < kClasses; ++c) {
      all.queues[c] = queue_limits_[c].alpha;
      all.groups[c] = group_limits_[c].alpha;
    }
    own_alphas_.assign(ports_, all);
  }
  WEFT_CHECK(port < ports_ && number < kClasses, "a queue and group of this switch");
  own_alphas_[port].queues[number] = of_queue;
  own_alphas_[port].groups[number] = of_group;
}

void SharedBuffer::keep_groups_at(const std::array<Group*, kClasses>& first, std::size_t port_stride) {
  WEFT_CHECK(one_slice_ && is_empty(), "groups of one slice can be kept elsewhere, before the first packet");
  for (std::size_t g = 0; g < kClasses; ++g) first_[g] = reinterpret_cast<std::byte*>(first[g]);
  port_stride_ = port_stride;
  groups_.clear();
  groups_.shrink_to_fit();
}

SharedBuffer::Place SharedBuffer::admit_to_headroom(Slice& pool, Group& group, std::uint32_t port, std::uint32_t g,
                                                    std::uint32_t count) {
  bool own = group.headroom + count <= headroom_max_[port * kClasses + g];
  bool shared = pool.headroom_size == 0 || pool.headroom_used + count <= pool.headroom_size;
  if (!own || !shared) return Place::kNone;
  group.headroom += count;
  pool.headroom_used += count;
  WEFT_DCHECK(group_limits_[g].lossless && group.headroom <= headroom_max_[port * kClasses + g],
              "headroom is for lossless groups and within what the port has");
  group.max_headroom = std::max(group.max_headroom, group.headroom);
  return Place::kHeadroom;
}

// Ports are dealt to pipes in equal runs. Two pipes share a half of the memory on ASICs that split by pipe pair
// ([juniper-qfx5k]).
std::uint32_t SharedBuffer::slice_of(std::uint32_t in_port, std::uint32_t out_port) const {
  auto count = static_cast<std::uint32_t>(slices_.size());
  WEFT_DCHECK(in_port < ports_ && out_port < ports_, "ports of this switch");
  std::uint32_t in_pipe = in_port * pipes_ / ports_;
  std::uint32_t out_pipe = out_port * pipes_ / ports_;
  if (split_ == BufferSplit::kPipePair && count == 4) return (in_pipe * 2 / pipes_) * 2 + out_pipe * 2 / pipes_;
  return in_pipe * count / pipes_;
}

std::uint64_t SharedBuffer::max_used_B() const {
  std::uint64_t sum = 0;
  for (const Slice& slice : slices_) sum += slice.max_used;
  return sum * cell_B_;
}

std::uint64_t SharedBuffer::pool_B() const {
  std::uint64_t sum = 0;
  for (const Slice& slice : slices_) sum += slice.size;
  return sum * cell_B_;
}

std::uint64_t SharedBuffer::max_shared_B(std::uint32_t port, std::uint32_t g) const {
  std::uint64_t sum = 0;
  for (std::uint32_t s = 0; s < slices_.size(); ++s) sum += group(s, port, g).max_shared;
  return sum * cell_B_;
}

std::uint64_t SharedBuffer::max_headroom_B(std::uint32_t port, std::uint32_t g) const {
  std::uint64_t sum = 0;
  for (std::uint32_t s = 0; s < slices_.size(); ++s) sum += group(s, port, g).max_headroom;
  return sum * cell_B_;
}

std::uint64_t SharedBuffer::headroom_B(std::uint32_t port, std::uint32_t g) const {
  std::uint64_t sum = 0;
  for (std::uint32_t s = 0; s < slices_.size(); ++s) sum += group(s, port, g).headroom;
  return sum * cell_B_;
}

std::uint64_t SharedBuffer::held_B(std::uint32_t port, std::uint32_t g) const {
  std::uint32_t most = 0;
  for (std::uint32_t slice = 0; slice < slices_.size(); ++slice) {
    const Group& of_slice = group(slice, port, g);
    most = std::max(most, of_slice.shared + of_slice.headroom);
  }
  return std::uint64_t{most} * cell_B_;
}

std::uint64_t SharedBuffer::limit_B(std::uint32_t g) const {
  std::uint32_t least = UINT32_MAX;
  for (const Slice& pool : slices_)
    least = std::min(least, group_limits_[g].reserved + scaled(pool.size - pool.used, group_limits_[g].alpha));
  return std::uint64_t{least} * cell_B_;
}

std::uint32_t SharedBuffer::held_cells(std::uint32_t port, std::uint32_t g) const {
  std::uint32_t sum = 0;
  for (std::uint32_t s = 0; s < slices_.size(); ++s) sum += group(s, port, g).shared + group(s, port, g).headroom;
  return sum;
}

bool SharedBuffer::is_consistent() const {
  for (std::uint32_t s = 0; s < slices_.size(); ++s) {
    std::uint64_t used = 0, headroom_used = 0;
    for (std::uint32_t port = 0; port < ports_; ++port) {
      for (std::uint32_t g = 0; g < kClasses; ++g) {
        const Group& each = group(s, port, g);
        used += over(each.shared, group_limits_[g].reserved);
        headroom_used += each.headroom;
        if (each.headroom > headroom_max_[port * kClasses + g]) return false;
        if (each.shared > each.max_shared || each.headroom > each.max_headroom) return false;
      }
    }
    if (used != slices_[s].used || headroom_used != slices_[s].headroom_used || used > slices_[s].size) return false;
  }
  return egress_used_ <= egress_size_;
}

bool SharedBuffer::is_empty() const {
  for (std::uint32_t port = 0; port < ports_; ++port) {
    for (std::uint32_t g = 0; g < kClasses; ++g) {
      if (held_cells(port, g) != 0) return false;
    }
  }
  return true;
}

}  // namespace weft::fabric

#include "nic/pcie/path.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace weft::nic {

namespace {

constexpr std::uint32_t kBurst_B = 16 << 10;  // of a virtual function with a rate limit: an estimate
constexpr int kWalksWaiting = 8;              // of writes that have left the NIC: an estimate

}  // namespace

PciePath::PciePath(PciePathSettings settings)
    : settings_(std::move(settings)),
      random_(settings_.seed, settings_.owner, RandomPurpose::kHostJitter),
      read_latency_ps_(settings_.read_latency_ps + settings_.payload_read_delay_ps + 2 * latency_ps(settings_.payload)),
      write_latency_ps_(settings_.write_latency_ps + far_write_ps(settings_.payload)),
      ahead_ps_(std::max(PcieFunction::kPrefetch_ps, 2 * read_latency_ps_)),
      read_ends_(settings_.read_tags),
      write_ends_(settings_.write_window_B / settings_.max_payload_B) {
  WEFT_CHECK(settings_.max_payload_B > 0 && settings_.max_read_request_B > 0, "a PCIe path of empty TLPs");
  WEFT_CHECK(!settings_.rate_limited || !settings_.reads.empty(), "a rate limit without a link");
  if (settings_.rate_limited)
    ahead_ps_ += settings_.reads.back()->occupied_ps(kBurst_B, settings_.completion_B, kCompletionOverhead_B);
}

Time_ps PciePath::latency_ps(const std::vector<PcieCrossing>& crossings) {
  Time_ps sum_ps = 0;
  for (const PcieCrossing& crossing : crossings) sum_ps += crossing.latency_ps;
  return sum_ps;
}

// PCIe switches have buffers of their own for writes.
Time_ps PciePath::far_write_ps(const std::vector<PcieCrossing>& crossings) {
  Time_ps sum_ps = 0;
  for (const PcieCrossing& crossing : crossings) {
    if (crossing.write_times > 1) sum_ps += crossing.write_times * crossing.latency_ps;
  }
  return sum_ps;
}

// There, or there and back. Who finds the link busy waits for the rest of a burst, whose lengths are exponential.
Time_ps PciePath::cross_ps(const std::vector<PcieCrossing>& crossings, int times) {
  Time_ps sum_ps = 0;
  for (const PcieCrossing& crossing : crossings) {
    const PcieChannel& channel = *crossing.channel;
    const int passes = times == 0 ? crossing.write_times : times;
    sum_ps += passes * crossing.latency_ps;
    if (delays_ != nullptr)
      (crossing.write_times > 1 ? delays_->numa_ps : delays_->switch_ps) += passes * crossing.latency_ps;
    const Time_ps idle_ps = sum_ps;
    for (int i = 0; i < passes && channel.load_permille > 0; ++i) {
      if (random_.below(1000) >= channel.load_permille) continue;
      double uniform = (static_cast<double>(random_.below(1 << 30)) + 0.5) / (1 << 30);
      sum_ps += static_cast<Time_ps>(-std::log(uniform) * static_cast<double>(channel.burst_ps));
    }
    if (delays_ != nullptr) delays_->busy_ps += sum_ps - idle_ps;
  }
  return sum_ps;
}

// Pages are replaced at random: of a working set larger than the IOTLB the rest misses.
bool PciePath::misses(std::uint32_t size_B) {
  if (settings_.iotlb_entries == 0 || settings_.working_set_B == nullptr) return false;
  auto reach = static_cast<double>(settings_.iotlb_entries) * static_cast<double>(settings_.page_B);
  auto set = static_cast<double>(*settings_.working_set_B);
  if (set <= reach) return false;
  double pages = settings_.random_pages ? 1.0 : std::min(1.0, size_B / static_cast<double>(settings_.page_B));
  auto limit = static_cast<std::uint64_t>((1 - reach / set) * pages * (1 << 30));
  return random_.below(1 << 30) < limit;
}

Time_ps PciePath::read(std::uint32_t payload_B, Time_ps now_ps) {
  if (fetched_B_ < payload_B) {
    fetch(payload_B - fetched_B_, now_ps);
    fetched_B_ = payload_B;
  }
  if (fetched_ps_ <= now_ps) {
    WEFT_CHECK(fetched_B_ >= payload_B, "more payload is taken than was fetched");
    fetched_B_ -= payload_B;
  } else {
    held_until_ps_ = fetched_ps_;
  }
  return fetched_ps_;
}

void PciePath::fetch(std::uint32_t payload_B, Time_ps now_ps) {
  Time_ps issue_ps = std::max(last_issue_ps_, now_ps - ahead_ps_);
  for (std::uint32_t left_B = payload_B; left_B > 0;) {
    std::uint32_t size_B = std::min(left_B, settings_.max_read_request_B);
    left_B -= size_B;
    if (!read_ends_.empty()) issue_ps = std::max(issue_ps, read_ends_[next_read_]);
    Time_ps latency_ps = read_latency_ps_;
    PcieLimit limit = PcieLimit::kReadRequests;
    if (misses(size_B)) {
      walk_until_ps_ = std::max(walk_until_ps_, issue_ps) + settings_.iotlb_walk_ps;
      latency_ps += walk_until_ps_ - issue_ps + settings_.iotlb_miss_ps - settings_.iotlb_walk_ps;
      if (latency_ps > 2 * read_latency_ps_) limit = PcieLimit::kIommu;
    }
    // The request itself takes room that writes want.
    for (PcieChannel* channel : settings_.writes) {
      if (channel->until_ps > issue_ps && channel->carries_tlps) channel->until_ps += request_ps(*channel);
    }
    // Links are taken when the request is made, so that none is left idle for data to come.
    Time_ps end_ps = issue_ps + latency_ps;
    for (PcieChannel* channel : settings_.reads) {
      channel->until_ps = std::max(channel->until_ps, issue_ps) +
                          channel->occupied_ps(size_B, settings_.completion_B, kCompletionOverhead_B);
      if (channel->until_ps <= end_ps) continue;
      end_ps = channel->until_ps;
      limit = limit_of(*channel);
    }
    if (!read_ends_.empty()) {
      read_ends_[next_read_] = end_ps;
      next_read_ = next_read_ + 1 == read_ends_.size() ? 0 : next_read_ + 1;
    }
    WEFT_DCHECK(end_ps >= issue_ps, "a read ends before its request");
    if (end_ps >= fetched_ps_) read_limit_ = limit;
    fetched_ps_ = std::max(fetched_ps_, end_ps);
  }
  last_issue_ps_ = issue_ps;
}

Time_ps PciePath::write(std::uint32_t payload_B, Time_ps begin_ps, bool entry) {
  const bool windowed = !write_ends_.empty() && !entry;
  Time_ps at_ps = begin_ps;
  for (std::uint32_t left_B = payload_B; left_B > 0;) {
    std::uint32_t size_B = windowed ? std::min(left_B, settings_.max_payload_B) : left_B;
    left_B -= size_B;
    if (windowed && write_ends_[next_write_] > at_ps) {
      add_write_time(settings_.ordered ? PcieLimit::kOrderedWrites : PcieLimit::kWrites,
                     write_ends_[next_write_] - at_ps);
      at_ps = write_ends_[next_write_];
    }
    Time_ps end_ps = at_ps;
    Time_ps miss_ps = 0;
    PcieLimit limit = PcieLimit::kIommu;
    if (!entry && misses(size_B)) {
      walk_until_ps_ = std::max(walk_until_ps_, at_ps) + settings_.iotlb_walk_ps;
      end_ps = std::max(at_ps, walk_until_ps_ - kWalksWaiting * settings_.iotlb_walk_ps);
      miss_ps = settings_.iotlb_miss_ps;
    }
    for (PcieChannel* channel : entry ? settings_.entries : settings_.writes) {
      channel->until_ps =
          std::max(channel->until_ps, at_ps) + channel->occupied_ps(size_B, settings_.max_payload_B, kTlpOverhead_B);
      if (channel->until_ps <= end_ps) continue;
      end_ps = channel->until_ps;
      limit = limit_of(*channel);
    }
    if (!entry) add_write_time(limit, end_ps - at_ps);
    if (windowed) {
      write_ends_[next_write_] = end_ps + write_latency_ps_ + miss_ps;
      next_write_ = next_write_ + 1 == write_ends_.size() ? 0 : next_write_ + 1;
    }
    at_ps = end_ps;
  }
  WEFT_DCHECK(at_ps >= begin_ps, "a write ends before it begins");
  if (!entry) written_B_ += payload_B;
  return at_ps;
}

Time_ps PciePath::copy_ps(std::uint64_t size_B) const {
  if (settings_.copy == nullptr || size_B == 0) return 0;
  const auto piece_B = static_cast<std::uint32_t>(std::min<std::uint64_t>(size_B, settings_.copy_piece_B));
  const Time_ps time_ps =
      settings_.copy_start_ps + settings_.copy->occupied_ps(piece_B, settings_.max_payload_B, kTlpOverhead_B);
  if (delays_ != nullptr) delays_->copy_ps += time_ps;
  return time_ps;
}

std::array<double, kPcieLimits> PciePath::causes_of(PcieLimit limit, double line_ps_per_B, bool writes) const {
  struct Part {
    PcieLimit limit;
    Time_ps time_ps;
  };
  const auto hops_ps = [](const std::vector<PcieCrossing>& crossings, bool numa) {
    Time_ps sum_ps = 0;
    for (const PcieCrossing& crossing : crossings) {
      if ((crossing.write_times > 1) == numa) sum_ps += 2 * crossing.latency_ps;
    }
    return sum_ps;
  };
  const Time_ps gpu_ps = settings_.payload_read_delay_ps;
  std::vector<Part> parts{{limit, 1}};
  double free_ps = 0;  // what the line would not wait for
  if (limit == PcieLimit::kReadRequests && settings_.read_tags > 0) {
    free_ps = line_ps_per_B * settings_.read_tags * settings_.max_read_request_B;
    parts = {{limit, settings_.read_latency_ps},
             {PcieLimit::kUplink, hops_ps(settings_.payload, false)},
             {PcieLimit::kNuma, hops_ps(settings_.payload, true)},
             {settings_.redirected ? PcieLimit::kAcs : PcieLimit::kGpu, gpu_ps}};
  } else if (limit == PcieLimit::kWrites && settings_.write_window_B > 0) {
    free_ps = line_ps_per_B * settings_.write_window_B;
    parts = {{limit, settings_.write_latency_ps - gpu_ps},
             {PcieLimit::kNuma, far_write_ps(settings_.payload)},
             {PcieLimit::kGpu, gpu_ps}};
  } else if (limit == PcieLimit::kLink && !writes && settings_.completion_B < settings_.max_payload_B) {
    // The GPU answers in smaller pieces than host memory, each with a header.
    constexpr std::uint32_t kSample_B = 4096;
    const PcieChannel& link = *settings_.reads.front();
    const Time_ps host_ps = link.occupied_ps(kSample_B, settings_.max_payload_B, kCompletionOverhead_B);
    free_ps = line_ps_per_B * kSample_B;
    parts = {{limit, host_ps},
             {PcieLimit::kGpu, link.occupied_ps(kSample_B, settings_.completion_B, kCompletionOverhead_B) - host_ps}};
  }
  std::array<double, kPcieLimits> shares{};
  double all_ps = 0;
  for (const Part& part : parts) {
    const double waited_ps = std::max(0.0, static_cast<double>(part.time_ps) - free_ps);
    free_ps = std::max(0.0, free_ps - static_cast<double>(part.time_ps));
    shares[static_cast<std::size_t>(part.limit)] += waited_ps;
    all_ps += waited_ps;
  }
  if (all_ps <= 0) {
    shares[static_cast<std::size_t>(limit)] = all_ps = 1;
  }
  for (double& share : shares) share /= all_ps;
  return shares;
}

PcieTimes PcieFunction::write_times() const {
  if (path_ != nullptr) return path_->write_times();
  PcieTimes times{};
  times[static_cast<std::size_t>(fault_permille_ == kUnslowed ? PcieLimit::kLink : PcieLimit::kSlowMemory)] = 1;
  return times;
}
Wait PcieFunction::read_wait_by_path() const {
  return wait_for(path_->read_limit());
}

void PcieFunction::set_path(PciePath& path) {
  path_ = &path;
  last_payload_B_ = 0xffffffff;
  slow_permille_ = kUnslowed + 1;
}

void PcieFunction::slow_writes(std::int64_t permille, Time_ps now_ps) {
  const std::int64_t before = std::exchange(fault_permille_, permille);
  if (write_until_ps_ > now_ps) write_until_ps_ = now_ps + (write_until_ps_ - now_ps) * permille / before;
  if (path_ == nullptr) {
    slow_permille_ = permille;
  } else {
    path_->pending().stretch(permille * kUnslowed / before, now_ps);
  }
}

Time_ps PcieFunction::read_by_path(std::uint32_t payload_B, Time_ps now_ps) {
  return path_->read(payload_B, now_ps);
}

Time_ps PcieFunction::write_slowly(std::uint32_t payload_B, Time_ps now_ps, bool entry) {
  Time_ps alone_ps = transfer_ps(payload_B);
  Time_ps begin_ps = std::max(write_until_ps_, now_ps);
  if (path_ == nullptr) {
    write_until_ps_ = begin_ps + slowed_ps(alone_ps);
    return write_until_ps_;
  }
  Time_ps end_ps = path_->write(payload_B, begin_ps, entry);
  const Time_ps faulty_ps = begin_ps + alone_ps * fault_permille_ / kUnslowed;
  if (faulty_ps > end_ps) {
    if (fault_permille_ != kUnslowed) path_->add_write_time(PcieLimit::kSlowMemory, faulty_ps - end_ps);
    end_ps = faulty_ps;
  }
  path_->pending().left_ps(now_ps);  // what has ended meanwhile is forgotten
  path_->pending().add(alone_ps, end_ps);
  write_until_ps_ = end_ps;
  return end_ps;
}

Time_ps PcieFunction::start_delay_by_path_ps(std::uint32_t fetch_B) {
  const Time_ps doorbell_ps = path_->doorbell_delay_ps();
  return doorbell_ps + (fetch_B > 0 ? path_->read_delay_ps() + path_->copy_ps(fetch_B) : 0);
}
Time_ps PcieFunction::read_delay_by_path_ps() {
  return path_->read_delay_ps();
}
Time_ps PcieFunction::seen_delay_by_path_ps() {
  return path_->seen_delay_ps();
}

}  // namespace weft::nic

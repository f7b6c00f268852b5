#include "unit/verbs/fake_world.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace weft::verbs {
namespace {

// What ibv_devinfo prints of a ConnectX-5 with 100 Gb/s, and the GIDs of 10.0.0.1.
DeviceInfo connectx5() {
  DeviceInfo info{};
  std::strcpy(info.name, "mlx5_0");
  std::strcpy(info.firmware, "16.35.2000");
  std::strcpy(info.netdev, "lo");
  info.node_guid = info.system_guid = 0x0c42a1030012abcd;
  info.vendor_id = 0x02c9;
  info.vendor_part_id = 4119;
  info.max_qp = 262144;
  info.max_qp_wr = 32768;
  info.max_sge = 30;
  info.max_cq = 16777216;
  info.max_cqe = 4194303;
  info.max_mr = info.max_pd = info.max_srq = 16777216;
  info.max_srq_wr = 32767;
  info.max_ah = 2147483647;
  info.max_rd_atomic = 16;
  info.max_inline_B = 956;
  info.max_mcast_grp = 2097152;
  info.max_mr_size = ~0ULL;
  info.active_mtu = 3;
  info.max_mtu = 5;
  info.port_state = 4;
  info.phys_state = 5;
  info.active_speed = 32;
  info.active_width = 2;
  info.max_msg_B = 1u << 30;
  info.gid_count = 4;
  constexpr std::uint8_t kLinkLocal[] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x0e, 0x42, 0xa1, 0xff, 0xfe, 0x12, 0xab, 0xcd};
  constexpr std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::memcpy(info.gids[i].raw, i < 2 ? kLinkLocal : kMapped, 16);
    info.gids[i].type = 1 + i % 2;
  }
  return info;
}

struct Answer {
  std::span<std::uint8_t> room;
  std::size_t size_B = 0;
  template <typename Reply>
  int give(const Reply& reply) {
    if (room.size() < sizeof reply) return EMSGSIZE;
    std::memcpy(room.data(), &reply, sizeof reply);
    size_B = sizeof reply;
    return 0;
  }
  int give_bytes(std::span<const std::uint8_t> bytes) {
    if (room.size() < bytes.size()) return EMSGSIZE;
    std::memcpy(room.data(), bytes.data(), bytes.size());
    size_B = bytes.size();
    return 0;
  }
};

template <typename Request>
Request read(const void* bytes) {
  Request request;
  std::memcpy(&request, bytes, sizeof request);
  return request;
}

FakeRing make_ring(std::uint32_t handle, std::uint32_t doorbell, std::uint32_t entries, std::uint32_t stride_B) {
  FakeRing ring;
  entries = std::bit_ceil(entries);
  const std::size_t size_B = sizeof(RingHead) + std::size_t{entries} * stride_B;
  ring.info = {handle, doorbell, entries, stride_B, 0, static_cast<std::uint32_t>(size_B)};
  ring.fd = memfd_create("ring", MFD_CLOEXEC);
  if (ftruncate(ring.fd, static_cast<off_t>(size_B)) != 0) return ring;
  ring.memory = static_cast<std::uint8_t*>(mmap(nullptr, size_B, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0));
  return ring;
}

int create_qp(FakeWorld& world, const CreateQp& ask, Answer& answer, Descriptors* descriptors) {
  const std::uint32_t handle = world.next_handle++;
  const auto behind_B =
      static_cast<std::uint32_t>(std::max<std::size_t>(ask.max_send_sge * sizeof(Sge), (ask.max_inline_B + 7) / 8 * 8));
  FakeRing send = make_ring(handle, handle * 2, ask.max_send_wr, sizeof(SendEntry) + behind_B);
  FakeRing receive;
  const std::size_t send_B = (send.info.mapping_B + 63) / 64 * 64;
  std::size_t all_B = send_B;
  if (ask.srq == kNoHandle && ask.receive_cq != kNoHandle) {
    receive = make_ring(handle, handle * 2 + 1, ask.max_receive_wr,
                        static_cast<std::uint32_t>(sizeof(ReceiveEntry) + ask.max_receive_sge * sizeof(Sge)));
    receive.info.offset_B = static_cast<std::uint32_t>(send_B);
    all_B += receive.info.mapping_B;
  }
  if (ftruncate(send.fd, static_cast<off_t>(all_B)) != 0) return ENOMEM;
  send.memory = static_cast<std::uint8_t*>(mmap(nullptr, all_B, PROT_READ | PROT_WRITE, MAP_SHARED, send.fd, 0));
  receive.memory = send.memory;
  send.info.mapping_B = receive.info.mapping_B = static_cast<std::uint32_t>(all_B);
  descriptors->fd[0] = send.fd;
  world.sends[handle] = send;
  world.receives[handle] = receive;
  return answer.give(QpInfo{world.next_qpn++, send.info, receive.info});
}

void modify_qp(FakeWorld& world, const ModifyQp& ask) {
  world.qp_attrs[ask.qp] = ask.attr;
  if (ask.attr.state != 0) return;
  for (const FakeRing* ring : {&world.sends[ask.qp], &world.receives[ask.qp]}) {
    if (ring->info.entries != 0) ring->head().consumed.store(ring->head().produced.load());
  }
}

int serve(FakeWorld& world, Op op, const void* request, std::size_t request_B, Answer& answer,
          Descriptors* descriptors) {
  switch (op) {
    case Op::kListDevices:
      return answer.give(world.device);
    case Op::kAllocPd:
      return answer.give(Handle{world.next_handle++});
    case Op::kRegMr:
      world.last_mr = read<RegMr>(request);
      return answer.give(MrKeys{world.next_handle++, 0x1000, 0x2000});
    case Op::kCreateChannel:
      descriptors->fd[0] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
      return answer.give(Handle{world.next_handle++});
    case Op::kOpenEvents:
      descriptors->fd[0] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
      return answer.give(DeviceToken{0x5ec7e7, 0, 0});
    case Op::kCreateCq: {
      const auto ask = read<CreateCq>(request);
      const FakeRing ring = make_ring(world.next_handle++, kNoHandle, ask.entries, sizeof(CqEntry));
      world.cqs[ring.info.handle] = ring;
      world.cq_cookies.push_back(ask.cookie);
      descriptors->fd[0] = ring.fd;
      return answer.give(CqInfo{ring.info});
    }
    case Op::kCreateSrq: {
      const auto ask = read<CreateSrq>(request);
      const auto stride_B = static_cast<std::uint32_t>(sizeof(ReceiveEntry) + ask.max_sge * sizeof(Sge));
      const FakeRing ring = make_ring(world.next_handle, world.next_handle * 2, ask.max_wr, stride_B);
      world.srqs[world.next_handle++] = ring;
      descriptors->fd[0] = ring.fd;
      return answer.give(ring.info);
    }
    case Op::kResizeCq: {
      const auto ask = read<ResizeCq>(request);
      const FakeRing old = world.cqs.at(ask.cq);
      const FakeRing ring = make_ring(ask.cq, kNoHandle, std::bit_ceil(ask.entries), sizeof(CqEntry));
      for (std::uint32_t i = old.head().consumed; i != old.head().produced; ++i)
        ring.at<CqEntry>(i) = old.at<CqEntry>(i);
      ring.head().consumed = old.head().consumed.load();
      ring.head().produced = old.head().produced.load();
      world.cqs[ask.cq] = ring;
      descriptors->fd[0] = ring.fd;
      return answer.give(CqInfo{ring.info});
    }
    case Op::kAllocMw:
      return answer.give(MrKeys{world.next_handle++, 0, 0x30ff});
    case Op::kAllocDm:
    case Op::kOpenXrcd:
      return answer.give(Handle{world.next_handle++});
    case Op::kCopyDm: {
      const auto ask = read<CopyDm>(request);
      world.device_memory.resize(std::max(world.device_memory.size(), ask.offset_B + ask.length_B));
      std::uint8_t* at = world.device_memory.data() + ask.offset_B;
      if (ask.to_device == 0) return answer.give_bytes({at, ask.length_B});
      std::memcpy(at, static_cast<const std::uint8_t*>(request) + sizeof ask, ask.length_B);
      return 0;
    }
    case Op::kImport:
      world.last_import = read<Import>(request);
      return answer.give(Imported{world.last_import.handle, 0x1000, 0x2000, 0, 4096});
    case Op::kCreateQp:
      return create_qp(world, read<CreateQp>(request), answer, descriptors);
    case Op::kCreateAh:
      world.last_ah = read<CreateAh>(request);
      return answer.give(Handle{world.next_handle++});
    case Op::kModifyQp:
      modify_qp(world, read<ModifyQp>(request));
      return 0;
    case Op::kQueryQp:
      return answer.give(world.qp_attrs[read<Handle>(request).handle]);
    case Op::kPoll:
      world.polled.resize(request_B / sizeof(Handle));
      for (std::size_t i = 0; i < world.polled.size(); ++i) {
        world.polled[i] = read<Handle>(static_cast<const std::uint8_t*>(request) + i * sizeof(Handle)).handle;
      }
      if (world.on_poll.qpn != 0) world.complete(world.polled.back(), world.on_poll);
      return 0;
    case Op::kGetCqEvent: {
      world.last_wait = read<GetEvent>(request);
      if (world.cq_events.empty()) return EAGAIN;
      ++world.fetched.completion_events;
      const CqEvent event{world.cq_events.front()};
      world.cq_events.erase(world.cq_events.begin());
      return answer.give(event);
    }
    case Op::kGetAsyncEvent: {
      world.last_wait = read<GetEvent>(request);
      if (world.async_events.empty()) return EAGAIN;
      const AsyncEvent event = world.async_events.front();
      world.async_events.erase(world.async_events.begin());
      return answer.give(event);
    }
    case Op::kQuerySrq:
      return answer.give(SrqLimit{world.srq_limit});
    case Op::kDestroy:
      return answer.give(std::exchange(world.fetched, {}));
    default:
      return 0;
  }
}

}  // namespace

FakeWorld& fake_world() {
  static FakeWorld world = [] {
    FakeWorld fresh;
    fresh.device = connectx5();
    return fresh;
  }();
  return world;
}

void start_anew() {
  const DeviceInfo device = connectx5();
  fake_world() = {};
  fake_world().device = device;
}

std::size_t FakeWorld::count(Op op) const {
  return static_cast<std::size_t>(std::count(calls.begin(), calls.end(), op));
}

void FakeWorld::complete(std::uint32_t cq, const CqEntry& entry) {
  const FakeRing& ring = cqs.at(cq);
  const std::uint32_t number = ring.head().produced.load();
  ring.at<CqEntry>(number) = entry;
  ring.head().produced.store(number + 1);
}

extern "C" {

int weft_call(std::uint32_t op, const void* request, std::size_t request_B, void* reply, std::size_t* reply_B,
              Descriptors* descriptors) {
  FakeWorld& world = fake_world();
  world.calls.push_back(static_cast<Op>(op));
  if (world.fail_with != 0) return std::exchange(world.fail_with, 0);
  Answer answer{{static_cast<std::uint8_t*>(reply), *reply_B}};
  const int error = serve(world, static_cast<Op>(op), request, request_B, answer, descriptors);
  *reply_B = answer.size_B;
  return error;
}

void weft_connect() {
  if (fake_world().on_connect) fake_world().on_connect();
}
void weft_count_region(int change) {
  fake_world().regions += change;
}
bool weft_is_virtual() {
  return fake_world().is_virtual;
}
bool weft_may_park() {
  return true;
}
bool weft_is_attached() {
  return true;
}
std::int64_t weft_now_ps() {
  return fake_world().now_ps;
}
void weft_spend_ps(std::int64_t cost_ps) {
  fake_world().now_ps += cost_ps;
}
const Costs* weft_costs() {
  return &fake_world().costs;
}
void weft_watch_descriptor(int, std::uint32_t what, std::uint32_t handle) {
  fake_world().watched.emplace_back(what, handle);
}
void weft_ring(std::uint32_t doorbell) {
  fake_world().doorbells.push_back(doorbell);
}

}  // extern "C"

}  // namespace weft::verbs

// Tests leave their objects behind, as programs do that end: only what is lost inside the library counts as a leak.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:ibv_create\nleak:ibv_alloc\nleak:ibv_reg\nleak:ibv_open\nleak:weft::verbs::create_qp_ex\n";
}

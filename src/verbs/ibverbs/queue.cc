// Queues in memory that the world shares. The library believes the world's numbers only as far as its own memory is
// concerned: a ring that does not fit its mapping is refused.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {

int map_queue(int fd, const QueueInfo& info, Mapping& mapping) {
  if (fd < 0) return EPROTO;
  void* memory = mmap(nullptr, info.mapping_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = memory == MAP_FAILED ? errno : 0;
  close(fd);
  if (error != 0) return error;
  mapping = {memory, info.mapping_B};
  return 0;
}

int find_ring(const Mapping& mapping, const QueueInfo& info, std::size_t entry_B, Ring& ring) {
  const std::size_t end_B = info.offset_B + sizeof(RingHead) + std::size_t{info.entries} * info.stride_B;
  const bool is_power_of_two = info.entries != 0 && (info.entries & (info.entries - 1)) == 0;
  if (!is_power_of_two || info.stride_B < entry_B || info.stride_B % 8 != 0 || info.offset_B % 64 != 0 ||
      end_B > mapping.size_B) {
    return EPROTO;
  }
  std::uint8_t* start = static_cast<std::uint8_t*>(mapping.memory) + info.offset_B;
  ring = {reinterpret_cast<RingHead*>(start), start + sizeof(RingHead), info.entries, info.stride_B, info.doorbell};
  return 0;
}

void unmap_queue(Mapping& mapping) {
  if (mapping.memory != nullptr) syscall(SYS_munmap, mapping.memory, mapping.size_B);  // nothing of it is registered
  mapping = {};
}

int destroy(Kind kind, std::uint32_t handle, Destroyed* events) {
  Destroyed reply{};
  const int error = call(Op::kDestroy, Destroy{kind, handle}, reply);
  if (error == 0 && events != nullptr) *events = reply;
  return error;
}

void wait_for_acknowledgements(pthread_mutex_t& mutex, pthread_cond_t& condition, const std::uint32_t& completed,
                               std::uint32_t fetched) {
  const MutexGuard guard(mutex);
  while (completed != fetched) pthread_cond_wait(&condition, &mutex);
}

}  // namespace weft::verbs

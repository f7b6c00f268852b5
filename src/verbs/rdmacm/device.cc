// The devices that ids are bound to.
#include <fcntl.h>

#include "verbs/rdmacm/objects.h"

namespace weft::verbs::cm {
namespace {

constexpr std::size_t kMaxDevices = 256;

pthread_mutex_t devices_mutex = PTHREAD_MUTEX_INITIALIZER;
OpenDevice devices[kMaxDevices];

std::uint8_t byte_of(int value) {
  return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// Called with the mutex held.
int open_one(ibv_device* device, OpenDevice& out) {
  ibv_context* verbs = ibv_open_device(device);
  if (verbs == nullptr) return errno;
  ibv_device_attr attr;
  int error = ibv_query_device(verbs, &attr);
  ibv_pd* pd = error == 0 ? ibv_alloc_pd(verbs) : nullptr;
  if (pd == nullptr) {
    if (error == 0) error = errno;
    ibv_close_device(verbs);
    return error;
  }
  out = {verbs, pd, nullptr, byte_of(attr.max_qp_rd_atom), byte_of(attr.max_qp_init_rd_atom)};
  return 0;
}

}  // namespace

OpenDevice* open_device(std::uint32_t index) {
  if (index >= kMaxDevices) return fail(ENODEV);
  const MutexGuard guard(devices_mutex);
  if (devices[index].verbs != nullptr) return &devices[index];
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (list == nullptr) return nullptr;
  const int error = index < static_cast<std::uint32_t>(count) ? open_one(list[index], devices[index]) : ENODEV;
  ibv_free_device_list(list);
  return error == 0 ? &devices[index] : fail(error);
}

ibv_xrcd* xrc_domain_of(OpenDevice& device) {
  const MutexGuard guard(devices_mutex);
  if (device.xrcd != nullptr) return device.xrcd;
  ibv_xrcd_init_attr init{};
  init.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  init.fd = -1;
  init.oflags = O_CREAT;
  return device.xrcd = ibv_open_xrcd(device.verbs, &init);
}

}  // namespace weft::verbs::cm

using namespace weft::verbs::cm;

ibv_context** rdma_get_devices(int* num_devices) {
  if (num_devices != nullptr) *num_devices = 0;
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (list == nullptr) return nullptr;
  ibv_free_device_list(list);
  auto** contexts = static_cast<ibv_context**>(std::calloc(static_cast<std::size_t>(count) + 1, sizeof(ibv_context*)));
  if (contexts == nullptr) return fail(ENOMEM);
  for (int i = 0; i < count; ++i) {
    const OpenDevice* device = open_device(static_cast<std::uint32_t>(i));
    if (device == nullptr) {
      std::free(contexts);
      return nullptr;
    }
    contexts[i] = device->verbs;
  }
  if (num_devices != nullptr) *num_devices = count;
  return contexts;
}

void rdma_free_devices(ibv_context** list) {
  std::free(list);
}

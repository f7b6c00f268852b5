// Which devices there are, and opening them. Devices are found once and stay for the life of the process, as their
// pointers do in programs that free the list early.
#include <endian.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {
namespace {

pthread_mutex_t devices_mutex = PTHREAD_MUTEX_INITIALIZER;
Device* devices = nullptr;
std::size_t device_count = 0;

// The world's list, in memory that the caller frees.
DeviceInfo* fetch_list(std::size_t& count) {
  std::size_t reply_B = kMaxMessage_B;
  void* reply = std::malloc(reply_B);
  if (reply == nullptr) return fail(ENOMEM);
  const int error = weft_call(static_cast<std::uint32_t>(Op::kListDevices), nullptr, 0, reply, &reply_B, nullptr);
  if (error != 0 || reply_B % sizeof(DeviceInfo) != 0) {
    std::free(reply);
    return fail(error != 0 ? error : EPROTO);
  }
  count = reply_B / sizeof(DeviceInfo);
  return static_cast<DeviceInfo*>(reply);
}

void describe(Device& device, std::size_t index, const DeviceInfo& info) {
  device.index = static_cast<std::uint32_t>(index);
  device.info = info;
  device.info.name[sizeof info.name - 1] = 0;
  device.info.firmware[sizeof info.firmware - 1] = 0;
  device.info.netdev[sizeof info.netdev - 1] = 0;
  if (device.info.gid_count > kMaxGids) device.info.gid_count = kMaxGids;
  device.node_type = IBV_NODE_CA;
  device.transport_type = IBV_TRANSPORT_IB;
  std::snprintf(device.name, sizeof device.name, "%s", device.info.name);
  std::snprintf(device.dev_name, sizeof device.dev_name, "uverbs%zu", index);
  std::snprintf(device.dev_path, sizeof device.dev_path, "/sys/class/infiniband_verbs/uverbs%zu", index);
  std::snprintf(device.ibdev_path, sizeof device.ibdev_path, "/sys/class/infiniband/%s", device.info.name);
}

// Called with the mutex held.
int find_devices() {
  if (devices != nullptr) return 0;
  if (!weft_is_attached()) return 0;
  std::size_t count = 0;
  DeviceInfo* list = fetch_list(count);
  if (list == nullptr) return errno;
  auto* found = static_cast<Device*>(std::calloc(count == 0 ? 1 : count, sizeof(Device)));
  if (found != nullptr) {
    for (std::size_t i = 0; i < count; ++i) describe(found[i], i, list[i]);
    devices = found;
    device_count = count;
  }
  std::free(list);
  return found == nullptr ? ENOMEM : 0;
}

void set_operations(Context& context) {
  ibv_context_ops& ops = context.context.ops;
  ops.post_send = post_send;
  ops.post_recv = post_receive;
  ops.post_srq_recv = post_srq_receive;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = request_notification;
  context.query_port = query_port;
  context.query_device_ex = query_device_ex;
  context.create_qp_ex = create_qp_ex;
  context.create_cq_ex = create_cq_ex;
  context.modify_cq = modify_cq;
  context.alloc_td = alloc_td;
  context.dealloc_td = dealloc_td;
  context.alloc_parent_domain = alloc_parent_domain;
  context.advise_mr = advise_mr;
  context.alloc_null_mr = alloc_null_mr;
  context.alloc_dm = alloc_dm;
  context.free_dm = free_dm;
  context.reg_dm_mr = reg_dm_mr;
  context.open_xrcd = open_xrcd;
  context.close_xrcd = close_xrcd;
  context.create_srq_ex = create_srq_ex;
  context.get_srq_num = get_srq_number;
  context.query_rt_values = query_rt_values;
  ops.alloc_mw = alloc_mw;
  ops.dealloc_mw = dealloc_mw;
  ops.bind_mw = bind_mw;
  context.sz = sizeof(verbs_context);
  context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

}  // namespace

int read_device(const Device& device, DeviceInfo& info) {
  std::size_t count = 0;
  DeviceInfo* list = fetch_list(count);
  if (list == nullptr) return errno;
  const bool is_there = device.index < count;
  if (is_there) {
    const MutexGuard guard(devices_mutex);
    describe(devices[device.index], device.index, list[device.index]);
    info = device.info;
  }
  std::free(list);
  return is_there ? 0 : ENODEV;
}

DeviceInfo device_info(const ibv_context& context) {
  const MutexGuard guard(devices_mutex);
  return static_cast<const Device*>(context.device)->info;
}

namespace {

// The descriptor that another process may be given: in its memory is the right to import this one's objects.
int make_command_descriptor(const DeviceToken& token) {
  const int fd = memfd_create("weft-device", MFD_CLOEXEC);
  if (fd >= 0 && write(fd, &token, sizeof token) != sizeof token) {
    close(fd);
    errno = ENOSPC;
    return -1;
  }
  return fd;
}

}  // namespace

ibv_device* device_at(std::uint32_t index) {
  const MutexGuard guard(devices_mutex);
  if (find_devices() != 0 || index >= device_count) return nullptr;
  return &devices[index];
}

ibv_context* open_context(ibv_device* device, int command_fd, std::uint64_t secret) {
  auto* context = make<Context>();
  if (context == nullptr) return fail(ENOMEM);
  Descriptors descriptors;
  DeviceToken token;
  const OnDevice request{static_cast<Device*>(device)->index};
  int error = call(Op::kOpenEvents, request, token, &descriptors);
  if (error == 0 && command_fd < 0) {
    secret = token.secret;
    command_fd = make_command_descriptor(token);
    if (command_fd < 0) {
      error = errno;
      close(descriptors.fd[0]);
    }
  }
  if (error != 0) {
    std::free(context);
    return fail(error);
  }
  make_blocking(descriptors.fd[0]);
  weft_watch_descriptor(descriptors.fd[0], WaitItem::kAsync, request.device);
  set_operations(*context);
  context->secret = secret;
  ibv_context& open = context->context;
  open.device = device;
  open.cmd_fd = command_fd;
  open.async_fd = descriptors.fd[0];
  open.num_comp_vectors = kCompletionVectors;
  pthread_mutex_init(&open.mutex, nullptr);
  return &open;
}

}  // namespace weft::verbs

using namespace weft::verbs;

ibv_device** ibv_get_device_list(int* num_devices) {
  if (num_devices != nullptr) *num_devices = 0;
  const MutexGuard guard(devices_mutex);
  if (const int error = find_devices(); error != 0) return fail(error);
  auto** list = static_cast<ibv_device**>(std::calloc(device_count + 1, sizeof(ibv_device*)));
  if (list == nullptr) return fail(ENOMEM);
  for (std::size_t i = 0; i < device_count; ++i) list[i] = &devices[i];
  if (num_devices != nullptr) *num_devices = static_cast<int>(device_count);
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  std::free(list);
}

const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

int ibv_get_device_index(ibv_device* device) {
  return static_cast<int>(static_cast<Device*>(device)->index);
}

__be64 ibv_get_device_guid(ibv_device* device) {
  return htobe64(static_cast<Device*>(device)->info.node_guid);
}

ibv_context* ibv_open_device(ibv_device* device) {
  return open_context(device, -1, 0);
}

int ibv_close_device(ibv_context* open) {
  Context& context = context_of(open);
  close(open->async_fd);
  close(open->cmd_fd);
  for (std::atomic<QpPage*>& page : context.qp_pages) std::free(page.load(std::memory_order_relaxed));
  pthread_mutex_destroy(&open->mutex);
  std::free(&context);
  return 0;
}

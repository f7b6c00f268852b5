// Memory of the device. The world has it; it is reached by copies, in pieces that fit into a message.
#include <cerrno>
#include <cstring>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {
namespace {

// The card's memory is reached in words of four bytes. Larger copies are made of several.
int check(std::uint64_t offset_B, std::size_t length_B) {
  return offset_B % 4 == 0 && length_B % 4 == 0 ? 0 : EFAULT;
}

int copy_to(ibv_dm* dm, std::uint64_t offset_B, const void* from, std::size_t length_B) {
  if (const int error = check(offset_B, length_B); error != 0) return error;
  auto* message = static_cast<std::uint8_t*>(std::malloc(sizeof(CopyDm) + kMaxStreamChunk_B));
  if (message == nullptr) return ENOMEM;
  int error = 0;
  std::size_t done_B = 0;
  do {
    const std::size_t part_B = length_B - done_B < kMaxStreamChunk_B ? length_B - done_B : kMaxStreamChunk_B;
    const CopyDm head{dm->handle, 1, offset_B + done_B, part_B};
    std::memcpy(message, &head, sizeof head);
    std::memcpy(message + sizeof head, static_cast<const std::uint8_t*>(from) + done_B, part_B);
    std::size_t reply_B = 0;
    error =
        weft_call(static_cast<std::uint32_t>(Op::kCopyDm), message, sizeof head + part_B, nullptr, &reply_B, nullptr);
    done_B += part_B;
  } while (error == 0 && done_B < length_B);
  std::free(message);
  return error;
}

int copy_from(void* to, ibv_dm* dm, std::uint64_t offset_B, std::size_t length_B) {
  if (const int error = check(offset_B, length_B); error != 0) return error;
  std::size_t done_B = 0;
  do {
    const std::size_t part_B = length_B - done_B < kMaxStreamChunk_B ? length_B - done_B : kMaxStreamChunk_B;
    const CopyDm head{dm->handle, 0, offset_B + done_B, part_B};
    std::size_t reply_B = part_B;
    const int error = weft_call(static_cast<std::uint32_t>(Op::kCopyDm), &head, sizeof head,
                                static_cast<std::uint8_t*>(to) + done_B, &reply_B, nullptr);
    if (error != 0) return error;
    if (reply_B != part_B) return EPROTO;
    done_B += part_B;
  } while (done_B < length_B);
  return 0;
}

}  // namespace

ibv_dm* make_dm(ibv_context* context, std::uint32_t handle) {
  auto* dm = make<ibv_dm>();
  if (dm == nullptr) return fail(ENOMEM);
  *dm = {context, copy_to, copy_from, 0, handle};
  return dm;
}

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr) {
  if (attr->comp_mask != 0) return fail(EINVAL);
  Handle reply;
  const AllocDm request{device_index(context), attr->log_align_req, attr->length};
  if (const int error = call(Op::kAllocDm, request, reply); error != 0) return fail(error);
  ibv_dm* dm = make_dm(context, reply.handle);
  if (dm == nullptr) destroy(Kind::kDm, reply.handle);
  return dm;
}

int free_dm(ibv_dm* dm) {
  if (const int error = destroy(Kind::kDm, dm->handle); error != 0) return error;
  std::free(dm);
  return 0;
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset_B, std::size_t length_B, unsigned int access) {
  const RegDmMr request{pd->handle, dm->handle, access, 0, offset_B, length_B};
  MrKeys keys;
  if (const int error = call(Op::kRegDmMr, request, keys); error != 0) return fail(error);
  return make_mr(pd, nullptr, length_B, keys, false);
}

}  // namespace weft::verbs

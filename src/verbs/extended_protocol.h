// Protocol between a program's libraries and the world about the rarer objects of verbs: changed regions and
// queues, memory windows, device memory, XRC, imported objects. Part of verbs/protocol.h.
#pragma once

#include <cstdint>

#include "verbs/protocol.h"

namespace weft::verbs {

struct ReregMr {
  std::uint32_t mr, flags;  // ibv_rereg_mr_flags: what of the rest counts
  std::uint32_t pd, access;
  std::uint64_t address, length_B;
};
struct ResizeCq {
  std::uint32_t cq, entries;
};
struct ModerateCq {
  std::uint32_t cq, count, period_us;  // an event after so many entries, or so long after the first
};
// Then `sges` times Sge.
struct AdviseMr {
  std::uint32_t pd, advice, flags, sges;
};
inline constexpr std::uint32_t kMaxAdvisedSges = 1024;
struct AllocMw {
  std::uint32_t pd, type;  // ibv_mw_type
};
struct AllocDm {
  std::uint32_t device, log_align;
  std::uint64_t length_B;
};
// To the device, with the bytes behind it, or from it.
struct CopyDm {
  std::uint32_t dm, to_device;
  std::uint64_t offset_B, length_B;
};
struct RegDmMr {
  std::uint32_t pd, dm, access, unused;
  std::uint64_t offset_B, length_B;
};
// A domain is found by the file that stands for it, or is the process's own.
struct OpenXrcd {
  std::uint32_t device, oflags;  // O_CREAT, O_EXCL
  std::uint64_t file_device, inode;
  std::uint32_t has_file, unused;
};
struct CreateXrcSrq {
  CreateSrq srq;
  std::uint32_t xrcd, cq;
};
struct XrcSrqInfo {
  QueueInfo ring;
  std::uint32_t number;
};
struct CreateXrcTarget {
  std::uint32_t xrcd, unused;
  std::uint64_t cookie;
};
// Device, process and secret of an open device, in the memory of its command descriptor: who has that may import the
// process's objects.
struct DeviceToken {
  std::uint64_t secret;
  std::uint32_t device, unused;
};
struct Import {
  std::uint64_t secret;
  Kind kind;  // kPd, kMr or kDm
  std::uint32_t handle;
};
struct Imported {
  std::uint32_t handle, lkey, rkey, unused;
  std::uint64_t length_B;
};

// How an entry of a send queue says what has no field of its own.
// XRC: `remote_qpn` is the number of the shared receive queue.
// IBV_WR_BIND_MW: `rkey` is the window's new key, `qkey` the region's lkey, `remote_qpn` the access flags, `remote_va`
// and `swap` address and length. IBV_WR_LOCAL_INV: `imm` is the key.

}  // namespace weft::verbs

#include "wire/opcode.h"

namespace weft::wire {

namespace {

// Index: the low five bits.
constexpr const char* kXrcNames[] = {
    "XRC SEND First",
    "XRC SEND Middle",
    "XRC SEND Last",
    "XRC SEND Last with Immediate",
    "XRC SEND Only",
    "XRC SEND Only with Immediate",
    "XRC RDMA WRITE First",
    "XRC RDMA WRITE Middle",
    "XRC RDMA WRITE Last",
    "XRC RDMA WRITE Last with Immediate",
    "XRC RDMA WRITE Only",
    "XRC RDMA WRITE Only with Immediate",
    "XRC RDMA READ Request",
    "XRC RDMA READ response First",
    "XRC RDMA READ response Middle",
    "XRC RDMA READ response Last",
    "XRC RDMA READ response Only",
    "XRC Acknowledge",
    "XRC ATOMIC Acknowledge",
    "XRC CmpSwap",
    "XRC FetchAdd",
    nullptr,  // 0x15 is no opcode
    "XRC SEND Last with Invalidate",
    "XRC SEND Only with Invalidate",
};

}  // namespace

const char* name(Opcode opcode) {
  const auto byte = static_cast<std::uint8_t>(opcode);
  if (is_xrc(byte) && is_valid_opcode(byte)) return kXrcNames[byte & ~kTransportMask];
  switch (opcode) {
    case Opcode::kSendFirst:
      return "RC SEND First";
    case Opcode::kSendMiddle:
      return "RC SEND Middle";
    case Opcode::kSendLast:
      return "RC SEND Last";
    case Opcode::kSendLastImm:
      return "RC SEND Last with Immediate";
    case Opcode::kSendOnly:
      return "RC SEND Only";
    case Opcode::kSendOnlyImm:
      return "RC SEND Only with Immediate";
    case Opcode::kWriteFirst:
      return "RC RDMA WRITE First";
    case Opcode::kWriteMiddle:
      return "RC RDMA WRITE Middle";
    case Opcode::kWriteLast:
      return "RC RDMA WRITE Last";
    case Opcode::kWriteLastImm:
      return "RC RDMA WRITE Last with Immediate";
    case Opcode::kWriteOnly:
      return "RC RDMA WRITE Only";
    case Opcode::kWriteOnlyImm:
      return "RC RDMA WRITE Only with Immediate";
    case Opcode::kReadRequest:
      return "RC RDMA READ Request";
    case Opcode::kReadResponseFirst:
      return "RC RDMA READ response First";
    case Opcode::kReadResponseMiddle:
      return "RC RDMA READ response Middle";
    case Opcode::kReadResponseLast:
      return "RC RDMA READ response Last";
    case Opcode::kReadResponseOnly:
      return "RC RDMA READ response Only";
    case Opcode::kAck:
      return "RC Acknowledge";
    case Opcode::kAtomicAck:
      return "RC ATOMIC Acknowledge";
    case Opcode::kCompareSwap:
      return "RC CmpSwap";
    case Opcode::kFetchAdd:
      return "RC FetchAdd";
    case Opcode::kSendLastInv:
      return "RC SEND Last with Invalidate";
    case Opcode::kSendOnlyInv:
      return "RC SEND Only with Invalidate";
    case Opcode::kUcSendFirst:
      return "UC SEND First";
    case Opcode::kUcSendMiddle:
      return "UC SEND Middle";
    case Opcode::kUcSendLast:
      return "UC SEND Last";
    case Opcode::kUcSendLastImm:
      return "UC SEND Last with Immediate";
    case Opcode::kUcSendOnly:
      return "UC SEND Only";
    case Opcode::kUcSendOnlyImm:
      return "UC SEND Only with Immediate";
    case Opcode::kUcWriteFirst:
      return "UC RDMA WRITE First";
    case Opcode::kUcWriteMiddle:
      return "UC RDMA WRITE Middle";
    case Opcode::kUcWriteLast:
      return "UC RDMA WRITE Last";
    case Opcode::kUcWriteLastImm:
      return "UC RDMA WRITE Last with Immediate";
    case Opcode::kUcWriteOnly:
      return "UC RDMA WRITE Only";
    case Opcode::kUcWriteOnlyImm:
      return "UC RDMA WRITE Only with Immediate";
    case Opcode::kUdSendOnly:
      return "UD SEND Only";
    case Opcode::kUdSendOnlyImm:
      return "UD SEND Only with Immediate";
    case Opcode::kCnp:
      return "CNP";
  }
  return "unknown opcode";
}

}  // namespace weft::wire

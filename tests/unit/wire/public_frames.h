// Published frames of real devices, whole, without FCS.
#pragma once

#include <cstdint>
#include <vector>

#include "unit/wire/hex.h"

namespace weft::wire {

// A real ConnectX-4 Lx: CNP to QP 0x118 (secdev/scapy, test/contrib/roce.uts).
inline const std::vector<std::uint8_t> kCx4Cnp = hex(R"(
    e41d 2dab 2bc2 7cfe 9064 3b32 0800 45c2 003c 718c 4000 4011 9161 0a00 1101 0a00
    1201 0000 12b7 0028 0000 8100 ffff 4000 0118 0000 0000 0000 0000 0000 0000 0000
    0000 0000 0000 82fd 002a)");

// Linux rxe: READ request of 65536 bytes (a fork of PcapPlusPlus).
inline const std::vector<std::uint8_t> kRxeReadRequest = hex(R"(
    000c 29ae 1ca4 000c 2989 a2e5 0800 4500 003c be10 4000 4011 8a4b c0a8 3881 c0a8
    3883 df94 12b7 0028 0000 0c00 ffff 0000 0011 8054 cb63 0000 7fee 260f b000 0000
    02b8 0001 0000 08c6 154a)");

// RoCEv1: WRITE Only of 5 bytes with 3 bytes of pad, and its ACK (secdev/scapy).
inline const std::vector<std::uint8_t> kRoceV1WriteOnly = hex(R"(
    7cfe 9075 3cd8 7cfe 9075 3cd8 8915 6020 0000 0028 1b40 0000 0000 0000 0000 0000
    ffff 0f00 0002 0000 0000 0000 0000 0000 ffff 0f00 0002 0a70 ffff 0000 010a 80a7
    88bc 0000 55d4 c072 6000 0000 47b3 0000 0005 0000 0000 0100 0000 e3d8 56bb)");
inline const std::vector<std::uint8_t> kRoceV1Ack = hex(R"(
    7cfe 9075 3cd8 7cfe 9075 3cd8 8915 6020 0000 0014 1b40 0000 0000 0000 0000 0000
    ffff 0f00 0002 0000 0000 0000 0000 0000 ffff 0f00 0002 1140 ffff 0000 0109 00a7
    88c0 0000 0005 25f0 c038)");

}  // namespace weft::wire

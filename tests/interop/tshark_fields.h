// A capture as tshark sees it: chosen fields of every frame, as text.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "interop/interop_support.h"

namespace weft::interop {

// What tshark says of a frame: field name -> its values, of the outermost header first.
using Dissection = std::map<std::string, std::vector<std::string>>;

// IP and TCP checksums are checked (ip.checksum.status, tcp.checksum.status), which tshark leaves out by itself.
std::vector<Dissection> dissect(const std::string& path, std::span<const char* const> fields);

std::uint64_t number(const std::string& text);

// Bytes fields come as hex digits without 0x.
std::uint64_t hex(const std::string& text);

}  // namespace weft::interop

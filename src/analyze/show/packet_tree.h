// One frame as a tree of headers and fields, as Wireshark shows it: names and display filters are Wireshark's, with
// what a value means beside it. Pure: bytes to tree. Takes hostile input; a header that is cut ends the tree, and what
// follows the last header that is known is data. For `weft analyze --frame` and the page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/bytes.h"

namespace weft::analyze {

struct TreeField {
  std::string name;                      // "Packet Sequence Number"
  std::string filter;                    // "infiniband.bth.psn"; empty: Wireshark has none
  std::string value;                     // begins with the number or address
  std::string note;                      // what it means: "RC RDMA WRITE First", "CE"
  std::uint32_t offset = 0, length = 0;  // in the captured bytes
};

struct TreeLayer {
  std::string name;
  std::uint32_t offset = 0, length = 0;
  std::vector<TreeField> fields;
};

// `bytes` is what the capture holds of a frame that had `wire_B` on the wire; `link_type` as in pcap files.
std::vector<TreeLayer> packet_tree(std::uint16_t link_type, wire::Bytes bytes, std::uint32_t wire_B);

// A line for each layer and, indented, for each field.
std::string packet_tree_text(const std::vector<TreeLayer>& tree);
// An array of layers: name, offset, length, fields (name, filter, value, offset, length, note).
std::string packet_tree_json(const std::vector<TreeLayer>& tree);

}  // namespace weft::analyze

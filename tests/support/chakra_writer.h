// Writes Chakra execution traces: protobuf messages of et_def.proto, each after its length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

class ChakraWriter {
 public:
  using Bytes = std::vector<std::uint8_t>;

  explicit ChakraWriter(std::string_view version = "0.0.4") {
    Bytes metadata;
    text(metadata, 1, version);
    message(metadata);
  }

  struct Node {
    std::uint64_t id = 0;
    std::string name;
    std::uint64_t type = 4;
    std::vector<std::uint64_t> control = {}, data = {};
    std::uint64_t duration_us = 0;
    bool packed = true;
  };

  ChakraWriter& node(const Node& node) {
    flush();
    number(open_, 1, node.id);
    text(open_, 2, node.name);
    number(open_, 3, node.type);
    ids(4, node.control, node.packed);
    ids(5, node.data, node.packed);
    if (node.duration_us > 0) number(open_, 7, node.duration_us);
    is_open_ = true;
    return *this;
  }
  // Of the node before.
  ChakraWriter& integer(std::string_view name, std::int64_t value, std::uint32_t field = 9) {
    Bytes attribute;
    text(attribute, 1, name);
    number(attribute, field, static_cast<std::uint64_t>(value));
    bytes(open_, 10, attribute);
    return *this;
  }
  ChakraWriter& boolean(std::string_view name, bool value) { return integer(name, value ? 1 : 0, 27); }
  ChakraWriter& words(std::string_view name, std::string_view value) {
    Bytes attribute;
    text(attribute, 1, name);
    text(attribute, 29, value);
    bytes(open_, 10, attribute);
    return *this;
  }
  Bytes take() {
    flush();
    return std::move(out_);
  }

 private:
  static void varint(Bytes& to, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::uint8_t>(value | 0x80));
    to.push_back(static_cast<std::uint8_t>(value));
  }
  static void number(Bytes& to, std::uint32_t field, std::uint64_t value) {
    varint(to, std::uint64_t{field} << 3);
    varint(to, value);
  }
  static void bytes(Bytes& to, std::uint32_t field, const Bytes& value) {
    varint(to, std::uint64_t{field} << 3 | 2);
    varint(to, value.size());
    to.insert(to.end(), value.begin(), value.end());
  }
  static void text(Bytes& to, std::uint32_t field, std::string_view value) {
    bytes(to, field, Bytes(value.begin(), value.end()));
  }
  void ids(std::uint32_t field, const std::vector<std::uint64_t>& list, bool packed) {
    if (list.empty()) return;
    Bytes all;
    for (std::uint64_t id : list) {
      if (packed) {
        varint(all, id);
      } else {
        number(open_, field, id);
      }
    }
    if (packed) bytes(open_, field, all);
  }
  void message(const Bytes& body) {
    varint(out_, body.size());
    out_.insert(out_.end(), body.begin(), body.end());
  }
  void flush() {
    if (is_open_) message(open_);
    open_.clear();
    is_open_ = false;
  }

  Bytes out_, open_;
  bool is_open_ = false;
};

}  // namespace weft::test

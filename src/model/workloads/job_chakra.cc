#include "model/workloads/job_chakra.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

namespace weft::workload {
namespace {

constexpr std::size_t kMostNameBytes = 4096;

// Protobuf's wire format. Every read is checked; after the first that fails, all fail.
class ProtoReader {
 public:
  ProtoReader(std::span<const std::uint8_t> bytes, std::size_t offset_B) : bytes_(bytes), offset_B_(offset_B) {}

  bool at_end() const { return failed_ || at_ == bytes_.size(); }
  bool failed() const { return failed_; }
  std::size_t offset_B() const { return offset_B_ + at_; }
  const std::string& what() const { return what_; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at_ == bytes_.size()) return fail("a number is cut off"), 0;
      const std::uint8_t byte = bytes_[at_++];
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return fail("a number has more than 64 bits"), 0;
  }
  template <class Number>
  Number fixed() {
    Number value = 0;
    if (bytes_.size() - at_ < sizeof value) return fail("a number is cut off"), Number{0};
    for (std::size_t i = 0; i < sizeof value; ++i) value |= static_cast<Number>(Number{bytes_[at_ + i]} << 8 * i);
    at_ += sizeof value;
    return value;
  }
  std::span<const std::uint8_t> bytes() {
    const std::uint64_t size_B = varint();
    if (failed_) return {};
    if (size_B > bytes_.size() - at_) {
      fail(fmt::format("a length of {} B, and {} B are left", size_B, bytes_.size() - at_));
      return {};
    }
    const auto part = bytes_.subspan(at_, size_B);
    at_ += size_B;
    return part;
  }
  // The message inside.
  ProtoReader message() {
    const auto part = bytes();
    return {part, offset_B() - part.size()};
  }
  std::string text() {
    const auto part = bytes();
    return {reinterpret_cast<const char*>(part.data()), std::min(part.size(), kMostNameBytes)};
  }

  struct Key {
    std::uint32_t field = 0, type = 0;
  };
  Key key() {
    const std::uint64_t value = varint();
    if (!failed_ && (value >> 3 == 0 || value >> 3 > 0x1fffffff)) fail("not a field of a message");
    return {static_cast<std::uint32_t>(value >> 3), static_cast<std::uint32_t>(value & 7)};
  }
  void skip(const Key& key) {
    switch (key.type) {
      case 0:
        varint();
        return;
      case 1:
        fixed<std::uint64_t>();
        return;
      case 2:
        bytes();
        return;
      case 5:
        fixed<std::uint32_t>();
        return;
      default:
        fail(fmt::format("field {} has wire type {}", key.field, key.type));
    }
  }
  void expect(const Key& key, std::uint32_t type) {
    if (!failed_ && key.type != type) fail(fmt::format("field {} has wire type {}, not {}", key.field, key.type, type));
  }
  void fail(std::string what) {
    if (failed_) return;
    failed_ = true;
    what_ = std::move(what);
  }
  // A message inside this one could not be read.
  void fail_in(const ProtoReader& inner) {
    if (failed_ || !inner.failed()) return;
    failed_ = true;
    what_ = inner.what_;
    at_ = inner.offset_B() - offset_B_;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t offset_B_;
  std::size_t at_ = 0;
  bool failed_ = false;
  std::string what_;
};

struct Attribute {
  std::string name, text;
  std::int64_t number = 0;
};

std::int64_t zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
}
std::int64_t whole(double value) {
  return std::abs(value) < 9e18 ? static_cast<std::int64_t>(value) : 0;
}

// AttributeProto: a name and one of many kinds of values; lists are not needed.
Attribute read_attribute(ProtoReader& in) {
  Attribute attribute;
  while (!in.at_end()) {
    const ProtoReader::Key key = in.key();
    switch (key.field) {
      case 1:
        in.expect(key, 2);
        attribute.name = in.text();
        break;
      case 29:
        in.expect(key, 2);
        attribute.text = in.text();
        break;
      case 7:
      case 9:
      case 11:
      case 13:
      case 27:
        in.expect(key, 0);
        attribute.number = static_cast<std::int64_t>(in.varint());
        break;
      case 15:
      case 17:
        in.expect(key, 0);
        attribute.number = zigzag(in.varint());
        break;
      case 19:
      case 23: {
        in.expect(key, 5);
        const auto value = in.fixed<std::uint32_t>();
        attribute.number = key.field == 19 ? std::int64_t{value} : std::int64_t{static_cast<std::int32_t>(value)};
        break;
      }
      case 21:
      case 25:
        in.expect(key, 1);
        attribute.number = static_cast<std::int64_t>(in.fixed<std::uint64_t>());
        break;
      case 3:
        in.expect(key, 1);
        attribute.number = whole(std::bit_cast<double>(in.fixed<std::uint64_t>()));
        break;
      case 5:
        in.expect(key, 5);
        attribute.number = whole(std::bit_cast<float>(in.fixed<std::uint32_t>()));
        break;
      default:
        in.skip(key);
    }
  }
  return attribute;
}

void apply(const Attribute& attribute, ChakraNode& node) {
  const auto unsigned_value = static_cast<std::uint64_t>(std::max<std::int64_t>(0, attribute.number));
  if (attribute.name == "is_cpu_op") node.on_cpu = attribute.number != 0;
  if (attribute.name == "num_ops") node.operations = unsigned_value;
  if (attribute.name == "comm_size") node.size_B = unsigned_value;
  if (attribute.name == "comm_type") node.collective = attribute.number;
  if (attribute.name == "comm_src") node.source = attribute.number;
  if (attribute.name == "comm_dst") node.destination = attribute.number;
  if (attribute.name == "comm_tag") node.tag = attribute.number;
  if (attribute.name == "root_rank") node.root = attribute.number;
  if (attribute.name == "pg_name") node.group = attribute.text;
}

ChakraNode read_node(ProtoReader& in) {
  ChakraNode node;
  while (!in.at_end()) {
    const ProtoReader::Key key = in.key();
    switch (key.field) {
      case 1:
        in.expect(key, 0);
        node.id = in.varint();
        break;
      case 2:
        in.expect(key, 2);
        node.name = in.text();
        break;
      case 3: {
        in.expect(key, 0);
        const std::uint64_t type = in.varint();
        if (type == 0 || type > 7) in.fail(fmt::format("a node of type {}", type));
        node.type = static_cast<ChakraType>(type & 7);
        break;
      }
      case 4:
      case 5:
        if (key.type == 0) {
          node.before.push_back(in.varint());
        } else {
          in.expect(key, 2);
          ProtoReader list = in.message();
          while (!list.at_end()) node.before.push_back(list.varint());
          in.fail_in(list);
        }
        break;
      case 7:
        in.expect(key, 0);
        node.duration_us = in.varint();
        break;
      case 10: {
        in.expect(key, 2);
        ProtoReader inner = in.message();
        apply(read_attribute(inner), node);
        in.fail_in(inner);
        break;
      }
      default:
        in.skip(key);
    }
  }
  if (!in.failed() && node.type == ChakraType::kInvalid) in.fail("a node without a type");
  return node;
}

ChakraProblem not_chakra(const ProtoReader& in) {
  return {0, in.offset_B(), "not a Chakra execution trace: " + in.what(),
          "a trace is GlobalMetadata and Nodes of et_def.proto, each after its length as a varint"};
}

}  // namespace

tl::expected<ChakraTrace, ChakraProblem> read_chakra(std::span<const std::uint8_t> bytes) {
  if (bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
    return tl::unexpected(ChakraProblem{0, 0, "the trace is compressed with gzip", "unpack it: gunzip -S .et FILE"});
  ChakraTrace trace;
  ProtoReader in(bytes, 0);
  if (bytes.empty()) in.fail("it is empty");
  ProtoReader metadata = in.message();
  while (!in.failed() && !metadata.at_end()) {
    const ProtoReader::Key key = metadata.key();
    if (key.field == 1) {
      metadata.expect(key, 2);
      trace.version = metadata.text();
    } else if (key.field == 2) {
      metadata.expect(key, 2);
      ProtoReader inner = metadata.message();
      read_attribute(inner);
      metadata.fail_in(inner);
    } else if (!metadata.failed()) {
      metadata.fail(fmt::format("GlobalMetadata has no field {}", key.field));
    }
  }
  in.fail_in(metadata);
  while (!in.at_end()) {
    const std::size_t offset_B = in.offset_B();
    ProtoReader message = in.message();
    ChakraNode node;
    if (!in.failed()) node = read_node(message);
    in.fail_in(message);
    node.offset_B = offset_B;
    trace.nodes.push_back(std::move(node));
  }
  if (in.failed()) return tl::unexpected(not_chakra(in));
  return trace;
}

}  // namespace weft::workload

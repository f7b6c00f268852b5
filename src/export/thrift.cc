#include "export/thrift.h"

#include <utility>

namespace weft::exports {

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void ThriftWriter::header(int id, Type type) {
  const int delta = id - last_ids_.back();
  if (delta > 0 && delta < 16) {
    bytes_ += static_cast<char>(delta << 4 | type);
  } else {
    bytes_ += static_cast<char>(type);
    integer(id);
  }
  last_ids_.back() = id;
}

void ThriftWriter::integer(std::int64_t value) {
  append_varint(bytes_, static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
}

void ThriftWriter::text(std::string_view bytes) {
  append_varint(bytes_, bytes.size());
  bytes_ += bytes;
}

void ThriftWriter::field(int id, std::string_view value) {
  header(id, kBinary);
  text(value);
}

void ThriftWriter::begin_struct(int id) {
  header(id, kStruct);
  begin_element();
}

void ThriftWriter::end_struct() {
  bytes_ += '\0';
  last_ids_.pop_back();
}

void ThriftWriter::list(int id, std::size_t size, Type type) {
  header(id, kList);
  if (size < 15) {
    bytes_ += static_cast<char>(size << 4 | type);
  } else {
    bytes_ += static_cast<char>(0xf0 | type);
    append_varint(bytes_, size);
  }
}

std::string ThriftWriter::finish() {
  bytes_ += '\0';
  return std::exchange(bytes_, {});
}

}  // namespace weft::exports

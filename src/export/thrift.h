// Thrift's compact protocol, as much of it as the metadata of Parquet needs: structs with fields in ascending order,
// integers, texts and lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::exports {

class ThriftWriter {
 public:
  // A field of the struct that is open; ids ascend.
  void field(int id, std::int32_t value) { integer_field(id, kI32, value); }
  void field(int id, std::int64_t value) { integer_field(id, kI64, value); }
  void field(int id, std::string_view text);
  // Between these, the fields of a struct within. An element of a list has begin_element.
  void begin_struct(int id);
  void begin_element() { last_ids_.push_back(0); }
  void end_struct();
  // As many elements follow: structs between begin_element and end_struct, or integer() and text().
  void struct_list(int id, std::size_t size) { list(id, size, kStruct); }
  void integer_list(int id, std::size_t size) { list(id, size, kI32); }
  void text_list(int id, std::size_t size) { list(id, size, kBinary); }
  void integer(std::int64_t value);
  void text(std::string_view bytes);

  // Ends the outermost struct.
  std::string finish();

 private:
  enum Type : std::uint8_t { kI32 = 5, kI64 = 6, kBinary = 8, kList = 9, kStruct = 12 };
  void header(int id, Type type);
  void list(int id, std::size_t size, Type type);
  void integer_field(int id, Type type, std::int64_t value) {
    header(id, type);
    integer(value);
  }

  std::string bytes_;
  std::vector<int> last_ids_ = {0};
};

// LEB128: seven bits in a byte, the low ones first.
void append_varint(std::string& out, std::uint64_t value);

}  // namespace weft::exports

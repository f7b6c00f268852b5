// A small reader of Parquet, written from parquet.thrift and not from the writer: metadata, data pages of version 1,
// PLAIN and RLE_DICTIONARY. Everything is text; NULL is nothing. Throws on what it does not understand.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::exports {

// A value of Thrift's compact protocol: fields by number, elements of a list, a number or bytes.
struct ThriftValue {
  std::int64_t number = 0;
  std::string bytes;
  std::map<int, ThriftValue> fields;
  std::vector<ThriftValue> elements;
};

class ThriftReader {
 public:
  explicit ThriftReader(const std::string& bytes, std::size_t at = 0) : bytes_(bytes), at_(at) {}
  std::size_t at() const { return at_; }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.at(at_++));
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
  }
  ThriftValue read_struct() {
    ThriftValue value;
    int id = 0;
    for (;;) {
      const auto header = static_cast<unsigned char>(bytes_.at(at_++));
      if (header == 0) return value;
      id = header >> 4 != 0 ? id + (header >> 4) : static_cast<int>(zigzag());
      value.fields[id] = read_value(header & 15);
    }
  }

 private:
  std::int64_t zigzag() {
    const std::uint64_t word = varint();
    return static_cast<std::int64_t>(word >> 1) ^ -static_cast<std::int64_t>(word & 1);
  }
  ThriftValue read_value(int type) {
    ThriftValue value;
    if (type == 1 || type == 2) {
      value.number = type == 1;
    } else if (type >= 4 && type <= 6) {
      value.number = zigzag();
    } else if (type == 8) {
      const std::uint64_t size = varint();
      value.bytes = bytes_.substr(at_, size);
      at_ += size;
    } else if (type == 9) {
      const auto header = static_cast<unsigned char>(bytes_.at(at_++));
      const std::uint64_t size = header >> 4 == 15 ? varint() : header >> 4;
      for (std::uint64_t i = 0; i < size; ++i) value.elements.push_back(read_value(header & 15));
    } else if (type == 12) {
      value = read_struct();
    } else {
      throw std::runtime_error("a type of Thrift");
    }
    return value;
  }
  const std::string& bytes_;
  std::size_t at_;
};

inline std::vector<std::uint32_t> read_hybrid(const std::string& bytes, unsigned width, std::size_t count) {
  std::vector<std::uint32_t> values;
  ThriftReader reader(bytes);
  std::size_t at = 0;
  while (values.size() < count) {
    ThriftReader header(bytes, at);
    const std::uint64_t word = header.varint();
    at = header.at();
    if ((word & 1) == 0) {
      std::uint32_t value = 0;
      for (unsigned i = 0; i < (width + 7) / 8; ++i)
        value |= std::uint32_t{static_cast<unsigned char>(bytes.at(at++))} << 8 * i;
      values.insert(values.end(), word >> 1, value);
      continue;
    }
    const std::size_t packed = (word >> 1) * 8;
    for (std::size_t i = 0; i < packed; ++i) {
      std::uint32_t value = 0;
      for (unsigned b = 0; b < width; ++b) {
        const std::size_t bit = i * width + b;
        value |= (static_cast<unsigned char>(bytes.at(at + bit / 8)) >> bit % 8 & 1u) << b;
      }
      values.push_back(value);
    }
    at += packed * width / 8;
  }
  values.resize(count);
  return values;
}

struct ReadParquet {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::int64_t> types;
  std::vector<std::vector<std::optional<std::string>>> rows;
  std::size_t row_groups = 0;
};

inline std::vector<std::string> plain_values(const std::string& body, std::size_t at, std::int64_t type,
                                             std::size_t count) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count; ++i) {
    if (type == 6) {
      std::uint32_t size = 0;
      std::memcpy(&size, body.substr(at, 4).data(), 4);
      values.push_back(body.substr(at + 4, size));
      at += 4 + size;
      continue;
    }
    const std::string word = body.substr(at, 8);
    if (word.size() != 8) throw std::runtime_error("a short page");
    std::int64_t integer = 0;
    double real = 0;
    std::memcpy(&integer, word.data(), 8);
    std::memcpy(&real, word.data(), 8);
    values.push_back(type == 2 ? fmt::format("{}", integer) : fmt::format("{}", real));
    at += 8;
  }
  if (at != body.size()) throw std::runtime_error("bytes behind the last value");
  return values;
}

inline std::vector<std::optional<std::string>> read_chunk(const std::string& file, const ThriftValue& meta,
                                                          std::size_t rows) {
  const std::int64_t type = meta.fields.at(1).number;
  std::vector<std::string> dictionary;
  std::size_t at =
      static_cast<std::size_t>(meta.fields.contains(11) ? meta.fields.at(11).number : meta.fields.at(9).number);
  const std::size_t start = at;
  for (;;) {
    ThriftReader reader(file, at);
    const ThriftValue header = reader.read_struct();
    const auto size = static_cast<std::size_t>(header.fields.at(3).number);
    const std::string body = file.substr(reader.at(), size);
    at = reader.at() + size;
    if (header.fields.at(1).number == 2) {
      dictionary = plain_values(body, 0, type, static_cast<std::size_t>(header.fields.at(7).fields.at(1).number));
      continue;
    }
    if (static_cast<std::int64_t>(at - start) != meta.fields.at(7).number) throw std::runtime_error("size of a chunk");
    std::uint32_t level_B = 0;
    std::memcpy(&level_B, body.data(), 4);
    const std::vector<std::uint32_t> levels = read_hybrid(body.substr(4, level_B), 1, rows);
    std::size_t present = 0;
    for (std::uint32_t level : levels) present += level;
    const ThriftValue& page = header.fields.at(5);
    std::vector<std::string> values;
    if (page.fields.at(2).number == 0) {
      values = plain_values(body, 4 + level_B, type, present);
    } else {
      const auto width = static_cast<unsigned char>(body.at(4 + level_B));
      for (std::uint32_t index : read_hybrid(body.substr(5 + level_B), width, present))
        values.push_back(dictionary.at(index));
    }
    std::vector<std::optional<std::string>> cells;
    std::size_t next = 0;
    for (std::uint32_t level : levels) cells.push_back(level == 0 ? std::nullopt : std::optional(values.at(next++)));
    return cells;
  }
}

inline ReadParquet read_parquet(const std::string& file) {
  if (file.size() < 12 || file.substr(0, 4) != "PAR1" || file.substr(file.size() - 4) != "PAR1")
    throw std::runtime_error("no Parquet");
  std::uint32_t footer_B = 0;
  std::memcpy(&footer_B, file.data() + file.size() - 8, 4);
  const ThriftValue meta = ThriftReader(file, file.size() - 8 - footer_B).read_struct();
  ReadParquet read;
  const auto& schema = meta.fields.at(2).elements;
  read.name = schema.at(0).fields.at(4).bytes;
  for (std::size_t i = 1; i < schema.size(); ++i) {
    read.columns.push_back(schema[i].fields.at(4).bytes);
    read.types.push_back(schema[i].fields.at(1).number);
  }
  for (const ThriftValue& group : meta.fields.at(4).elements) {
    ++read.row_groups;
    const auto rows = static_cast<std::size_t>(group.fields.at(3).number);
    const std::size_t first = read.rows.size();
    read.rows.resize(first + rows, std::vector<std::optional<std::string>>(read.columns.size()));
    for (std::size_t c = 0; c < read.columns.size(); ++c) {
      const auto cells = read_chunk(file, group.fields.at(1).elements.at(c).fields.at(3), rows);
      for (std::size_t r = 0; r < rows; ++r) read.rows[first + r][c] = cells[r];
    }
  }
  if (static_cast<std::int64_t>(read.rows.size()) != meta.fields.at(3).number)
    throw std::runtime_error("number of rows");
  return read;
}

}  // namespace weft::exports

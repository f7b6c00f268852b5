#include "export/parquet.h"

#include <optional>
#include <vector>

#include "base/files.h"
#include "export/parquet_page.h"
#include "export/thrift.h"

namespace weft::exports {

namespace {

// parquet.thrift: Type, FieldRepetitionType, ConvertedType, CompressionCodec.
constexpr std::int32_t kInt64 = 2, kDouble = 5, kByteArray = 6;
constexpr std::int32_t kOptional = 1, kUtf8 = 0;
constexpr std::int32_t kUncompressed = 0;
constexpr std::string_view kMagic = "PAR1";

std::int32_t physical_type(CellType type) {
  return type == CellType::kInteger ? kInt64 : type == CellType::kReal ? kDouble : kByteArray;
}

struct Chunk {
  std::int64_t offset = 0, size_B = 0;
  std::optional<std::int64_t> data_offset;  // behind a dictionary
};
struct RowGroup {
  std::vector<Chunk> chunks;
  std::int64_t rows = 0;
};

class ParquetFile {
 public:
  ParquetFile(const std::string& path, const std::vector<Column>& columns) : file_(path), columns_(columns) {
    write(kMagic);
  }

  void add(const std::vector<std::vector<Cell>>& cells, std::size_t rows) {
    RowGroup group;
    group.rows = static_cast<std::int64_t>(rows);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const ColumnPages pages = encode_column(columns_[i].type, cells[i]);
      Chunk chunk{offset_, static_cast<std::int64_t>(pages.bytes.size()), std::nullopt};
      if (pages.data_at) chunk.data_offset = offset_ + static_cast<std::int64_t>(*pages.data_at);
      write(pages.bytes);
      group.chunks.push_back(chunk);
    }
    groups_.push_back(std::move(group));
  }

  tl::expected<void, std::string> close(const std::string& table) {
    const std::string footer = metadata(table);
    write(footer);
    std::string size;
    for (unsigned i = 0; i < 4; ++i) size += static_cast<char>(footer.size() >> 8 * i);
    write(size);
    write(kMagic);
    return file_.close();
  }

 private:
  void write(std::string_view bytes) {
    file_.write(bytes);
    offset_ += static_cast<std::int64_t>(bytes.size());
  }

  void schema(ThriftWriter& out, const std::string& table) const {
    out.struct_list(2, columns_.size() + 1);
    out.begin_element();
    out.field(4, table);
    out.field(5, static_cast<std::int32_t>(columns_.size()));
    out.end_struct();
    for (const Column& column : columns_) {
      out.begin_element();
      out.field(1, physical_type(column.type));
      out.field(3, kOptional);
      out.field(4, column.name);
      if (column.type == CellType::kText) {
        out.field(6, kUtf8);
        out.begin_struct(10);  // LogicalType
        out.begin_struct(1);   // STRING
        out.end_struct();
        out.end_struct();
      }
      out.end_struct();
    }
  }

  void chunk_metadata(ThriftWriter& out, const Column& column, const Chunk& chunk, std::int64_t rows) const {
    out.begin_element();
    out.field(2, chunk.offset);
    out.begin_struct(3);
    out.field(1, physical_type(column.type));
    out.integer_list(2, chunk.data_offset ? 3 : 2);
    out.integer(kPlain);
    out.integer(kRle);
    if (chunk.data_offset) out.integer(kRleDictionary);
    out.text_list(3, 1);
    out.text(column.name);
    out.field(4, kUncompressed);
    out.field(5, rows);
    out.field(6, chunk.size_B);
    out.field(7, chunk.size_B);
    out.field(9, chunk.data_offset.value_or(chunk.offset));
    if (chunk.data_offset) out.field(11, chunk.offset);
    out.end_struct();
    out.end_struct();
  }

  std::string metadata(const std::string& table) const {
    ThriftWriter out;
    std::int64_t rows = 0;
    for (const RowGroup& group : groups_) rows += group.rows;
    out.field(1, std::int32_t{2});
    schema(out, table);
    out.field(3, rows);
    out.struct_list(4, groups_.size());
    for (const RowGroup& group : groups_) {
      std::int64_t size_B = 0;
      for (const Chunk& chunk : group.chunks) size_B += chunk.size_B;
      out.begin_element();
      out.struct_list(1, columns_.size());
      for (std::size_t i = 0; i < columns_.size(); ++i) chunk_metadata(out, columns_[i], group.chunks[i], group.rows);
      out.field(2, size_B);
      out.field(3, group.rows);
      out.end_struct();
    }
    out.field(6, "weft");
    return out.finish();
  }

  OutputFile file_;
  const std::vector<Column>& columns_;
  std::vector<RowGroup> groups_;
  std::int64_t offset_ = 0;
};

// UTF-8 is asked for; what is none is replaced byte by byte, by '?'.
void make_utf8(std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    std::size_t size = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : 0;
    if (lead >= 0xf0 && lead < 0xf5) size = 4;
    bool good = size > 0 && i + size <= text.size();
    for (std::size_t k = 1; good && k < size; ++k) good = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    if (!good) text[i] = '?';
    i += good ? size : 1;
  }
}

}  // namespace

tl::expected<std::uint64_t, std::string> write_parquet(TableSource& table, const std::string& path,
                                                       std::size_t row_group) {
  const std::vector<Column>& columns = table.columns();
  ParquetFile file(path, columns);
  std::vector<std::vector<Cell>> cells(columns.size());
  std::uint64_t rows = 0;
  std::size_t held = 0;
  const auto flush = [&] {
    if (held > 0) file.add(cells, held);
    for (std::vector<Cell>& column : cells) column.clear();
    held = 0;
  };
  for (std::vector<Cell> row; table.next(row); ++rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (auto* text = std::get_if<std::string>(&row[i])) make_utf8(*text);
      cells[i].push_back(std::move(row[i]));
    }
    if (++held == row_group) flush();
  }
  if (!table.error().empty()) return tl::make_unexpected(table.error());
  flush();
  if (auto closed = file.close(table.name()); !closed) return tl::make_unexpected(closed.error());
  return rows;
}

}  // namespace weft::exports

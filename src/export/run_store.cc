#include "export/run_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/time.h"
#include "store/rows/counter_rows.h"
#include "store/series.h"
#include "store/table.h"

namespace weft::exports {

namespace {

// Version of the schema that this reads (docs/results.md).
constexpr std::int64_t kSchemaVersion = 1;

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

class SqliteTable : public TableSource {
 public:
  SqliteTable(store::SqliteFile& file, const std::string& table_name, std::vector<Column> table_columns)
      : TableSource(table_name, std::move(table_columns)), file_(file), rows_(file, select().c_str()) {}

  bool next(std::vector<Cell>& row) override {
    if (columns().empty() || !rows_.next()) return false;
    row.resize(columns().size());
    for (std::size_t i = 0; i < columns().size(); ++i) {
      const int at = static_cast<int>(i);
      if (rows_.is_null(at)) {
        row[i] = std::monostate();
      } else if (columns()[i].type == CellType::kInteger) {
        row[i] = rows_.integer(at);
      } else if (columns()[i].type == CellType::kReal) {
        row[i] = rows_.real(at);
      } else {
        row[i] = rows_.text(at);
      }
    }
    return true;
  }
  std::string error() const override { return file_.error(); }

 private:
  std::string select() const {
    std::string names;
    for (const Column& column : columns()) names += (names.empty() ? "" : ", ") + quoted(column.name);
    return fmt::format("SELECT {} FROM {}", names.empty() ? "1" : names, quoted(name()));
  }
  store::SqliteFile& file_;
  store::SqliteRows rows_;
};

// Columns by their declared types; bytes have no place in a table of text and numbers.
std::vector<Column> columns_of(store::SqliteFile& file, const std::string& table) {
  std::vector<Column> columns;
  store::SqliteRows rows(file, fmt::format("PRAGMA table_info({})", quoted(table)).c_str());
  while (rows.next()) {
    const std::string type = rows.text(2);
    if (type == "BLOB") continue;
    columns.push_back({rows.text(1), type == "INTEGER" ? CellType::kInteger
                                     : type == "REAL"  ? CellType::kReal
                                                       : CellType::kText});
  }
  return columns;
}

class SeriesTable : public TableSource {
 public:
  SeriesTable(const RunStore& store, std::vector<SeriesInfo> wanted)
      : TableSource("series", {{"time_ps", CellType::kInteger},
                               {"node", CellType::kText},
                               {"port", CellType::kText},
                               {"class", CellType::kInteger},
                               {"metric", CellType::kText},
                               {"unit", CellType::kText},
                               {"value", CellType::kInteger}}),
        store_(store),
        wanted_(std::move(wanted)) {}

  bool next(std::vector<Cell>& row) override {
    while (sample_ >= values_.size()) {
      if (at_ >= wanted_.size()) return false;
      auto read = store_.read(wanted_[at_]);
      if (!read) {
        error_ = read.error();
        at_ = wanted_.size();
        return false;
      }
      values_ = *std::move(read);
      sample_ = 0;
      ++at_;
    }
    const SeriesInfo& series = wanted_[at_ - 1];
    row.resize(7);
    row[0] = static_cast<std::int64_t>(sample_) * series.interval_ps;
    row[1] = series.node;
    row[2] = series.port;
    row[3] = series.class_;
    row[4] = series.metric;
    row[5] = series.unit;
    row[6] = values_[sample_++];
    return true;
  }
  std::string error() const override { return error_; }

 private:
  const RunStore& store_;
  std::vector<SeriesInfo> wanted_;
  std::size_t at_ = 0;
  std::vector<std::int64_t> values_;
  std::size_t sample_ = 0;
  std::string error_;
};

// Error for a directory without results.sqlite.
ExportProblem no_store(const std::string& directory) {
  std::error_code ignored;
  std::vector<std::string> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("seed-") && std::filesystem::is_regular_file(entry.path() / "results.sqlite", ignored))
      seeds.push_back(name);
  }
  if (seeds.empty())
    return {true, fmt::format("{} has no results.sqlite: it is not the directory of a run", directory),
            "name the directory that weft run --out wrote"};
  const std::string first = *std::min_element(seeds.begin(), seeds.end());
  return {true, fmt::format("{} has runs of {} seeds, each in a directory of its own", directory, seeds.size()),
          fmt::format("export one of them: weft export {}/{} --as FORMAT", directory, first)};
}

}  // namespace

tl::expected<RunStore, ExportProblem> RunStore::open(const std::string& directory) {
  namespace fs = std::filesystem;
  RunStore store;
  store.directory_ = directory;
  store.path_ = (fs::path(directory) / "results.sqlite").string();
  std::error_code error;
  if (!fs::is_directory(directory, error))
    return tl::unexpected(ExportProblem{true, fmt::format("{} is no directory", directory),
                                        "name the directory that weft run --out wrote"});
  if (!fs::is_regular_file(store.path_, error)) return tl::unexpected(no_store(directory));
  store.file_ = std::make_unique<store::SqliteFile>(store.path_, store::SqliteFile::Mode::kRead);
  if (auto read = store.read_schema(); !read) return tl::unexpected(read.error());
  store.read_ports();
  return store;
}

tl::expected<void, ExportProblem> RunStore::read_schema() {
  const auto damaged = [&](const std::string& why) {
    return tl::unexpected(ExportProblem{true, fmt::format("cannot read {}: {}", path_, why), "run the lab again"});
  };
  store::SqliteRows version(*file_, "PRAGMA user_version");
  const std::int64_t number = version.next() ? version.integer(0) : 0;
  if (!file_->error().empty()) return damaged(file_->error());
  if (number != kSchemaVersion)
    return damaged(fmt::format("its schema has version {}, this weft reads {}", number, kSchemaVersion));
  store::SqliteRows rows(*file_,
                         "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' "
                         "ORDER BY rowid");
  while (rows.next()) {
    const std::string name = rows.text(0);
    if (name != "series" && name != "block") tables_.push_back(name);
  }
  if (!file_->error().empty()) return damaged(file_->error());
  if (!has_table("run")) return damaged("it has no table run");
  if (!has_table("counter")) return damaged("it was written by an older weft, which kept no counters there");
  const std::int64_t interval_ps = run_number("sample_interval_ps", 0), end_ps = run_number("end_ps", 0);
  const std::int64_t count = run_number("samples", 0);
  if (count < 0 || interval_ps < 0 || (count > 0 && (interval_ps == 0 || count - 2 > end_ps / interval_ps)))
    return damaged(fmt::format("{} samples do not fit a run of {} ps", count, end_ps));
  samples_ = static_cast<std::uint64_t>(count);
  if (samples_ > store::kMostSamples) return damaged(fmt::format("{} samples are more than this reads", count));
  return {};
}

bool RunStore::has_table(const std::string& name) const {
  return std::find(tables_.begin(), tables_.end(), name) != tables_.end();
}

std::unique_ptr<TableSource> RunStore::table(const std::string& name) const {
  return std::make_unique<SqliteTable>(*file_, name, columns_of(*file_, name));
}

std::string RunStore::run_text(const std::string& key) const {
  const auto row = store::read_first<store::RunRow>(*file_, "WHERE key=?", key);
  return row ? row->value : "";
}

std::int64_t RunStore::run_number(const std::string& key, std::int64_t otherwise) const {
  const std::string text = run_text(key);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && !text.empty() ? value : otherwise;
}

std::vector<SeriesInfo> RunStore::series() const {
  std::vector<SeriesInfo> all;
  for (const SeriesInfo& row : store::Reader<SeriesInfo>(*file_, "ORDER BY id")) all.push_back(row);
  return all;
}

tl::expected<std::vector<std::int64_t>, std::string> RunStore::read(const SeriesInfo& series) const {
  std::vector<std::int64_t> samples(samples_);
  for (const store::BlockRow& block :
       store::Reader<store::BlockRow>(*file_, "WHERE series_id=? ORDER BY first_sample", series.id)) {
    const auto values = store::decode_block(block.data, static_cast<std::uint32_t>(block.count));
    const std::uint64_t first = block.first_sample;
    if (!values || first > samples_ || values->size() > samples_ - first)
      return tl::make_unexpected(fmt::format("{}: a damaged block of {}", path_, series_name(series)));
    std::copy(values->begin(), values->end(), samples.begin() + static_cast<std::ptrdiff_t>(first));
  }
  if (!file_->error().empty()) return tl::make_unexpected(fmt::format("cannot read {}: {}", path_, file_->error()));
  return samples;
}

std::unique_ptr<TableSource> RunStore::series_table(const std::vector<std::string>& patterns) const {
  std::vector<SeriesInfo> wanted;
  for (SeriesInfo& each : series()) {
    if (is_wanted(each, patterns)) wanted.push_back(std::move(each));
  }
  return std::make_unique<SeriesTable>(*this, std::move(wanted));
}

void RunStore::read_ports() {
  ports_.lab = run_text("lab");
  ports_.seed = std::strtoull(run_text("seed").c_str(), nullptr, 10);
  for (const PortCounter& row : store::Reader<PortCounter>(*file_)) ports_.counters.push_back(row);
  for (const store::PortRow& row : store::Reader<store::PortRow>(*file_)) {
    if (row.device)
      ports_.nic_ports.push_back({row.node, row.name, *row.device, static_cast<std::uint64_t>(row.rate_bps)});
  }
  for (const LostPackets& row : store::Reader<LostPackets>(*file_)) ports_.lost.push_back(row);
}

}  // namespace weft::exports

// A run's directory with a results.sqlite of anyone: `weft explain` and `weft export` end with what they make of it or
// with an error. An input is the file itself; or bytes that change in one with rows in all tables; or rows of any
// values in any of the tables, with other tables, views and triggers among them.
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "explain/explain.h"
#include "export/export.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/targets.h"
#include "results/results_store.h"

namespace {

namespace fs = std::filesystem;
using weft::fuzz::Input;

void write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What the readers look for.
constexpr std::array kWords = {"h0:p0",
                               "h1:p0",
                               "leaf0:swp1",
                               "leaf0",
                               "h0",
                               "incast",
                               "done",
                               "running",
                               "failed",
                               "start",
                               "ce_mark",
                               "cnp",
                               "pfc_storm",
                               "rate_cut",
                               "nak",
                               "timeout",
                               "link_down",
                               "sending",
                               "paused",
                               "queue_B",
                               "tx_bytes",
                               "pause_rx_ps",
                               "sending_ps",
                               "end_ps",
                               "samples",
                               "recorded",
                               "sample_interval_ps",
                               "1",
                               "10",
                               "100000000",
                               "tail drop",
                               "10.0.0.1",
                               "0",
                               "",
                               "99999999999999999999"};

void bind(sqlite3_stmt* statement, int index, Input& input) {
  const std::uint32_t kind = input.byte();
  if (kind < 100) {
    sqlite3_bind_int64(statement, index, static_cast<std::int64_t>(kind) - 1);
  } else if (kind < 180) {
    const char* word = kWords[kind % kWords.size()];
    sqlite3_bind_text(statement, index, word, -1, SQLITE_STATIC);
  } else if (kind < 215) {
    const std::uint64_t below = (std::uint64_t{1} << (kind % 35 + 29)) - 1;
    sqlite3_bind_int64(statement, index, static_cast<std::int64_t>((input.byte() & 1) != 0 ? below : ~below));
  } else if (kind < 225) {
    sqlite3_bind_null(statement, index);
  } else if (kind < 230) {
    sqlite3_bind_double(statement, index, kind == 225 ? 1e308 : -0.5);
  } else {
    const auto bytes = input.take(input.byte() & 31);
    const auto size = static_cast<int>(bytes.size());
    if (kind < 245) {
      sqlite3_bind_blob(statement, index, bytes.data(), size, SQLITE_TRANSIENT);
    } else {
      sqlite3_bind_text(statement, index, reinterpret_cast<const char*>(bytes.data()), size, SQLITE_TRANSIENT);
    }
  }
}

void execute(sqlite3* database, const std::string& sql) {
  sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
}

void add_row(sqlite3* database, const std::string& table, Input& input) {
  sqlite3_stmt* columns = nullptr;
  sqlite3_prepare_v2(database, ("SELECT * FROM " + table).c_str(), -1, &columns, nullptr);
  const int count = sqlite3_column_count(columns);
  sqlite3_finalize(columns);
  std::string marks;
  for (int i = 0; i < count; ++i) marks += i == 0 ? "?" : ",?";
  sqlite3_stmt* row = nullptr;
  sqlite3_prepare_v2(database, ("INSERT OR REPLACE INTO " + table + " VALUES(" + marks + ")").c_str(), -1, &row,
                     nullptr);
  for (int i = 1; i <= count; ++i) bind(row, i, input);
  sqlite3_step(row);
  sqlite3_finalize(row);
}

void change_schema(sqlite3* database, const std::string& table, std::uint32_t how) {
  const std::string endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT ";
  switch (how % 5) {
    case 0:
      execute(database, "DROP TABLE " + table);
      break;
    case 1:
      execute(database,
              "DROP TABLE " + table + "; CREATE VIEW " + table + " AS " + endless +
                  "i AS first_ps, i AS last_ps, i AS port, i AS peer, i AS name, i AS key, i AS value FROM n");
      break;
    case 2:
      execute(database, "ALTER TABLE " + table + " ADD COLUMN extra TEXT AS (printf('%.*c', 50000000, 'x'))");
      break;
    case 3:
      execute(database, "CREATE TRIGGER t" + table + " AFTER INSERT ON " + table + " BEGIN SELECT 1; END");
      break;
    default:
      execute(database, "DROP TABLE " + table + "; CREATE TABLE " + table + "(a, b, c)");
  }
}

// The directory, an empty store of this version, and one with rows.
struct Workplace {
  fs::path directory =
      fs::path(fs::exists("/dev/shm") ? "/dev/shm" : "/tmp") / ("weft-results-fuzz-" + std::to_string(getpid()));
  std::string empty_store, filled_store;
  std::vector<std::string> tables;

  Workplace() {
    fs::create_directories(directory);
    if (!weft::lab::write_results_store(store(), {}, {})) std::abort();
    write(directory / "results.json", "{\"ports\": []}");
    {
      weft::store::SqliteFile file(store(), weft::store::SqliteFile::Mode::kCreate);
      file.execute("PRAGMA page_size=512; VACUUM");
      weft::store::SqliteRows rows(file, "SELECT name FROM sqlite_master WHERE type='table'");
      while (rows.next()) tables.push_back(rows.text(0));
      if (tables.size() < 10 || !file.error().empty()) std::abort();
    }
    empty_store = read(store());
    std::vector<std::uint8_t> any(8000);
    for (std::size_t i = 0; i < any.size(); ++i) any[i] = static_cast<std::uint8_t>((i * i + i / 7) % 215);
    Input input(any.data(), any.size());
    sqlite3* database = open();
    for (int n = 0; n < 3; ++n)
      for (const std::string& table : tables) add_row(database, table, input);
    close(database);
    filled_store = read(store());
  }
  ~Workplace() {
    std::error_code ignored;
    fs::remove_all(directory, ignored);
  }
  std::string store() const { return (directory / "results.sqlite").string(); }
  // To write to it, with what a run with records and samples has.
  sqlite3* open() const {
    write(store(), empty_store);
    sqlite3* database = nullptr;
    if (sqlite3_open(store().c_str(), &database) != SQLITE_OK) std::abort();
    execute(database, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
    execute(database,
            "INSERT OR REPLACE INTO run VALUES('end_ps','100000000'),('recorded','1'),('samples','10'),"
            "('sample_interval_ps','10000000')");
    return database;
  }
  static void close(sqlite3* database) {
    execute(database, "COMMIT");
    sqlite3_close(database);
  }
};

void write_rows(const Workplace& place, Input& input) {
  sqlite3* database = place.open();
  for (int n = 0; n < 100 && !input.empty(); ++n) {
    const std::uint32_t what = input.byte();
    const std::string& table = place.tables[what % place.tables.size()];
    if (what > 250) {
      change_schema(database, place.tables[input.byte() % place.tables.size()], input.byte());
    } else {
      add_row(database, table, input);
    }
  }
  Workplace::close(database);
}

void write_changed_bytes(const Workplace& place, Input& input) {
  std::string file = place.filled_store;
  while (!input.empty()) {
    const std::size_t at = (input.word() * 3 + input.byte()) % file.size();
    file[at] = static_cast<char>(input.byte());
  }
  write(place.store(), file);
}

void explain(const Workplace& place, const std::string& between) {
  const auto explanation = weft::explain::explain_run({place.directory.string(), "", between});
  if (!explanation) {
    if (explanation.error().message.empty()) std::abort();
    return;
  }
  if (weft::explain::explanation_text(*explanation, false).empty()) std::abort();
  if (weft::explain::explanation_json(*explanation).empty()) std::abort();
}

void export_as(const Workplace& place, weft::exports::ExportFormat format) {
  weft::exports::ExportOptions options;
  options.format = format;
  options.out = (place.directory / "out").string();
  const auto files = weft::exports::export_run(place.directory.string(), options);
  if (!files && files.error().message.empty()) std::abort();
  fs::remove_all(options.out);
}

}  // namespace

int weft::fuzz::results_fuzz(const std::uint8_t* data, std::size_t size) {
  static const Workplace place;
  Input input(data, size);
  const std::uint32_t how = input.byte();
  if (how >= 0xe0) {
    write(place.store(), {reinterpret_cast<const char*>(data) + 1, size - 1});
  } else if ((how & 1) != 0) {
    write_changed_bytes(place, input);
  } else {
    write_rows(place, input);
  }
  ::explain(place, (how & 2) != 0 ? "10us,50us" : "");
  if ((how & 4) != 0) export_as(place, static_cast<weft::exports::ExportFormat>(how >> 3 & 3));
  return 0;
}

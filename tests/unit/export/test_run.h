// A run's directory made by hand, with everything that an export has to get right: NULLs, quotes, odd names, series
// with gaps, and a table that no version of ours has.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "store/series.h"
#include "store/sqlite_file.h"

namespace weft::exports {

class TestRun {
 public:
  TestRun() {
    std::string name = testing::TempDir() + "weft-export-XXXXXX";
    root_ = mkdtemp(name.data());
    write_store();
  }
  ~TestRun() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::string path() const { return root_; }
  std::string file(const std::string& name) const { return root_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  void execute(const std::string& sql) const {
    store::SqliteFile file_of_run(file("results.sqlite"), store::SqliteFile::Mode::kCreate);
    file_of_run.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF");
    file_of_run.execute(sql.c_str());
    EXPECT_EQ(file_of_run.error(), "") << sql;
  }

 private:
  void write_store() const {
    execute(R"(PRAGMA user_version = 1;
CREATE TABLE run(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
INSERT INTO run VALUES('lab','x'),('seed','1'),('end_ps','50000000'),('sample_interval_ps','10000000'),('samples','5');
CREATE TABLE flow(workload TEXT, number INTEGER, source TEXT, destination TEXT, size_B INTEGER, start_ps INTEGER,
  fct_ps INTEGER, state TEXT, goodput_bps REAL);
INSERT INTO flow VALUES('a, "b"',0,'h0:p0','h1:p0',1000,0,20000000,'done',1e9),
  ('a, "b"',1,'h0:p0','h1:p0',9223372036854775807,10000000,NULL,'running',0.1),('c',2,'h1:p0','h0:p0',1,NULL,NULL,'',NULL);
CREATE TABLE pause_event(time_ps INTEGER, port TEXT, peer TEXT, classes INTEGER, sent INTEGER, what TEXT);
INSERT INTO pause_event VALUES(1000000,'leaf0:swp1','h0:p0',24,1,'XOFF sent to h0:p0'),
  (2000000,'leaf0:swp1','h0:p0',8,1,'XON sent to h0:p0'),(3000000,'h0:p0','leaf0:swp1',8,0,'stopped by leaf0:swp1'),
  (4000000,'h0:p0','leaf0:swp1',8,0,'free again: the pause timer ran out');
CREATE TABLE drop_record(node TEXT, time_ps INTEGER, reason TEXT, psn INTEGER);
INSERT INTO drop_record VALUES('leaf0',5000001,'tail drop',7);
CREATE TABLE port_class(node TEXT, port TEXT, class INTEGER, tx_packets INTEGER, pause_tx_ps INTEGER, max_queue_B INTEGER);
INSERT INTO port_class VALUES('leaf0','swp1',3,10,1500000000,4096);
CREATE TABLE port(node TEXT, name TEXT, device TEXT, peer TEXT, address TEXT, rate_bps INTEGER);
INSERT INTO port VALUES('h0','p0','mlx5_0','','',100000000000),('h1','p0','mlx5_0','','',100000000000);
CREATE TABLE counter(node TEXT, port TEXT, device TEXT, "group" TEXT, name TEXT, value INTEGER);
INSERT INTO counter VALUES('h0','p0','mlx5_0','hw_counters','np_cnp_sent',5),
  ('h0','p0','mlx5_0','hw_counters','out_of_sequence',2),('h0','p0','mlx5_0','ethtool','rx_prio3_pause',7),
  ('h0','p0','mlx5_0','ethtool','tx_vport_rdma_unicast_bytes',1234),('h0','p0','mlx5_0','weft','acks_sent',9),
  ('h1','p0','mlx5_0','ethtool','rx_prio3_pause',1);
CREATE TABLE port_drop(node TEXT, port TEXT, reason TEXT, packets INTEGER);
INSERT INTO port_drop VALUES('leaf0','swp1','tail "drop"',3);
CREATE TABLE "odd "" name"("a column" TEXT, time_ps INTEGER, bytes BLOB);
INSERT INTO "odd "" name" VALUES('line
break', 6000000, x'00');
CREATE TABLE series(id INTEGER PRIMARY KEY, node TEXT, port TEXT, class INTEGER, metric TEXT, unit TEXT, interval_ps INTEGER);
CREATE TABLE block(series_id INTEGER, first_sample INTEGER, count INTEGER, encoding TEXT, data BLOB);
INSERT INTO series VALUES(1,'leaf0','swp1',3,'queue_B','B',10000000),(2,'h0','p0',-1,'np_cnp_sent','1',10000000),
  (3,'leaf0','swp1',3,'pause_tx_ps','ps',10000000);
)");
    for (int id = 1; id <= 3; ++id) {
      store::SeriesEncoder encoder;
      for (std::int64_t value : id == 1 ? std::vector<std::int64_t>{0, 500, 500, -3, 0}
                                        : std::vector<std::int64_t>{0, 1, 2, 2, std::int64_t{1} << 40})
        encoder.add(value);
      encoder.finish();
      store::SqliteFile file_of_run(file("results.sqlite"), store::SqliteFile::Mode::kCreate);
      file_of_run.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF");
      store::SqliteRows rows(file_of_run, "INSERT INTO block VALUES(?,?,?,?,?)");
      for (const store::SeriesBlock& block : encoder.blocks())
        rows.add(id, block.first_sample, block.count, "delta-zigzag-varint-zero-runs", block.data);
    }
  }
  std::string root_;
};

}  // namespace weft::exports

// Exports of real runs, read by other programs: promtool, Python's csv and sqlite3, and its own reading of the trace.
#include <gtest/gtest.h>

#include <fstream>

#include "interop/interop_support.h"

namespace weft::interop {
namespace {

const std::string kWeft = shell_quoted(WEFT_BINARY);

class ExportTools : public testing::Test {
 protected:
  ExportTools() {
    const CommandResult run =
        run_command(kWeft + " run " + shell_quoted(std::string(WEFT_SOURCE_DIR) + "/labs/fabric/incast-ecn.yaml") +
                    " --set 'sample=20 us' --out " + shell_quoted(dir_.file("run")) + " 2>&1");
    EXPECT_EQ(run.status, 0) << run.output;
  }
  CommandResult exported(const std::string& words) const {
    return run_command(kWeft + " export " + shell_quoted(dir_.file("run")) + " " + words + " 2>&1");
  }
  CommandResult python(const std::string& script) const {
    const std::string path = dir_.file("check.py");
    std::ofstream(path) << script;
    return run_command("cd " + shell_quoted(dir_.file("run")) + " && python3 " + shell_quoted(path) + " 2>&1");
  }
  TempDir dir_;
};

TEST_F(ExportTools, PromtoolAcceptsMetricsAndSeries) {
  ASSERT_EQ(exported("--as prometheus").status, 0);
  const CommandResult metrics =
      run_command("promtool check metrics < " + shell_quoted(dir_.file("run/metrics.prom")) + " 2>&1");
  EXPECT_EQ(metrics.status, 0) << metrics.output;
  EXPECT_EQ(metrics.output, "");
  const CommandResult blocks =
      run_command("promtool tsdb create-blocks-from openmetrics " + shell_quoted(dir_.file("run/metrics.openmetrics")) +
                  " " + shell_quoted(dir_.file("tsdb")) + " 2>&1");
  EXPECT_EQ(blocks.status, 0) << blocks.output;
  // Each value comes out of Prometheus' own storage as it went in; promtool 2.42 asks for a log beside the blocks.
  run_command("mkdir -p " + shell_quoted(dir_.file("tsdb/wal")) + " && promtool tsdb dump " +
              shell_quoted(dir_.file("tsdb")) + " > " + shell_quoted(dir_.file("run/dump.txt")) + " 2>/dev/null");
  const CommandResult result = python(R"PY(
import re
def points(path, scale):
    found = set()
    for line in open(path):
        if line.startswith('#'): continue
        labels, rest = line.rsplit('}', 1)
        value, time = rest.split()
        pairs = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        pairs = {k: v for k, v in pairs.items() if v}
        pairs.setdefault('__name__', labels.split('{')[0])
        found.add((tuple(sorted(pairs.items())), float(value), int(time) // scale))
    return found
there, back = points('metrics.openmetrics', 1), points('dump.txt', 1000)
assert len(there) > 10000 and there == back, (len(there), len(back), sorted(there - back)[:2], sorted(back - there)[:2])
print('equal')
)PY");
  EXPECT_EQ(result.output, "equal\n");
}

// What weft serve answers to a scrape: the run and the server itself.
TEST_F(ExportTools, PromtoolAcceptsMetricsOfServer) {
  const std::string log = shell_quoted(dir_.file("serve.txt")), run = shell_quoted(dir_.file("run"));
  const CommandResult scraped = run_command(
      kWeft + " serve " + run + " --port 0 > " + log + " & server=$!; for i in $(seq 100); do grep -q http " + log +
      " && break; sleep 0.1; done; url=$(head -1 " + log + "); python3 -c \"import sys, urllib.request; " +
      "sys.stdout.write(urllib.request.urlopen(sys.argv[1] + 'metrics').read().decode())\" $url > " +
      shell_quoted(dir_.file("metrics.txt")) + "; kill -INT $server; wait $server; promtool check metrics < " +
      shell_quoted(dir_.file("metrics.txt")) + " 2>&1");
  EXPECT_EQ(scraped.status, 0) << scraped.output;
  EXPECT_EQ(scraped.output, "");
  const CommandResult names = run_command(
      "grep -c -e '^node_infiniband_port_data_received_bytes_total{' -e '^node_ethtool_received_prio3_pause{' -e "
      "'^weft_serve_requests_total{' -e '^weft_port_ecn_marked_total{' " +
      shell_quoted(dir_.file("metrics.txt")));
  EXPECT_GT(std::stoi("0" + names.output), 40) << names.output;
}

// Python's csv module against its sqlite3 module: every table, every cell; and series decoded as docs/results.md says.
TEST_F(ExportTools, CsvEqualsDatabase) {
  ASSERT_EQ(exported("--as csv").status, 0);
  const CommandResult result = python(R"PY(
import csv, sqlite3
db = sqlite3.connect('results.sqlite')
def samples(data):
    value, at, out = 0, 0, []
    def varint():
        nonlocal at
        word = shift = 0
        while True:
            byte = data[at]; at += 1
            word |= (byte & 127) << shift; shift += 7
            if byte < 128: return word
    while at < len(data):
        word = varint()
        if word == 0: out += [value] * varint()
        else: value += (word >> 1) ^ -(word & 1); out.append(value)
    return out
cells = 0
for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table' AND name NOT IN ('series', 'block')").fetchall():
    wanted = db.execute(f'SELECT * FROM "{name}"').fetchall()
    rows = list(csv.reader(open(f'csv/{name}.csv', newline='')))
    assert len(rows) == len(wanted) + 1, name
    for got, row in zip(rows[1:], wanted):
        for text, value in zip(got, row):
            cells += 1
            if value is None: assert text == '', (name, row)
            elif isinstance(value, float): assert float(text) == value, (name, row)
            else: assert text == str(value), (name, row)
wanted = []
count = int(db.execute("SELECT value FROM run WHERE key='samples'").fetchone()[0])
for id, node, port, klass, metric, unit, interval in db.execute('SELECT id, node, port, class, metric, unit, interval_ps FROM series ORDER BY id').fetchall():
    values = [0] * count
    for first, data in db.execute('SELECT first_sample, data FROM block WHERE series_id=?', (id,)):
        part = samples(data); values[first:first + len(part)] = part
    wanted += [[str(k * interval), node, port, str(klass), metric, unit, str(v)] for k, v in enumerate(values)]
rows = list(csv.reader(open('csv/series.csv', newline='')))[1:]
assert rows == wanted and len(rows) > 10000, len(rows)
assert cells > 10000, cells
print('equal')
)PY");
  EXPECT_EQ(result.output, "equal\n");
}

// Processes and threads have names, slices of a thread do not overlap, counters run in time, and the sums are the
// run's.
TEST_F(ExportTools, TraceIsConsistent) {
  ASSERT_EQ(exported("--as chrome-trace").status, 0);
  const CommandResult result = python(R"PY(
import collections, json, sqlite3
db = sqlite3.connect('results.sqlite')
events = json.load(open('trace.json'))['traceEvents']
kinds = collections.Counter(e['ph'] for e in events)
assert set(kinds) <= {'M', 'X', 'i', 'C'}, kinds
named = {e['pid'] for e in events if e['name'] == 'process_name'}
threads = {(e['pid'], e['tid']): e['args']['name'] for e in events if e['name'] == 'thread_name'}
free, last = collections.defaultdict(float), collections.defaultdict(lambda: -1)
flows, paused, final = 0, collections.Counter(), {}
for e in events:
    if e['ph'] == 'M': continue
    assert e['pid'] in named and e['ts'] >= 0
    if e['ph'] == 'C':
        key = e['pid'], e['name']
        assert e['ts'] > last[key]; last[key] = e['ts']; final[key] = e['args']['value']
        continue
    track = threads[e['pid'], e['tid']]
    if e['ph'] == 'X':
        key = e['pid'], e['tid']
        assert e['ts'] >= free[key] - 1e-6, e
        free[key] = e['ts'] + e['dur']
        if track.startswith('flows'):
            flows += 1
            assert abs(e['dur'] * 1e6 - e['args']['fct_ps']) < 1, e
        else:
            paused[track] += e['dur']
assert flows == db.execute('SELECT count(*) FROM flow').fetchone()[0]
left = int(json.load(open('results.json'))['pauses']['left_out'])
for node, port, klass, tx in db.execute('SELECT node, port, class, pause_tx_ps FROM port_class WHERE pause_tx_ps > 0'):
    assert left or abs(paused[f'{node}:{port} class {klass} pauses its peer'] * 1e6 - tx) < 10, (node, port, klass, tx)
assert len(final) == db.execute('SELECT count(*) FROM series').fetchone()[0]
print('consistent')
)PY");
  EXPECT_EQ(result.output, "consistent\n");
}

TEST_F(ExportTools, ReportsFilesAndErrors) {
  const CommandResult json = exported("--as parquet --series queue_B --json");
  ASSERT_EQ(json.status, 0);
  const auto list = nlohmann::json::parse(json.output, nullptr, false);
  ASSERT_TRUE(list.is_object()) << json.output;
  EXPECT_EQ(list.at("format"), "parquet");
  EXPECT_GT(list.at("files").size(), 8U);
  EXPECT_EQ(exported("--as excel").status, 2);
  EXPECT_EQ(exported("--as csv --series nothing").status, 2);
  EXPECT_EQ(exported("--as chrome-trace --out /dev/full").status, 1);
  EXPECT_EQ(run_command(kWeft + " export /nonexistent --as csv 2>&1").status, 2);
  const CommandResult problem = run_command(kWeft + " export /nonexistent --as csv --json 2>/dev/null");
  EXPECT_TRUE(nlohmann::json::parse(problem.output, nullptr, false).contains("errors")) << problem.output;
}

}  // namespace
}  // namespace weft::interop

#!/usr/bin/env bash
# Exports a run as CSV and Parquet and has two third-party readers from npm, hyparquet and DuckDB, compare them cell by cell.
#   tests/interop/parquet_readers.sh RUN [BUILD]
# Installs the packages into a temporary directory; not part of ./test, which downloads nothing.
set -euo pipefail
run=$(realpath "${1:?the directory of a run}")
weft=$(realpath "${2:-build}")/weft
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$weft" export "$run" --as csv --out "$scratch/csv" >/dev/null
"$weft" export "$run" --as parquet --out "$scratch/parquet" >/dev/null
case $(uname -m) in aarch64) machine=arm64 ;; *) machine=x64 ;; esac
cd "$scratch"
npm install --silent --no-audit --no-fund hyparquet @duckdb/node-api "@duckdb/node-bindings-linux-$machine" >/dev/null
cat >compare.mjs <<'JS'
import fs from 'fs';
import { parquetReadObjects } from 'hyparquet';
import { DuckDBInstance } from '@duckdb/node-api';
const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
const ask = async (sql) => (await duckdb.runAndReadAll(sql)).getRows();
let wrong = 0;
for (const file of fs.readdirSync('parquet').sort()) {
  const name = file.replace('.parquet', '');
  const bytes = fs.readFileSync(`parquet/${file}`);
  const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const rows = (await parquetReadObjects({ file: whole })).length;
  const parquet = `read_parquet('parquet/${file}')`;
  const columns = (await ask(`DESCRIBE SELECT * FROM ${parquet}`)).map(([column, type]) => `'${column}': '${type}'`);
  const csv = `read_csv('csv/${name}.csv', header=true, columns={${columns.join(', ')}}, nullstr='', allow_quoted_nulls=false)`;
  const count = Number((await ask(`SELECT count(*) FROM ${parquet}`))[0][0]);
  const [a, b] = [[parquet, csv], [csv, parquet]].map(([x, y]) => `SELECT count(*) FROM (FROM ${x} EXCEPT ALL FROM ${y})`);
  const differ = Number((await ask(a))[0][0]) + Number((await ask(b))[0][0]);
  console.log(`${name}: hyparquet ${rows} rows, DuckDB ${count}, ${differ} differ from CSV`);
  if (rows !== count || differ !== 0) ++wrong;
}
process.exit(wrong === 0 ? 0 : 1);
JS
node compare.mjs

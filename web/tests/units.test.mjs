// Parts of the page without a browser: requests in pieces, answers of a report, tooltips.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createServer } from 'vite';
import { root } from './support.mjs';

let vite;
const load = (path) => vite.ssrLoadModule(`/src/${path}`);
before(async () => {
  vite = await createServer({ root: join(root, 'web'), configFile: join(root, 'web/vite.config.ts'), appType: 'custom', logLevel: 'error', server: { middlewareMode: true, hmr: false, watch: null, ws: false }, optimizeDeps: { noDiscovery: true } });
});
after(() => vite?.close());

test('many names are requested in pieces, in order', async () => {
  const { inPieces } = await load('lib/pieces.ts');
  assert.deepEqual(inPieces([]), []);
  assert.deepEqual(inPieces(['a', 'b']), [['a', 'b']]);
  const names = Array.from({ length: 400 }, (_, i) => `pod3-leaf${i}:swp${i}.3.pause_rx_ps`);
  const pieces = inPieces(names);
  assert.deepEqual(pieces.flat(), names);
  assert.ok(pieces.length > 2);
  for (const piece of pieces) assert.ok(encodeURIComponent(piece.join(',')).length <= 6000);
});

test('a report answers from raw counters: by name, metric or pattern, and by range', async () => {
  const { fromReport } = await load('lib/report.ts');
  const { meanRate } = await load('lib/counters.ts');
  const series = (id) => ({ id, unit: 'B', t_ps: [0, 1e6, 2e6, 3e6], min: [0, 1000, 13500, 26000], max: [0, 1000, 13500, 26000] });
  const all = ['leaf0:swp1.3.tx_bytes', 'leaf0:swp2.3.tx_bytes', 'leaf0:swp2.3.queue_B'].map(series);
  const path = '/api/runs/run/series/data';
  const ask = (search) => fromReport({ [path]: { series: all } }, `${path}?${search}`).series;
  const ids = (match) => ask(`match=${encodeURIComponent(match)}&points=100`).map((s) => s.id);
  assert.deepEqual(ids('leaf0:swp2.3.tx_bytes,nothing'), ['leaf0:swp2.3.tx_bytes']);
  assert.deepEqual(ids('queue_B'), ['leaf0:swp2.3.queue_B']);
  assert.deepEqual(ids('leaf0:swp?.*.tx_bytes'), all.slice(0, 2).map((s) => s.id));
  assert.deepEqual(ids('swp2'), []);
  // One point before and after the range.
  assert.deepEqual(ask('match=tx_bytes&from_ps=1500000&to_ps=1600000')[0].t_ps, [1e6, 2e6]);
  const rate = meanRate(ask('match=tx_bytes')[0]);
  assert.deepEqual([rate.unit, rate.t_ps.length, rate.min[1]], ['b/s', 3, 100e9]);
});

test('the utilisation of several links is weighted by their rates', async () => {
  const { tipOf } = await load('lib/fabric-tip.ts');
  const links = [{ rate: 400e9 }, { rate: 100e9 }];
  const moments = { index: new Map([['a:1', 0], ['a:2', 1]]), bins: 1, used: Uint16Array.of(65535, 0), paused: Uint8Array.of(0, 0) };
  const strand = { up: ['a:1', 'a:2'], down: ['b:1', 'b:2'], links: [0, 1] };
  const tip = tipOf({ plan: { links, nodes: [], pods: [] }, scene: { strands: [strand] }, moments, classesOf: new Map() }, { kind: 'strand', strand: 0 }, 0, []);
  assert.match(Object.fromEntries(tip.lines)['up, total'], /^400 Gb\/s \(80(\.0)? %\)$/);
});

// tests/unit/base/figures_test.cc does the same with the program's figures.
test('a number has the text of the table that the program has too', async () => {
  const { size, rate, time, messageSize, lineRate, moment, percent, change } = await load('lib/units.ts');
  const kinds = { size, rate, time, message: messageSize, line_rate: lineRate, moment, share: percent, change };
  const rows = readFileSync(join(root, 'tests/data/figures.txt'), 'utf8').split('\n').filter((line) => line && !line.startsWith('#'));
  assert.ok(rows.length > 60);
  for (const row of rows) {
    const [kind, numbers, text] = row.split(' | ');
    assert.equal(kinds[kind](...numbers.split(' ').map(Number)), text, row);
  }
});

test('a time has the unit in which it is read, and the digits that its range needs', async () => {
  const { moment } = await load('lib/units.ts');
  assert.equal(moment(865.818e9, 2.6e12), '865.818 ms');
  assert.equal(moment(1.5e12, 2.6e12), '1.500 s');
  assert.equal(moment(865.8181234e9, 8e6), '865.818123 ms');
  assert.equal(moment(865.8181234e9, 0), '865.818123 ms');
  assert.equal(moment(408e6, 8e6), '408.000 us');
  assert.equal(moment(0, 2.6e12), '0 us');
});

test('steps of an edited text are taken back one by one, typing at once', async () => {
  const { History, changedEnd } = await load('lib/history.ts');
  const version = (text) => ({ text, set: '' });
  const history = new History(version('a'));
  history.take(version('ab'), true, 0);
  history.take(version('abc'), true, 300);
  history.take(version('knob'), false, 400);
  history.take(version('knobs'), true, 500);
  assert.deepEqual(['undo', 'undo', 'undo', 'undo'].map((way) => history[way]()?.text), ['knob', 'abc', 'a', undefined]);
  assert.deepEqual([history.redo().text, history.redo().text], ['abc', 'knob']);
  history.take(version('other'), false, 900);
  assert.equal(history.redo(), null);
  assert.equal(changedEnd('one three', 'one two three'), 7);
});

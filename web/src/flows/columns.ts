// The columns of the table of flows, and its filter and order.
import type { Flows } from '../lib/types';
import { count, rate, size, time } from '../lib/units';

export type Key = keyof Flows;
export interface Column {
  key: Key;
  title: string;
  width: string;
  help: string;
  show: (flows: Flows, i: number) => string;
}
const orNone = (value: number | null, format: (v: number) => string) => (value === null ? '–' : format(value));
const text = (key: Key) => (flows: Flows, i: number) => String(flows[key][i] ?? '');
const number = (key: Key, format: (v: number) => string) => (flows: Flows, i: number) => orNone((flows[key][i] ?? null) as number | null, format);

// Traffic of a workload without flows from one port to another; the ports have their own columns.
const isPair = (f: Flows, i: number) => f.workload[i] !== '' && f.id[i] === `${f.workload[i]}/${f.source[i]}>${f.destination[i] || 'any'}`;

export const columns: Column[] = [
  { key: 'id', title: 'Flow', width: 'minmax(100px, 1.4fr)', help: 'workload and number; only the workload if it has no flows', show: (f, i) => f.name[i] || (isPair(f, i) ? f.workload[i] : f.id[i]) },
  { key: 'source', title: 'From', width: 'minmax(80px, 1fr)', help: 'the port that sends', show: text('source') },
  { key: 'destination', title: 'To', width: 'minmax(80px, 1fr)', help: 'the port that receives', show: text('destination') },
  { key: 'size_B', title: 'Size', width: '76px', help: 'bytes to send', show: number('size_B', size) },
  { key: 'start_ps', title: 'Start', width: '76px', help: 'from the start of the run', show: number('start_ps', time) },
  { key: 'fct_ps', title: 'FCT', width: '76px', help: 'flow completion time', show: number('fct_ps', time) },
  { key: 'goodput_bps', title: 'Goodput', width: '88px', help: 'size divided by FCT', show: number('goodput_bps', rate) },
  { key: 'slowdown', title: 'Slowdown', width: '92px', help: 'FCT divided by the FCT of the same flow alone', show: number('slowdown', (v) => `${v.toFixed(v < 10 ? 2 : 1)}×`) },
  { key: 'latency_p50_ps', title: 'Lat. p50', width: '86px', help: 'median latency of its messages, from doorbell to completion', show: number('latency_p50_ps', time) },
  { key: 'latency_p99_ps', title: 'Lat. p99', width: '86px', help: '99th percentile of the latency of its messages', show: number('latency_p99_ps', time) },
  { key: 'retransmitted', title: 'Retransmits', width: '98px', help: 'packets retransmitted', show: number('retransmitted', count) },
  { key: 'cnps', title: 'CNPs', width: '66px', help: 'congestion notification packets received by the sender', show: number('cnps', count) },
  { key: 'state', title: 'State', width: '74px', help: 'final state', show: text('state') },
  { key: 'bottleneck', title: 'Bottleneck', width: 'minmax(130px, 1.3fr)', help: 'the main reason for its duration', show: (f, i) => f.bottleneck[i] || '–' },
];
export const numeric = new Set<Key>(['size_B', 'start_ps', 'fct_ps', 'goodput_bps', 'slowdown', 'latency_p50_ps', 'latency_p99_ps', 'retransmitted', 'cnps']);

// Rows that match all words, sorted. A missing value (a flow that did not finish) sorts as the largest.
export function ordered(f: Flows, words: string, sort: Key, down: boolean): number[] {
  const wanted = words.toLowerCase().split(/\s+/).filter((w) => w !== '');
  const rows: number[] = [];
  for (let i = 0; i < f.id.length; ++i) {
    const line = wanted.length === 0 ? '' : [f.id[i], f.name[i], f.source[i], f.destination[i], f.state[i], f.bottleneck[i]].join(' ').toLowerCase();
    if (wanted.every((w) => line.includes(w))) rows.push(i);
  }
  const values = f[sort] ?? f.fct_ps;
  const sign = down ? -1 : 1;
  return rows.sort((a, b) => {
    const [x, y] = [values[a], values[b]];
    if (x === y) return a - b;
    if (x === null) return sign;
    if (y === null) return -sign;
    return (x < y ? -1 : 1) * sign;
  });
}

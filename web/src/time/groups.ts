// The plots of the time view and their series: those of the chosen flows, or the largest.
import { isCounter } from '../lib/counters';
import type { Fabric, Flows, SeriesEntry } from '../lib/types';

export interface Group {
  key: string;
  title: string;
  entries: SeriesEntry[];
  left: number; // more of its kind that are not drawn
  rate: boolean; // of counters the change per second
  limits: { value: number; kind: 'ecn' | 'xoff' | 'headroom' | 'pool'; label: string }[];
  removable: boolean;
}

const largest = (list: SeriesEntry[], n: number, by: 'most' | 'last' = 'most') => [...list].sort((a, b) => b[by] - a[by] || (a.id < b.id ? -1 : 1)).slice(0, n);
const portOf = (s: SeriesEntry) => `${s.node}:${s.port}`;

export function groups(all: SeriesEntry[], fabric: Fabric, flows: Flows | null, chosen: string[], extra: string[]): Group[] {
  const by = (metric: string) => all.filter((s) => s.metric === metric);
  const out: Group[] = [];
  const add = (key: string, title: string, of: SeriesEntry[], entries: SeriesEntry[], rate: boolean, limits: Group['limits'] = []) => {
    if (entries.length > 0) out.push({ key, title, entries, left: of.filter((s) => !entries.includes(s)).length, rate, limits, removable: false });
  };
  const flowOf = (s: SeriesEntry) => `${s.node}/${s.port}`;
  const hosts = new Set(fabric.nodes.filter((n) => n.kind === 'host').map((n) => n.name));

  const rates = by('rate_bps');
  const wanted = chosen.map((id) => rates.find((s) => flowOf(s) === id)).filter((s) => s !== undefined);
  const slowest = flows ? [...flows.id.keys()].sort((a, b) => (flows.fct_ps[b] ?? 1e18) - (flows.fct_ps[a] ?? 1e18)).map((i) => flows.id[i]) : [];
  const usual = slowest.slice(0, 8).map((id) => rates.find((s) => flowOf(s) === id)).filter((s) => s !== undefined);
  add('flows', 'Rate allowed per flow', rates, wanted.length > 0 ? wanted : usual.length > 0 ? usual : rates.slice(0, 8), false);

  // Rates sent by ports: by the senders of the chosen flows, otherwise by the busiest hosts.
  const sent = by('tx_bytes').filter((s) => hosts.has(s.node));
  const sources = new Set(flows ? chosen.map((id) => flows.source[flows.id.indexOf(id)]) : []);
  const own = sent.filter((s) => sources.has(portOf(s)));
  add('ports', 'Rate sent per host port', sent, own.length > 0 ? largest(own, 8, 'last') : largest(sent, 6, 'last'), true);
  const forwarded = by('tx_bytes').filter((s) => !hosts.has(s.node));
  add('links', 'Rate sent per switch port', forwarded, largest(forwarded, 6, 'last'), true);

  const queues = largest(by('queue_B'), 6);
  const limits: Group['limits'] = [];
  const headrooms: Group['limits'] = [];
  const xoffs: Group['limits'] = [];
  // XOFF is asked for by the priority group that packets come in by, at a limit that moves with the free pool.
  const held = by('group_B');
  const fullestGroups = largest(held, 4);
  const xoff = by('xoff_B').filter((s) => fullestGroups.some((g) => g.node === s.node && g.class === s.class));
  const groupsOfPorts = by('headroom_B').filter((s) => s.port !== '');
  const headroom = largest(groupsOfPorts, 6);
  const isOf = (q: { port: string; class: number }) => (s: SeriesEntry) => portOf(s) === q.port && s.class === q.class;
  for (const g of fabric.groups) {
    if (headroom.some(isOf(g))) addLimit(headrooms, g.headroom_B, 'headroom', 'headroom');
    if (fullestGroups.some(isOf(g))) addLimit(xoffs, g.xoff_B, 'xoff', 'XOFF, one group alone');
  }
  for (const q of fabric.queues) {
    if (!queues.some(isOf(q))) continue;
    addLimit(limits, q.ecn_min_B, 'ecn', 'ECN min');
    addLimit(limits, q.ecn_max_B, 'ecn', 'ECN max');
  }
  add('queues', 'Queue depth', by('queue_B'), queues, false, limits);
  add('groups', 'Ingress groups and XOFF limits', held, [...xoff, ...fullestGroups], false, xoff.length > 0 ? [] : xoffs);
  // For the fullest switches: the bytes in all queues, and the bytes in headroom.
  const buffers = [...by('buffer_B'), ...by('headroom_B').filter((s) => s.port === '')];
  const fullest = largest(by('buffer_B'), 3).map((s) => s.node);
  const shown = fullest.flatMap((node) => buffers.filter((s) => s.node === node));
  const pools: Group['limits'] = [];
  for (const node of fabric.nodes) {
    if (!fullest.includes(node.name)) continue;
    addLimit(pools, node.pool_B, 'pool', 'shared pool');
    addLimit(pools, node.headroom_pool_B, 'headroom', 'headroom pool');
  }
  add('buffer', 'Buffer and headroom in use', buffers, shown, false, pools);
  add('headroom', 'Headroom by port and class', groupsOfPorts, headroom, false, headrooms);
  const marks = by('ecn_marked');
  const cnps = by('np_cnp_sent');
  add('marks', 'ECN marks per second', marks, largest(marks, 5, 'last'), true);
  add('cnps', 'CNPs per second', cnps, largest(cnps, 5, 'last'), true);
  const drops = by('drops');
  add('drops', 'Packets lost per second', drops, largest(drops, 5, 'last'), true);
  for (const id of extra) {
    const s = all.find((e) => e.id === id);
    if (s) out.push({ key: `series ${id}`, title: id, entries: [s], left: 0, rate: isCounter(s.metric), limits: [], removable: true });
  }
  return out;
}

function addLimit(limits: Group['limits'], value: number | null | undefined, kind: Group['limits'][number]['kind'], label: string) {
  if (value === null || value === undefined) return;
  const same = limits.find((l) => l.value === value);
  if (!same) limits.push({ value, kind, label });
  else if (!same.label.split(', ').includes(label)) same.label += `, ${label}`;
}

// The name of a line within its plot.
export function nameOf(s: SeriesEntry, group: Group): string {
  if (group.key === 'flows') return `${s.node}/${s.port}`;
  if (s.metric === 'xoff_B') return `${s.node}.${s.class} limit`;
  if (group.key === 'buffer') return `${s.node} ${s.metric === 'headroom_B' ? 'headroom' : 'buffer'}`;
  const port = s.port === '' ? s.node : `${s.node}:${s.port}`;
  const classes = new Set(group.entries.map((e) => e.class));
  return s.class >= 0 && classes.size > 1 ? `${port}.${s.class}` : port;
}

export function pauseLanes(all: SeriesEntry[]): SeriesEntry[] {
  return all.filter((s) => s.metric === 'pause_rx_ps' && s.last > 0).sort((a, b) => b.last - a.last);
}

// The value at a time: that of the last point at or before it.
export function valueAt(x: number[], v: (number | null)[], at: number): number | null {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? null : v[low - 1];
}

// The cells of a sweep for drawing: which paths are on x and y, and the values of the others.
import type { Sweep } from '../lib/types';

export type Cell = Sweep['cells'][number];

export const fails = (cell: Cell) => cell.state === 'failed';
export const unmet = (cell: Cell) => cell.state === 'done' && cell.met === false;
// Shown by a sign, not by colour alone.
export const sign = (cell: Cell) => (fails(cell) ? '✗' : unmet(cell) ? '!' : '');
export const meaning = (cell: Cell) =>
  fails(cell) ? 'the run failed' : unmet(cell) ? 'expectations were not met' : cell.state === 'done' ? '' : cell.state === 'runs' ? 'running' : 'waiting';

// A counter that a run does not have is 0 (docs/study.md); a figure of a workload is missing instead.
export function withZeros(sweep: Sweep): Sweep {
  const counts = sweep.metrics.map((m) => /^(fabric|hosts)\./.test(m.name));
  const cells = sweep.cells.map((cell) => (cell.state === 'done' ? { ...cell, values: cell.values.map((v, i) => (v === null && counts[i] ? 0 : v)) } : cell));
  return { ...sweep, cells };
}

export function cellAt(sweep: Sweep, at: number[]): Cell | undefined {
  return sweep.cells.find((cell) => cell.at.every((index, i) => index === at[i]));
}

const scales: Record<string, number> = {
  '': 1, '%': 0.01, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1048576, GiB: 1073741824, ps: 1e-12, ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1,
  'b/s': 1, 'kb/s': 1e3, 'Mb/s': 1e6, 'Gb/s': 1e9, m: 1, km: 1e3,
};
// "1 MB" as a number; undefined if it is not a quantity.
export function quantity(text: string): number | undefined {
  const match = text.trim().match(/^([-+]?[\d.]+(?:e[-+]?\d+)?)\s*([A-Za-z%/]*)$/i);
  if (!match || !(match[2] in scales)) return undefined;
  const value = Number(match[1]) * scales[match[2]];
  return Number.isFinite(value) ? value : undefined;
}

// The spread of a metric: the range of its values divided by the largest.
export function spread(sweep: Sweep, metric: number): number {
  const known = sweep.cells.map((cell) => cell.values[metric]).filter((v): v is number => typeof v === 'number');
  const most = Math.max(...known.map(Math.abs));
  return known.length < 2 || most === 0 ? 0 : (Math.max(...known) - Math.min(...known)) / most;
}
export const leastSpread = 0.001; // smaller differences are noise

// The metric that is shown first: of those that the lab has expectations for, the one that differs most; otherwise a tail
// of completion times, then goodput, then any metric that differs.
export function usualMetric(sweep: Sweep, expected: string[] = []): number {
  const names = sweep.metrics.map((m) => m.name);
  const differs = names.map((_, i) => spread(sweep, i));
  const wanted = names.map((_, i) => i).filter((i) => expected.includes(names[i]) && differs[i] >= leastSpread);
  if (wanted.length > 0) return wanted.reduce((best, i) => (differs[i] > differs[best] ? i : best));
  for (const least of [leastSpread, 0]) {
    for (const usual of [/p99(?!9).*_(us|ps|ms)$/, /p99/, /fct/, /goodput|busbw|bandwidth/]) {
      const at = names.findIndex((name, i) => usual.test(name) && !name.startsWith('hosts.') && differs[i] >= least);
      if (at >= 0) return at;
    }
  }
  return Math.max(0, differs.indexOf(Math.max(...differs)));
}

export interface Scale {
  low: number;
  high: number;
  log: boolean;
  flat: boolean; // too small a difference for a colour scale
}
export function scaleOf(values: (number | null | undefined)[]): Scale | null {
  const known = values.filter((v): v is number => typeof v === 'number');
  if (known.length === 0) return null;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const flat = high - low <= leastSpread * Math.max(Math.abs(low), Math.abs(high));
  return { low, high, log: low > 0 && high / low > 50, flat };
}
export function share(v: number, scale: Scale): number {
  if (scale.flat) return 0.25;
  return scale.log ? Math.log(v / scale.low) / Math.log(scale.high / scale.low) : (v - scale.low) / (scale.high - scale.low);
}

// Splits "a, b, [1, 2], 'x, y'" at the commas outside brackets and quotes.
export function splitValues(text: string): string[] {
  const out: string[] = [];
  let [part, depth, quote] = ['', 0, ''];
  for (const c of text) {
    if (quote) quote = c === quote ? '' : quote;
    else if (c === '"' || c === "'") quote = c;
    else if (c === '[' || c === '{') ++depth;
    else if (c === ']' || c === '}') --depth;
    if (c === ',' && depth === 0 && !quote) {
      out.push(part.trim());
      part = '';
    } else part += c;
  }
  out.push(part.trim());
  return out.filter((each) => each !== '');
}

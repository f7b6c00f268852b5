// Data that the views of one run share, fetched once: changing the view sends no request twice.
import { get, query } from './api';
import type { Activity, ActivityTotal, Events, Fabric, Flows, Run, SeriesEntry } from './types';

const most = 48; // answers, the most recently used ones
const kept = new Map<string, Promise<unknown>>();
let keptFor = '';

// Runs have changed: a run of the same name may be a different one now. What is known of it stays until its entry says so.
export function forgetEntry() {
  kept.delete('');
}
export function forgetRun() {
  const entry = kept.get('');
  kept.clear();
  if (entry) kept.set('', entry);
}

// An answer for this run, from memory if it was requested before.
export function ofRun<T>(run: string, path: string): Promise<T> {
  if (run !== keptFor) {
    kept.clear();
    keptFor = run;
  }
  let answer = kept.get(path) as Promise<T> | undefined;
  if (answer) kept.delete(path); // to the end: it is the most recently used
  else {
    const asked = (answer = get<T>(`/api/runs/${encodeURIComponent(run)}${path}`));
    asked.catch(() => kept.get(path) === asked && kept.delete(path));
    if (kept.size >= most) kept.delete(kept.keys().next().value!);
  }
  kept.set(path, answer);
  return answer;
}
export const runOf = (run: string) => ofRun<Run>(run, '');
export const fabricOf = (run: string) => ofRun<Fabric>(run, '/fabric');
export const flowsOf = (run: string) => ofRun<Flows>(run, '/flows');
export const seriesOf = (run: string) => ofRun<{ series: SeriesEntry[] }>(run, '/series');
export const eventsOf = (run: string, parameters: Record<string, string | number | undefined> = {}) =>
  ofRun<Events>(run, '/events' + query(parameters));

// The activity of every direction of a link, decoded.
export class Moments {
  bins: number;
  from: number;
  to: number;
  index: Map<string, number>;
  most: number[];
  used: Uint16Array;
  paused: Uint8Array;
  queue: Uint8Array;
  group: Uint8Array;
  constructor(a: Activity) {
    this.bins = a.bins;
    this.from = a.from_ps;
    this.to = a.to_ps;
    this.index = new Map(a.ports.map((port, i) => [port, i]));
    this.most = a.most_queue_B;
    this.used = words(a.used);
    [this.paused, this.queue, this.group] = [bytes(a.paused), bytes(a.queue), bytes(a.group)];
  }
  // The bin of a time: the sample that ends at it or after it.
  bin(at: number): number {
    if (this.bins === 0) return -1;
    return Math.min(this.bins - 1, Math.max(0, Math.floor(((at - this.from) / Math.max(1, this.to - this.from)) * this.bins)));
  }
  get step(): number {
    return (this.to - this.from) / Math.max(1, this.bins);
  }
}
export const WHOLE_LINE = 65535; // of `used`
export const XOFF = 200; // of `group`: it holds as much as its limit is at that time
function words(text: string): Uint16Array {
  const low = bytes(text);
  const out = new Uint16Array(low.length >> 1);
  for (let i = 0; i < out.length; ++i) out[i] = low[2 * i] | (low[2 * i + 1] << 8);
  return out;
}
function bytes(text: string): Uint8Array {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) out[i] = raw.charCodeAt(i);
  return out;
}
export async function momentsOf(run: string, bins: number, from?: number, to?: number): Promise<Moments> {
  return new Moments(await ofRun<Activity>(run, '/activity' + query({ bins, from_ps: from, to_ps: to })));
}

// The number of bins of an overview.
export const stripBins = (run: Run) => Math.max(1, Math.min(600, samplesOf(run)));
export const totalOf = (run: string, bins: number) => ofRun<ActivityTotal>(run, '/activity/total' + query({ bins }));

const samplesOf = (run: Run) => (run.sample_interval_ps > 0 ? Math.ceil(run.end_ps / run.sample_interval_ps) : 400);
// The number of bins that the fabric keeps in memory: a thousand hosts have 6,000 directions.
export function binsFor(links: number, run: Run): number {
  return Math.max(1, Math.min(samplesOf(run), 600, Math.max(100, Math.floor(1_200_000 / Math.max(1, 2 * links)))));
}

// A job prepared for drawing: spans of each rank in typed arrays, sorted by time, so that drawing reads only what is visible.
import type { Flows, Job } from '../lib/types';

export interface Window {
  from: number;
  to: number;
}
// Sorted, without overlap.
export interface Spans {
  from: Float64Array;
  to: Float64Array;
  kind: Uint8Array;
  name: Uint32Array;
}
export interface Track {
  rank: number;
  name: string;
  spans: Spans;
}
export interface Timeline {
  job: Job;
  whole: Window;
  hostOf: string[]; // by rank
  states: Spans[]; // by rank: compute, exposed, wait
  beside: Spans[]; // by rank: communication, overlapping spans merged
  tracks: Track[];
}
export const kinds = { compute: 0, communication: 1, exposed: 2, wait: 3 };

interface Columns {
  kind: number[];
  name?: number[];
  from_ps: number[];
  to_ps: number[];
}
// Splits the rows of columns by `place`, each part in order of time.
function divide(columns: Columns, place: number[], places: number): Spans[] {
  const counts = new Uint32Array(places);
  for (const at of place) if (at < places) ++counts[at];
  const order: Uint32Array[] = Array.from(counts, (count) => new Uint32Array(count));
  counts.fill(0);
  for (let i = 0; i < place.length; ++i) if (place[i] < places) order[place[i]][counts[place[i]]++] = i;
  return order.map((own) => {
    own.sort((a, b) => columns.from_ps[a] - columns.from_ps[b] || a - b);
    return {
      from: Float64Array.from(own, (i) => columns.from_ps[i]),
      to: Float64Array.from(own, (i) => columns.to_ps[i]),
      kind: Uint8Array.from(own, (i) => columns.kind[i]),
      name: Uint32Array.from(own, (i) => columns.name?.[i] ?? 0),
    };
  });
}

function united(all: Spans[]): Spans {
  const spans = all.flatMap((own) => Array.from(own.from, (from, i) => [from, own.to[i]] as [number, number]));
  spans.sort((a, b) => a[0] - b[0]);
  const out: [number, number][] = [];
  for (const span of spans) {
    const last = out[out.length - 1];
    if (last && span[0] <= last[1]) last[1] = Math.max(last[1], span[1]);
    else out.push([span[0], span[1]]);
  }
  return {
    from: Float64Array.from(out, (span) => span[0]), to: Float64Array.from(out, (span) => span[1]),
    kind: new Uint8Array(out.length).fill(kinds.communication), name: new Uint32Array(out.length),
  };
}

export function timelineOf(job: Job): Timeline {
  let to = Math.max(job.from_ps + 1, job.to_ps);
  for (const step of job.steps) to = Math.max(to, step.to_ps);
  for (const t of job.states.to_ps) if (t > to) to = t;
  const hostOf: string[] = [];
  for (const track of job.tracks) hostOf[track.rank] = track.host;
  for (const own of job.rank) hostOf[own.rank] = own.host;
  const spans = divide(job.slices, job.slices.track, job.tracks.length);
  const talk: Spans[][] = Array.from({ length: job.ranks }, () => []);
  job.tracks.forEach((track, i) => {
    if (track.name !== 'compute' && track.rank < job.ranks) talk[track.rank].push(spans[i]);
  });
  return {
    job, hostOf, whole: { from: job.from_ps, to },
    states: divide(job.states, job.states.rank, job.ranks),
    beside: talk.map(united),
    tracks: job.tracks.map((track, i) => ({ rank: track.rank, name: track.name, spans: spans[i] })),
  };
}

// The first span that ends after `at`.
export function firstAfter(spans: Spans, at: number): number {
  let [low, high] = [0, spans.to.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans.to[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
export function spanAt(spans: Spans, at: number): number {
  const i = firstAfter(spans, at);
  return i < spans.from.length && spans.from[i] <= at ? i : -1;
}

// The tracks of a rank, compute first.
export function tracksOf(timeline: Timeline, rank: number): Track[] {
  return timeline.tracks
    .filter((track) => track.rank === rank)
    .sort((a, b) => Number(b.name === 'compute') - Number(a.name === 'compute') || a.name.localeCompare(b.name, 'en', { numeric: true }));
}

export const portsOf = (job: Job, rank: number): string[] => job.rank.find((own) => own.rank === rank)?.ports ?? [];

// Flows of the job from or to the ports of a rank, those that it sends first. With a group, flows between its members.
export function flowsOfRank(job: Job, flows: Flows, rank: number, group?: string): number[] {
  const own = new Set(portsOf(job, rank));
  const peers = new Set(
    job.tracks.filter((track) => track.name === group && track.rank !== rank).flatMap((track) => portsOf(job, track.rank)),
  );
  const among = (port: string) => group === undefined || peers.has(port);
  const found: number[] = [];
  const received: number[] = [];
  flows.id.forEach((_, i) => {
    if (flows.workload[i] !== job.workload) return;
    if (own.has(flows.source[i]) && among(flows.destination[i])) found.push(i);
    else if (own.has(flows.destination[i]) && among(flows.source[i])) received.push(i);
  });
  return [...found, ...received];
}

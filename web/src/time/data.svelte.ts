// The data of the time view: lists for the whole run, and for the visible range only what is drawn, one point per pixel.
// A new range is fetched again.
import { get, query } from '../lib/api';
import { meanRate } from '../lib/counters';
import { cursor } from '../lib/cursor.svelte';
import { kindOrder } from '../lib/draw';
import { latest } from '../lib/latest';
import { seriesData } from '../lib/pieces';
import { eventsOf, fabricOf, flowsOf, runOf, seriesOf, stripBins, totalOf } from '../lib/run-data.svelte';
import type { ActivityTotal, Fabric, Flows, Packet, Run, RunEvent, SeriesData, SeriesEntry } from '../lib/types';
import type { Group } from './groups';

export const close = 100e6; // ps: below 100 us single packets are shown

export class TimeData {
  about = $state.raw<Run | null>(null);
  fabric = $state.raw<Fabric | null>(null);
  flows = $state.raw<Flows | null>(null);
  series = $state.raw<SeriesEntry[]>([]);
  total = $state.raw<ActivityTotal | null>(null);
  events = $state.raw<RunEvent[]>([]); // of the run
  shown = $state.raw<RunEvent[]>([]); // of the range
  leftOut = $state(0);
  notRecorded = $state(0);
  lines = $state.raw<Map<string, SeriesData>>(new Map());
  pauses = $state.raw<Map<string, SeriesData>>(new Map());
  packets = $state.raw<Packet[]>([]);
  private problems = $state({ run: '', range: '', packets: '' });
  private request = latest();
  private packetRequest = latest();

  constructor(private run: string) {}

  get problem(): string {
    return this.problems.run || this.problems.range || this.problems.packets;
  }

  async open() {
    try {
      const [r, f] = await Promise.all([runOf(this.run), fabricOf(this.run)]);
      cursor.open(r.end_ps, r.sample_interval_ps);
      [this.about, this.fabric] = [r, f];
      flowsOf(this.run).then((x) => (this.flows = x), () => {});
      const kinds = kindOrder.filter((k) => k !== 'pause').join(',');
      eventsOf(this.run, { kinds, limit: 5000 }).then((e) => (this.events = e.events), () => {});
      if (!r.has.series) {
        this.problems.run = 'This run has no series: run the lab with --set sample=auto to see it over time.';
        return;
      }
      seriesOf(this.run).then((s) => (this.series = s.series), (e: Error) => (this.problems.run = e.message));
      totalOf(this.run, stripBins(r)).then((t) => (this.total = t), () => {});
    } catch (e) {
      this.problems.run = (e as Error).message;
    }
  }

  // Fetches the visible range. Answers to older requests are dropped.
  fetch(from: number, to: number, groups: Group[], lanes: SeriesEntry[], points: number): () => void {
    const isLatest = this.request();
    const range = from <= 0 && to >= cursor.end ? {} : { from_ps: from, to_ps: to };
    const ask = async (entries: SeriesEntry[], rate: boolean, into: (list: SeriesData[]) => void) => {
      if (entries.length === 0) return;
      const series = await seriesData(this.run, entries.map((e) => e.id), { ...range, points: rate ? Math.ceil(points / 3) : points });
      if (isLatest()) into(rate ? series.map(meanRate) : series);
    };
    const keep = (list: SeriesData[]) => (this.lines = new Map([...this.lines, ...list.map((s) => [s.id, s] as const)]));
    const timer = setTimeout(async () => {
      try {
        await Promise.all([
          ask(groups.filter((g) => !g.rate).flatMap((g) => g.entries), false, keep),
          ask(groups.filter((g) => g.rate).flatMap((g) => g.entries), true, keep),
          ask(lanes, true, (list) => (this.pauses = new Map(list.map((s) => [s.id, s])))),
          eventsOf(this.run, { ...range, limit: 4000 }).then((e) => {
            if (isLatest()) [this.shown, this.leftOut, this.notRecorded] = [e.events, e.left_out, e.not_recorded];
          }),
        ]);
        if (isLatest()) this.problems.range = '';
      } catch (e) {
        if (isLatest()) this.problems.range = (e as Error).message;
      }
    }, 60);
    return () => clearTimeout(timer);
  }

  // Single packets, if there is a capture.
  fetchPackets(from: number, to: number): (() => void) | undefined {
    const isLatest = this.packetRequest();
    if (!this.about?.has.packets || to - from > close) {
      [this.packets, this.problems.packets] = [[], ''];
      return undefined;
    }
    const timer = setTimeout(async () => {
      try {
        const answer = await get<{ packets: Packet[] }>(`/api/runs/${encodeURIComponent(this.run)}/packets${query({ from_ps: from, limit: 1000 })}`);
        if (isLatest()) [this.packets, this.problems.packets] = [answer.packets.filter((p) => p.time_ps >= from && p.time_ps <= to), ''];
      } catch (e) {
        if (isLatest()) this.problems.packets = (e as Error).message;
      }
    }, 150);
    return () => clearTimeout(timer);
  }
}

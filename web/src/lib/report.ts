// Answers in a one-file report (`weft report DIR --html`). Requests with parameters are answered from the data in the
// report: series have a fixed number of points, and only some packets are included.
import { ApiError } from './api-error';
import type { Events, Packet, PacketPage, SeriesData } from './types';

type Answers = Record<string, unknown>;
const base = '/api/runs/run';

export function fromReport(answers: Answers, address: string): unknown {
  if (address in answers) return answers[address];
  const [path, search] = [address.split('?')[0], address.split('?')[1] ?? ''];
  const asked = new URLSearchParams(search);
  const number = (name: string, otherwise: number) => (asked.has(name) ? Number(asked.get(name)) : otherwise);
  const [from, to] = [number('from_ps', 0), number('to_ps', Infinity)];
  if (path === `${base}/series/data`) return seriesData(answers[path] as { series: SeriesData[] } | undefined, (asked.get('match') ?? '').split(','), from, to);
  const whole = answers[path];
  if (whole === undefined) return undefined;
  if (path === `${base}/events`) return events(whole as Events, asked.get('kinds'), from, to, number('limit', 2000));
  if (path === `${base}/packets`) return packets(whole as PacketPage, asked.get('filter') ?? '', from, number('offset', 0), number('limit', 200));
  return whole; // activity and paths: all of it
}

// A name of a series, its metric, or a pattern with * and ?.
function isMatch(id: string, wanted: string): boolean {
  if (id === wanted || id.slice(id.lastIndexOf('.') + 1) === wanted) return true;
  if (!/[*?]/.test(wanted)) return false;
  const pattern = wanted.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*').replaceAll('?', '.');
  return new RegExp(`^${pattern}$`).test(id);
}

// Also one point before and after the range, so that lines reach its ends. Counters are as they were sampled; the page
// computes their rates.
function seriesData(all: { series: SeriesData[] } | undefined, match: string[], from: number, to: number) {
  const cut = (s: SeriesData): SeriesData => {
    let first = s.t_ps.findIndex((t) => t >= from);
    let last = s.t_ps.findIndex((t) => t > to);
    first = Math.max(0, (first < 0 ? s.t_ps.length : first) - 1);
    last = last < 0 ? s.t_ps.length : last + 1;
    return { ...s, t_ps: s.t_ps.slice(first, last), min: s.min.slice(first, last), max: s.max.slice(first, last) };
  };
  return { series: (all?.series ?? []).filter((s) => match.some((wanted) => isMatch(s.id, wanted))).map(cut) };
}

function events(all: Events, kinds: string | null, from: number, to: number, limit: number): Events {
  const wanted = kinds ? new Set(kinds.split(',')) : null;
  const found = all.events.filter((e) => e.last_ps >= from && e.time_ps <= to && (!wanted || wanted.has(e.kind)));
  return { ...all, events: found.slice(0, limit), left_out: all.left_out + Math.max(0, found.length - limit) };
}

// The report has the first packets of the capture and those around findings and events. The words of a filter are searched
// for in the line; fields (port==) and `or` need the server and are errors here.
function packets(all: PacketPage, filter: string, from: number, offset: number, limit: number): PacketPage {
  const rows = all.packets;
  if (filter === '') {
    let first = offset;
    if (from > 0) {
      first = rows.findIndex((p) => p.time_ps >= from);
      if (first < 0) first = rows.length;
    }
    return { ...all, packets: rows.slice(first, first + limit), first, next: first + limit < rows.length ? first + limit : null };
  }
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const odd = words.find((word) => /[=<>()!&|"]/.test(word) || word === 'or' || word === 'not');
  if (odd) throw new ApiError([{ message: `'${odd}': filters of a report are plain words`, remedy: 'write words such as ce, cnp or 10.0.0.2; weft serve supports all filters' }], 400);
  const line = (p: Packet) => `${p.flags.join(' ')} ${p.port} ${p.source} ${p.destination} ${p.protocol} ${p.info} ${p.comment}`.toLowerCase();
  const found = rows.filter((p) => words.every((w) => w === 'and' || line(p).includes(w)));
  return { ...all, packets: found, first: 0, next: null };
}

// Drawing the timeline of a job: one row for each rank, or for each track of one rank, on a canvas. Compute is solid,
// exposed communication hatched, waiting a thin line; communication beside compute is a line below it.
import type { Job } from '../lib/types';
import { moment } from '../lib/units';

export interface Window {
  from: number;
  to: number;
}
export interface Look {
  ink: string;
  soft: string;
  line: string;
  paper: string;
  compute: string;
  exposed: string;
  beside: string;
  select: string;
}

export function look(): Look {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const named = (name: string) => {
    const value = colour(name);
    return value.startsWith('var(') ? colour(value.slice(4, -1)) : value;
  };
  return {
    ink: named('--ink'), soft: named('--soft'), line: named('--line'), paper: named('--paper'), compute: named('--accent'),
    exposed: named('--mark'), beside: named('--well'), select: named('--select'),
  };
}

export const left = 96; // of the labels
export const axis = 20; // height

function hatch(context: CanvasRenderingContext2D, colour: string, paper: string): CanvasPattern {
  const tile = new OffscreenCanvas(6, 6);
  const own = tile.getContext('2d')!;
  own.fillStyle = paper;
  own.fillRect(0, 0, 6, 6);
  own.strokeStyle = colour;
  own.lineWidth = 2.4;
  for (const shift of [-6, 0, 6]) {
    own.beginPath();
    own.moveTo(shift - 1, 7);
    own.lineTo(shift + 7, -1);
    own.stroke();
  }
  return context.createPattern(tile, 'repeat')!;
}

// A canvas of that size in CSS pixels, sharp on any screen.
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d')!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = '11px system-ui, "DejaVu Sans", sans-serif';
  context.textBaseline = 'middle';
  return context;
}

export function ticks(window: Window, width: number): number[] {
  const span = window.to - window.from;
  const rough = span / Math.max(2, Math.floor(width / 110));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const out = [];
  for (let t = Math.ceil(window.from / step) * step; t <= window.to; t += step) out.push(t);
  return out;
}

export function drawAxis(context: CanvasRenderingContext2D, colours: Look, window: Window, width: number, height: number, steps: Job['steps']) {
  const x = (t: number) => left + ((t - window.from) / (window.to - window.from)) * (width - left);
  context.fillStyle = colours.soft;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.textAlign = 'left';
  for (const t of ticks(window, width - left)) {
    context.beginPath();
    context.moveTo(x(t), axis - 5);
    context.lineTo(x(t), height);
    context.stroke();
    const text = moment(t, window.to - window.from);
    if (x(t) + 3 + context.measureText(text).width < width) context.fillText(text, x(t) + 3, 8);
  }
  context.strokeStyle = colours.soft;
  for (const step of steps) {
    for (const edge of [step.from_ps, step.to_ps]) {
      if (edge < window.from || edge > window.to) continue;
      context.beginPath();
      context.moveTo(x(edge), 0);
      context.lineTo(x(edge), height);
      context.stroke();
    }
  }
}

// Neighbours that share a pixel are drawn once.
export class Bars {
  private ends = new Map<number, number>();
  constructor(private context: CanvasRenderingContext2D, private window: Window, private width: number) {}
  bar(row: number, from: number, to: number, y: number, height: number, fill: string | CanvasPattern) {
    if (to < this.window.from || from > this.window.to) return;
    const scale = (this.width - left) / (this.window.to - this.window.from);
    const begin = left + Math.max(0, (from - this.window.from) * scale);
    const end = Math.min(this.width, Math.max(begin + 0.7, left + (to - this.window.from) * scale));
    const last = this.ends.get(row) ?? -1;
    if (end <= last) return;
    this.ends.set(row, end);
    this.context.fillStyle = fill;
    this.context.fillRect(Math.max(begin, last), y, end - Math.max(begin, last), height);
  }
}

export function drawRanks(canvas: HTMLCanvasElement, job: Job, window: Window, width: number, rowHeight: number, chosen: number | undefined) {
  const colours = look();
  const height = axis + job.ranks * rowHeight + 2;
  const context = prepare(canvas, width, height);
  drawAxis(context, colours, window, width, height, job.steps);
  const pattern = hatch(context, colours.exposed, colours.paper);
  const y = (rank: number) => axis + rank * rowHeight;
  const thick = rowHeight >= 8 ? rowHeight - 5 : Math.max(1, rowHeight - 1);
  if (chosen !== undefined) {
    context.fillStyle = colours.select;
    context.fillRect(0, y(chosen), width, rowHeight);
  }
  const bars = new Bars(context, window, width);
  const { rank, kind, from_ps, to_ps } = job.states;
  for (let i = 0; i < rank.length; ++i) {
    const what = job.kinds[kind[i]];
    const row = rank[i] * 4 + kind[i];
    if (what === 'compute') bars.bar(row, from_ps[i], to_ps[i], y(rank[i]) + 0.5, thick, colours.compute);
    else if (what === 'exposed') bars.bar(row, from_ps[i], to_ps[i], y(rank[i]) + 0.5, rowHeight >= 5 ? thick : Math.max(1, thick / 2), rowHeight >= 5 ? pattern : colours.exposed);
    else if (rowHeight >= 8) bars.bar(row, from_ps[i], to_ps[i], y(rank[i]) + thick / 2, 1, colours.soft);
  }
  if (rowHeight >= 8) {
    const s = job.slices;
    for (let i = 0; i < s.track.length; ++i) {
      if (job.kinds[s.kind[i]] !== 'communication') continue;
      const own = job.tracks[s.track[i]].rank;
      bars.bar(own * 4 + 1, s.from_ps[i], s.to_ps[i], y(own) + thick + 1, 2, colours.beside);
    }
  }
  drawLabels(context, colours, job, rowHeight);
}

// A label for each rank, or where rows are thin for each host, or where those are thin for some.
function drawLabels(context: CanvasRenderingContext2D, colours: Look, job: Job, rowHeight: number) {
  context.fillStyle = colours.ink;
  context.textAlign = 'right';
  const hosts: { host: string; first: number; last: number }[] = [];
  const hostOf: string[] = [];
  for (const track of job.tracks) hostOf[track.rank] = track.host;
  for (const own of job.rank) hostOf[own.rank] = own.host;
  for (let rank = 0; rank < job.ranks; ++rank) {
    const host = hostOf[rank] ?? '';
    const last = hosts[hosts.length - 1];
    if (last && last.host === host) last.last = rank;
    else hosts.push({ host, first: rank, last: rank });
  }
  if (rowHeight >= 11) {
    for (let rank = 0; rank < job.ranks; ++rank)
      context.fillText(`${hostOf[rank] ?? ''} rank ${rank}`.trim(), left - 6, axis + (rank + 0.5) * rowHeight);
    return;
  }
  let free = 0;
  for (const host of hosts) {
    const middle = axis + ((host.first + host.last + 1) / 2) * rowHeight;
    context.fillStyle = colours.line;
    context.fillRect(left - 4, axis + host.first * rowHeight + 0.5, 3, Math.max(1, (host.last - host.first + 1) * rowHeight - 1));
    if (middle - 6 < free) continue;
    free = middle + 7;
    context.fillStyle = colours.ink;
    const text = `${host.host} ${host.first}–${host.last}`;
    context.fillText(text, left - 8, middle);
  }
}

export interface Row {
  name: string;
  bars: { from: number; to: number; text: string; kind: string }[];
}

// Named rows with text in their bars: the tracks of one rank, or flows.
export function drawRows(canvas: HTMLCanvasElement, rows: Row[], window: Window, width: number, rowHeight: number) {
  const colours = look();
  const height = axis + rows.length * rowHeight + 2;
  const context = prepare(canvas, width, height);
  drawAxis(context, colours, window, width, height, []);
  const pattern = hatch(context, colours.exposed, colours.paper);
  const scale = (width - left) / (window.to - window.from);
  rows.forEach((row, index) => {
    const y = axis + index * rowHeight;
    const bars = new Bars(context, window, width);
    for (const bar of row.bars) {
      const fill = bar.kind === 'compute' ? colours.compute : bar.kind === 'exposed' ? pattern : colours.beside;
      bars.bar(0, bar.from, bar.to, y + 1, rowHeight - 3, fill);
    }
    context.textAlign = 'left';
    for (const bar of row.bars) {
      if (bar.to < window.from || bar.from > window.to) continue;
      const begin = left + Math.max(0, (bar.from - window.from) * scale);
      const end = Math.min(width, left + (bar.to - window.from) * scale);
      if (end - begin < 30 || context.measureText(bar.text).width > end - begin - 6) continue;
      context.fillStyle = colours.paper;
      context.fillText(bar.text, begin + 3, y + rowHeight / 2);
    }
    context.fillStyle = colours.ink;
    context.textAlign = 'right';
    let name = row.name;
    while (name.length > 3 && context.measureText(name).width > left - 8) name = name.slice(0, -2) + '…';
    context.fillText(name, left - 6, y + rowHeight / 2);
  });
}

// Drawing the timeline of a job on canvases: ranks, tracks of one rank, traffic of ports, flows. Compute is solid, exposed
// communication hatched, waiting a thin line; communication beside compute is a line below it.
import { themed } from '../lib/themed.svelte';
import type { Job } from '../lib/types';
import { tick } from '../lib/units';
import { firstAfter, kinds, type Spans, type Timeline, type Window } from './model';

export interface Look {
  ink: string;
  soft: string;
  line: string;
  paper: string;
  compute: string;
  exposed: string;
  beside: string;
  select: string;
  pause: string;
}

let known: Look | null = null;
let knownVersion = -1;
export function look(): Look {
  if (known !== null && knownVersion === themed.version) return known;
  knownVersion = themed.version;
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const named = (name: string) => {
    const value = colour(name);
    return value.startsWith('var(') ? colour(value.slice(4, -1)) : value;
  };
  known = {
    ink: named('--ink'), soft: named('--soft'), line: named('--line'), paper: named('--paper'), compute: named('--accent'),
    exposed: named('--mark'), beside: named('--well'), select: named('--select'), pause: named('--pause'),
  };
  return known;
}

export const left = 132; // of the labels
export const axis = 20; // height

export function hatch(context: CanvasRenderingContext2D, colour: string, paper: string): CanvasPattern {
  const tile = new OffscreenCanvas(6, 6);
  const own = tile.getContext('2d')!;
  if (paper !== '') {
    own.fillStyle = paper;
    own.fillRect(0, 0, 6, 6);
  }
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

// Clears a canvas of this size in CSS pixels, at the resolution of the screen.
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  const context = canvas.getContext('2d')!;
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.height = `${height}px`;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
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
    const text = tick(t, window.to - window.from);
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

// The visible spans of one kind as bars; neighbours less than a pixel apart are one.
function drawSpans(context: CanvasRenderingContext2D, spans: Spans, kind: number, window: Window, width: number, y: number, height: number) {
  const scale = (width - left) / (window.to - window.from);
  let [begin, end] = [-1, -1];
  for (let i = firstAfter(spans, window.from); i < spans.from.length && spans.from[i] < window.to; ++i) {
    if (spans.kind[i] !== kind) continue;
    const a = left + Math.max(0, (spans.from[i] - window.from) * scale);
    const b = Math.min(width, Math.max(a + 0.7, left + (spans.to[i] - window.from) * scale));
    if (end >= 0 && a - end < 0.5) {
      end = Math.max(end, b);
      continue;
    }
    if (end >= 0) context.fillRect(begin, y, end - begin, height);
    [begin, end] = [a, b];
  }
  if (end >= 0) context.fillRect(begin, y, end - begin, height);
}

export function drawRanks(canvas: HTMLCanvasElement, timeline: Timeline, window: Window, width: number, rowHeight: number, chosen: number | undefined) {
  const colours = look();
  const { job, states, beside } = timeline;
  const height = axis + job.ranks * rowHeight + 2;
  const context = prepare(canvas, width, height);
  drawAxis(context, colours, window, width, height, job.steps);
  const y = (rank: number) => axis + rank * rowHeight;
  const thick = rowHeight >= 8 ? rowHeight - 5 : Math.max(1, rowHeight - 1);
  if (chosen !== undefined) {
    context.fillStyle = colours.select;
    context.fillRect(0, y(chosen), width, rowHeight);
  }
  const all = (fill: string | CanvasPattern, own: Spans[], kind: number, from: number, size: number) => {
    context.fillStyle = fill;
    for (let rank = 0; rank < job.ranks; ++rank) drawSpans(context, own[rank], kind, window, width, y(rank) + from, size);
  };
  all(colours.compute, states, kinds.compute, 0.5, thick);
  if (rowHeight >= 5) all(hatch(context, colours.exposed, colours.paper), states, kinds.exposed, 0.5, thick);
  else all(colours.exposed, states, kinds.exposed, 0.5, Math.max(1, thick / 2));
  if (rowHeight >= 8) {
    all(colours.soft, states, kinds.wait, thick / 2, 1);
    all(colours.beside, beside, kinds.communication, thick + 1, 2);
  }
  if (chosen !== undefined) {
    context.strokeStyle = colours.ink;
    context.strokeRect(0.5, y(chosen) + 0.5, width - 1, Math.max(1, rowHeight - 1));
  }
  drawLabels(context, colours, timeline, rowHeight);
}

// A label for each rank; for each host if rows are thin; for some hosts if those are thin too.
function drawLabels(context: CanvasRenderingContext2D, colours: Look, timeline: Timeline, rowHeight: number) {
  const { job, hostOf } = timeline;
  context.fillStyle = colours.ink;
  context.textAlign = 'right';
  if (rowHeight >= 11) {
    for (let rank = 0; rank < job.ranks; ++rank)
      context.fillText(`${hostOf[rank] ?? ''} rank ${rank}`.trim(), left - 6, axis + (rank + 0.5) * rowHeight);
    return;
  }
  const hosts: { host: string; first: number; last: number }[] = [];
  for (let rank = 0; rank < job.ranks; ++rank) {
    const host = hostOf[rank] ?? '';
    const last = hosts[hosts.length - 1];
    if (last && last.host === host) last.last = rank;
    else hosts.push({ host, first: rank, last: rank });
  }
  let free = 0;
  for (const host of hosts) {
    const middle = axis + ((host.first + host.last + 1) / 2) * rowHeight;
    context.fillStyle = colours.line;
    context.fillRect(left - 4, axis + host.first * rowHeight + 0.5, 3, Math.max(1, (host.last - host.first + 1) * rowHeight - 1));
    if (middle - 6 < free) continue;
    free = middle + 7;
    context.fillStyle = colours.ink;
    context.fillText(`${host.host} ${host.first}–${host.last}`, left - 8, middle);
  }
}

export function drawName(context: CanvasRenderingContext2D, colours: Look, name: string, y: number) {
  context.fillStyle = colours.ink;
  context.textAlign = 'right';
  let text = name;
  while (text.length > 3 && context.measureText(text).width > left - 8) text = text.slice(0, -2) + '…';
  context.fillText(text, left - 6, y);
}

// The tracks of one rank, with names in their bars.
export function drawTracks(canvas: HTMLCanvasElement, timeline: Timeline, tracks: { name: string; spans: Spans }[], window: Window, width: number, rowHeight: number) {
  const colours = look();
  const height = axis + tracks.length * rowHeight + 2;
  const context = prepare(canvas, width, height);
  drawAxis(context, colours, window, width, height, []);
  const scale = (width - left) / (window.to - window.from);
  tracks.forEach((track, index) => {
    const y = axis + index * rowHeight;
    for (const [kind, fill] of [[kinds.compute, colours.compute], [kinds.communication, colours.beside]] as [number, string][]) {
      context.fillStyle = fill;
      drawSpans(context, track.spans, kind, window, width, y + 1, rowHeight - 3);
    }
    context.textAlign = 'left';
    context.fillStyle = colours.paper;
    const { from, to, name } = track.spans;
    for (let i = firstAfter(track.spans, window.from); i < from.length && from[i] < window.to; ++i) {
      const begin = left + Math.max(0, (from[i] - window.from) * scale);
      const end = Math.min(width, left + (to[i] - window.from) * scale);
      if (end - begin > 2) context.fillRect(end - 1, y + 1, 1, rowHeight - 3);
      const text = timeline.job.names[name[i]] ?? '';
      if (end - begin < 30 || context.measureText(text).width > end - begin - 6) continue;
      context.fillText(text, begin + 3, y + rowHeight / 2);
    }
    drawName(context, colours, track.name, y + rowHeight / 2);
  });
}

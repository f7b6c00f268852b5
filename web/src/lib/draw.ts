// The functions that draw all symbols; the fabric, the plots and the legend's samples use the same ones.
//
//   utilisation  width and a sequential scale        pause   hatching, with the class as label
//   ECN, CNP     amber ticks                         loss    a red cross
//   fault        a flag                              queue   a bar at its port; XOFF, XON and ECN thresholds are lines
//   retransmission  a circular arrow
import palette from './palette.json';
import type { RunEvent } from './types';

export type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

export interface Theme {
  dark: boolean;
  paper: string;
  raised: string;
  line: string;
  ink: string;
  soft: string;
  accent: string;
  select: string;
  loss: string;
  mark: string;
  markInk: string; // of text
  pause: string;
  fault: string;
  font: string;
  scale: string[]; // of utilisation, 0 to 100 % in equal steps
}

// The utilisation scale goes from light to dark in the light theme and from dark to light in the dark theme, so that busy
// links stand out. Its lightness is monotonic, so that it is readable without colour; tests/colours.test.mjs checks that.
let known: Theme | undefined;
let knownAs = '';
export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const paper = style.getPropertyValue('--paper').trim();
  if (known && knownAs === paper) return known;
  const get = (name: string) => {
    let text = style.getPropertyValue(name).trim();
    for (let m = text.match(/^var\((--[\w-]+)\)$/); m; m = text.match(/^var\((--[\w-]+)\)$/)) text = style.getPropertyValue(m[1]).trim();
    return text;
  };
  const dark = parseInt(paper.slice(1, 3), 16) < 128;
  knownAs = paper;
  known = {
    dark, paper, raised: get('--raised'), line: get('--line'), ink: get('--ink'), soft: get('--soft'), accent: get('--accent'),
    select: get('--select'), loss: get('--loss'), mark: get('--mark'), markInk: get('--mark-ink'), pause: get('--pause'), fault: get('--fault'),
    font: style.getPropertyValue('--sans'), scale: palette[dark ? 'dark' : 'light'].scale,
  };
  hatches.clear();
  return known;
}

// Styles of lines. Four colours that differ for people with any kind of colour vision, and by lightness without colour;
// the next four are dashed as well, and so on.
const dashes = [[], [7, 3], [2, 2], [9, 3, 2, 3]];
export interface LineStyle {
  colour: string;
  dash: number[];
}
export function lineStyle(index: number, t: Theme): LineStyle {
  const groups = palette[t.dark ? 'dark' : 'light'].lines;
  return { colour: groups[Math.floor(index / 4) % 2][index % 4], dash: dashes[Math.floor(index / 4) % 4] };
}

// Flows have colours that are not in the utilisation scale.
export function flowStyle(index: number, t: Theme): LineStyle {
  return { colour: palette[t.dark ? 'dark' : 'light'].flows[index % 4], dash: dashes[Math.floor(index / 4) % 4] };
}

export const steps = 9;
export function step(share: number): number {
  return Math.min(steps - 1, Math.max(0, Math.ceil(share * (steps - 1))));
}
export function linkWidth(share: number, most: number): number {
  return share <= 0 ? 1 : 1.5 + (most - 1.5) * Math.min(1, share);
}

// One direction of a link, hatched from its sender by the share of time that it was paused.
export function direction(c: Context, t: Theme, x0: number, y0: number, x1: number, y1: number, used: number, paused: number, most = 6) {
  c.lineCap = 'butt';
  c.strokeStyle = t.scale[step(used)];
  c.lineWidth = linkWidth(used, most);
  c.beginPath();
  c.moveTo(x0, y0);
  c.lineTo(x1, y1);
  c.stroke();
  if (paused > 0) hatchLine(c, t, x0, y0, x0 + (x1 - x0) * paused, y0 + (y1 - y0) * paused, most + 2);
}

export function hatchLine(c: Context, t: Theme, x0: number, y0: number, x1: number, y1: number, width: number) {
  c.strokeStyle = t.pause;
  c.lineWidth = width;
  c.setLineDash([2, 2.5]);
  c.beginPath();
  c.moveTo(x0, y0);
  c.lineTo(x1, y1);
  c.stroke();
  c.setLineDash([]);
}

const hatches = new Map<string, CanvasPattern>();
export function hatch(c: Context, t: Theme): CanvasPattern {
  const key = t.pause;
  let pattern = hatches.get(key);
  if (!pattern) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const d = tile.getContext('2d')!;
    d.strokeStyle = t.pause;
    d.lineWidth = 1.8;
    for (const shift of [-6, 0, 6]) {
      d.beginPath();
      d.moveTo(shift - 1, 7);
      d.lineTo(shift + 7, -1);
      d.stroke();
    }
    pattern = c.createPattern(tile, 'repeat')!;
    hatches.set(key, pattern);
  }
  return pattern;
}

export function hatchBox(c: Context, t: Theme, x: number, y: number, w: number, h: number) {
  c.fillStyle = hatch(c, t);
  c.fillRect(x, y, w, h);
}

// ECN marks and CNPs: a tick; two for CNPs.
export function tick(c: Context, t: Theme, x: number, y: number, h = 8, two = false) {
  c.strokeStyle = t.mark;
  c.lineWidth = 2;
  c.beginPath();
  for (const shift of two ? [-2, 2] : [0]) {
    c.moveTo(x + shift, y - h / 2);
    c.lineTo(x + shift, y + h / 2);
  }
  c.stroke();
}

export function cross(c: Context, t: Theme, x: number, y: number, r = 4) {
  for (const [colour, width] of [[t.paper, 4.5], [t.loss, 2.2]] as const) {
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.beginPath();
    c.moveTo(x - r, y - r);
    c.lineTo(x + r, y + r);
    c.moveTo(x + r, y - r);
    c.lineTo(x - r, y + r);
    c.stroke();
  }
}

export function flag(c: Context, t: Theme, x: number, y: number, h = 14) {
  c.strokeStyle = c.fillStyle = t.fault;
  c.lineWidth = 1.5;
  c.beginPath();
  c.moveTo(x, y);
  c.lineTo(x, y - h);
  c.stroke();
  c.beginPath();
  c.moveTo(x, y - h);
  c.lineTo(x + h * 0.7, y - h * 0.72);
  c.lineTo(x, y - h * 0.44);
  c.fill();
}

// Retransmission: a circular arrow.
export function again(c: Context, t: Theme, x: number, y: number, r = 4) {
  const [start, end] = [-0.25 * Math.PI, 1.25 * Math.PI]; // clockwise, open at the top
  for (const [colour, width] of [[t.paper, 4], [t.loss, 1.8]] as const) {
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.beginPath();
    c.arc(x, y, r, start, end);
    c.stroke();
  }
  const [hx, hy] = [x + r * Math.cos(end), y + r * Math.sin(end)];
  const h = r * 0.75; // the head points on along the circle, up and to the right
  c.fillStyle = t.loss;
  c.beginPath();
  c.moveTo(hx + h, hy - h);
  c.lineTo(hx - h * 0.8, hy - h * 0.8);
  c.lineTo(hx + h * 0.8, hy + h * 0.8);
  c.fill();
}

// Queue sizes differ by a factor of a thousand: heights use the square root, so that both the ECN threshold and a full buffer are visible.
export function queueHeight(bytes: number, most: number, height: number): number {
  return most <= 0 ? 0 : height * Math.sqrt(Math.min(1, bytes / most));
}

export interface Thresholds {
  ecn_min_B: number;
  ecn_max_B: number;
}
// The box of a queue with its thresholds, which are static; `up`: it grows upwards from y.
export function queuePlace(c: Context, t: Theme, x: number, y: number, w: number, h: number, up: boolean, most: number, q: Thresholds | null) {
  if (w >= 6) {
    c.fillStyle = t.paper;
    c.fillRect(x, up ? y - h : y, w, h);
    c.strokeStyle = t.line;
    c.lineWidth = 1;
    c.strokeRect(x + 0.5, (up ? y - h : y) + 0.5, w - 1, h - 1);
  }
  if (q) thresholdLines(c, t, x, y, w, h, up, most, q);
}
function thresholdLines(c: Context, t: Theme, x: number, y: number, w: number, h: number, up: boolean, most: number, q: Thresholds) {
  const [s, isThin] = [up ? -1 : 1, w < 6];
  for (const [bytes, dash] of [[q.ecn_min_B, [2, 1.5]], [q.ecn_max_B, []]] as [number, number[]][]) {
    if (bytes <= 0 || bytes > most) continue;
    const at = y + s * queueHeight(bytes, most, h);
    c.strokeStyle = t.mark;
    c.lineWidth = isThin ? 0.6 : 1.2;
    c.setLineDash(dash);
    c.beginPath();
    c.moveTo(x - (isThin ? 0 : 4), at);
    c.lineTo(x + w, at);
    c.stroke();
    c.setLineDash([]);
  }
}
export function queueBar(c: Context, t: Theme, x: number, y: number, w: number, h: number, up: boolean, bytes: number, most: number, q: Thresholds | null = null) {
  if (bytes <= 0) return;
  const size = Math.max(1, queueHeight(bytes, most, h));
  c.fillStyle = palette[t.dark ? 'dark' : 'light'].queue;
  c.globalAlpha = 0.8;
  c.fillRect(x + 1, up ? y - size : y, w - 2, size);
  c.globalAlpha = 1;
  if (q) thresholdLines(c, t, x, y, w, h, up, most, q);
}

// Fill of the ingress priority group of a port: a narrow bar beside its queue, by the limit at which the port asks for
// XOFF, which is the line across. Above it is headroom.
const groupScale = 1.275; // limits in the height of the bar
export const groupWidth = (w: number) => Math.max(2, Math.min(5, w * 0.4));
export function groupPlace(c: Context, t: Theme, x: number, y: number, w: number, h: number, up: boolean) {
  const at = y + ((up ? -1 : 1) * h) / groupScale;
  c.strokeStyle = t.pause;
  c.lineWidth = w < 6 ? 0.8 : 1.4;
  c.beginPath();
  c.moveTo(x + w, at);
  c.lineTo(x + w + groupWidth(w) + (w < 6 ? 1 : 3), at);
  c.stroke();
}
export function groupBar(c: Context, t: Theme, x: number, y: number, w: number, h: number, up: boolean, share: number) {
  if (share <= 0) return;
  const size = Math.max(1, (h * Math.min(groupScale, share)) / groupScale);
  const top = up ? y - size : y;
  if (share >= 1) hatchBox(c, t, x + w + 1, top, groupWidth(w), size);
  else {
    c.fillStyle = t.pause;
    c.fillRect(x + w + 1, top, groupWidth(w), size);
  }
  groupPlace(c, t, x, y, w, h, up);
}

// How an event is drawn, and its name.
export const kinds: Record<string, { title: string; sign: 'tick' | 'ticks' | 'cross' | 'flag' | 'hatch' | 'again' | 'dot' }> = {
  fault: { title: 'fault', sign: 'flag' },
  link_down: { title: 'link down', sign: 'flag' },
  link_up: { title: 'link up', sign: 'flag' },
  pfc_storm: { title: 'PFC storm', sign: 'flag' },
  pfc_storm_over: { title: 'PFC storm over', sign: 'flag' },
  watchdog: { title: 'watchdog', sign: 'flag' },
  drop: { title: 'drop', sign: 'cross' },
  timeout: { title: 'timeout', sign: 'cross' },
  nak: { title: 'NAK', sign: 'dot' },
  rnr: { title: 'RNR NAK', sign: 'dot' },
  retransmission: { title: 'retransmission', sign: 'again' },
  ce_mark: { title: 'ECN mark', sign: 'tick' },
  cnp: { title: 'CNP', sign: 'ticks' },
  rate_cut: { title: 'rate cut', sign: 'dot' },
  pause: { title: 'pause', sign: 'hatch' },
};
export const kindOrder = Object.keys(kinds);
export const isFault = (kind: string) => kinds[kind]?.sign === 'flag';

export function eventSign(c: Context, t: Theme, kind: string, x: number, y: number) {
  const sign = kinds[kind]?.sign ?? 'dot';
  if (sign === 'tick' || sign === 'ticks') tick(c, t, x, y, 9, sign === 'ticks');
  else if (sign === 'cross') cross(c, t, x, y, 3.5);
  else if (sign === 'flag') flag(c, t, x, y + 6, 13);
  else if (sign === 'hatch') hatchBox(c, t, x - 3, y - 5, 6, 10);
  else if (sign === 'again') again(c, t, x, y);
  else {
    c.strokeStyle = t.soft;
    c.lineWidth = 1.6;
    c.beginPath();
    c.arc(x, y, 3, 0, 7);
    c.stroke();
  }
}

// A merged event lasts from its first to its last event.
export function eventSpan(c: Context, t: Theme, e: RunEvent, x0: number, x1: number, y: number) {
  const sign = kinds[e.kind]?.sign;
  const colour = sign === 'cross' || sign === 'again' ? t.loss : sign === 'flag' ? t.fault : sign === 'dot' ? t.soft : sign === 'hatch' ? t.pause : t.mark;
  if (x1 - x0 > 2) {
    c.strokeStyle = colour;
    c.globalAlpha = 0.5;
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x0, y);
    c.lineTo(x1, y);
    // A fault has an end.
    if (sign === 'flag') {
      c.moveTo(x1, y - 5);
      c.lineTo(x1, y + 5);
    }
    c.stroke();
    c.globalAlpha = 1;
  }
  eventSign(c, t, e.kind, x0, y);
}

// Sizes a canvas for the screen's resolution; returns its context with CSS pixels as unit.
export function sharpen(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const c = canvas.getContext('2d')!;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  return c;
}

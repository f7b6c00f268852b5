// Paints a scene: the static parts once, and the values of one time over them.
import { cross, eventSign, flag, groupBar, groupPlace, hatchBox, hatchLine, kinds, linkWidth, queueBar, queueHeight, queuePlace, step, steps, type Context, type Theme } from './draw';
import type { Plan } from './fabric-plan';
import { along, far, head, lengthOf, route } from './fabric-route';
import { gutter, type Scene, type Strand } from './fabric-scene';
import { type Moments, WHOLE_LINE, XOFF } from './run-data.svelte';
import type { Fabric, RunEvent } from './types';
import { count, rate } from './units';

export interface Values {
  used: number;
  paused: number;
  busiest: number;
}
export interface Painter {
  plan: Plan;
  scene: Scene;
  moments: Moments | null;
  queueOf: Map<string, Fabric['queues'][number]>;
  groupOf: Map<string, Fabric['groups'][number]>; // of ports that can ask for XOFF
  classesOf: Map<string, string>; // of a port that was paused
  mostQueue: number; // the scale of all bars
  labels: { still: Label[]; now: Label[] }; // texts and their positions
}
export interface Label {
  text: string;
  x: number;
  y: number;
  w: number;
  h: number;
}
// Writes a line of text centred at y, and records its position.
export function write(c: Context, into: Label[], text: string, x: number, y: number) {
  c.textBaseline = 'middle';
  const w = c.measureText(text).width;
  into.push({ text, x: c.textAlign === 'center' ? x - w / 2 : c.textAlign === 'right' ? x - w : x, y: y - 6, w, h: 12 });
  c.fillText(text, x, y);
}
export const overlaps = (a: Label, b: Label) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

export function font(t: Theme, size = 11, weight = 400): string {
  return `${weight} ${size}px ${t.font}`;
}

export function paintStatic(c: Context, t: Theme, p: Painter) {
  const { scene: s } = p;
  const labels: Label[] = (p.labels.still = []);
  c.clearRect(0, 0, s.width, s.height);
  c.fillStyle = t.paper;
  c.fillRect(0, 0, s.width, s.height);
  for (const pod of s.pods) {
    if (pod.label === '' && pod.open) continue;
    c.fillStyle = t.raised;
    c.fillRect(pod.x, pod.y, pod.w, pod.h);
  }
  // Links without traffic.
  c.strokeStyle = t.scale[0];
  c.lineWidth = s.strands.length > 300 ? 0.5 : 1;
  c.beginPath();
  for (const strand of s.strands) {
    if (!strand.seen || strand.cell) continue;
    for (const side of [1, -1]) for (const [i, [x, y]] of route(strand, side).entries()) i === 0 ? c.moveTo(x, y) : c.lineTo(x, y);
  }
  c.stroke();
  c.strokeStyle = t.soft;
  c.lineWidth = 2;
  c.beginPath();
  for (const bus of s.buses) {
    c.moveTo(bus.x0, bus.y);
    c.lineTo(bus.x1, bus.y);
  }
  c.stroke();
  for (const box of s.boxes) {
    c.fillStyle = box.cell && box.node.tier === 0 ? t.scale[0] : t.raised;
    c.strokeStyle = t.soft;
    c.lineWidth = 1;
    if (box.cell && box.node.tier === 0) {
      c.fillRect(box.x, box.y, box.w, box.h);
      continue;
    }
    c.fillRect(box.x, box.y, box.w, box.h);
    c.strokeRect(Math.round(box.x) + 0.5, Math.round(box.y) + 0.5, Math.round(box.w) - 1, Math.round(box.h) - 1);
  }
  for (const q of s.queues) {
    queuePlace(c, t, q.x, q.y, q.w, q.h, q.up, p.mostQueue, p.queueOf.get(q.port) ?? null);
    if (p.groupOf.has(q.port)) groupPlace(c, t, q.x, q.y, q.w, q.h, q.up);
  }
  c.font = font(t);
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  for (const box of s.boxes) {
    if (!box.label) continue;
    c.fillStyle = t.ink;
    const below = box.node.tier === 0 && p.plan.top > 0;
    const { node } = box;
    const y = below ? box.h + 9 : node.tier === 0 || (node.up.length > 0 && node.down.length > 0) ? box.h / 2 + 0.5 : node.up.length === 0 ? 10 : box.h - 10;
    const model = p.plan.top === 0 && node.model !== '' && c.measureText(node.model).width < box.w - 8;
    write(c, labels, node.name, box.x + box.w / 2, box.y + y - (model ? 8 : 0));
    if (model) {
      c.fillStyle = t.soft;
      write(c, labels, node.model, box.x + box.w / 2, box.y + y + 8);
    }
  }
  c.fillStyle = t.soft;
  for (const note of s.notes) write(c, labels, note.text, note.x, note.y);
  for (const pod of s.pods) if (pod.label !== '') write(c, labels, pod.label, pod.x + pod.w / 2, pod.y + pod.h - 8);
  // Names of the tiers, over anything that extends to the left.
  c.fillStyle = t.paper;
  c.fillRect(0, 0, gutter, s.height);
  c.textAlign = 'left';
  for (const tier of s.tiers) {
    c.fillStyle = t.ink;
    write(c, labels, tier.name, 2, tier.y - 7);
    c.fillStyle = t.soft;
    write(c, labels, count(tier.count), 2, tier.y + 7);
  }
}

// Values of the links of one direction of a strand at this time. `shares`: of each link in their total rate.
export function valuesOf(ports: string[], m: Moments | null, bin: number, shares?: ArrayLike<number>): Values {
  if (!m || bin < 0) return { used: 0, paused: 0, busiest: 0 };
  let [used, paused, busiest] = [0, 0, 0];
  const n = ports.length;
  for (let k = 0; k < n; ++k) {
    const i = m.index.get(ports[k]);
    if (i === undefined) continue;
    const u = m.used[i * m.bins + bin];
    used += u * (shares ? shares[k] : 1 / n);
    paused += m.paused[i * m.bins + bin];
    if (u > busiest) busiest = u;
  }
  return n === 0 ? { used: 0, paused: 0, busiest: 0 } : { used: used / WHOLE_LINE, paused: paused / n / 255, busiest: busiest / WHOLE_LINE };
}
export function queueAt(port: string, m: Moments | null, bin: number): number {
  const i = m?.index.get(port);
  return m === null || i === undefined || bin < 0 ? 0 : (m.queue[i * m.bins + bin] / 255) * m.most[i];
}
// Fill of the fullest priority group of a port, by its XOFF limit at that time.
export function groupAt(port: string, m: Moments | null, bin: number): number {
  const i = m?.index.get(port);
  return m === null || i === undefined || bin < 0 ? 0 : m.group[i * m.bins + bin] / XOFF;
}

const where = (ports: string[], m: Moments) => Int32Array.from(ports, (port) => m.index.get(port) ?? -1);
// The share of each link in the rate of its strand: of a full 400G link and an idle 100G link, 80 % is used.
export function sharesOf(links: number[], plan: Plan): Float64Array {
  const total = links.reduce((sum, l) => sum + plan.links[l].rate, 0);
  return Float64Array.from(links, (l) => (total > 0 ? plan.links[l].rate / total : 1 / links.length));
}
const mean = { used: 0, paused: 0 }; // reused, so that a frame allocates nothing
function meanOf(at: Int32Array, shares: Float64Array, m: Moments, bin: number): { used: number; paused: number } {
  mean.used = mean.paused = 0;
  for (let k = 0; k < at.length; ++k) {
    const i = at[k];
    if (i < 0) continue;
    mean.used += m.used[i * m.bins + bin] * shares[k];
    mean.paused += m.paused[i * m.bins + bin];
  }
  mean.used /= WHOLE_LINE;
  mean.paused /= 255 * Math.max(1, at.length);
  return mean;
}

interface Lines {
  path: number[];
}

export function paintMoment(c: Context, t: Theme, p: Painter, bin: number, events: RunEvent[]) {
  const { scene: s, moments: m } = p;
  const labels: Label[] = (p.labels.now = []);
  if (!m || bin < 0) return;
  // Lines of the same colour and width are drawn together: a thousand hosts have thousands of lines.
  const groups = new Map<number, Lines>();
  const stopped: { strand: Strand; side: number; share: number; port: string }[] = [];
  for (const strand of s.strands) {
    if (!strand.seen) continue;
    for (const side of [1, -1] as const) {
      const ports = side === 1 ? strand.up : strand.down;
      if (strand.at?.of !== m) strand.at = { of: m, up: where(strand.up, m), down: where(strand.down, m), shares: sharesOf(strand.links, p.plan) };
      const v = meanOf(side === 1 ? strand.at.up : strand.at.down, strand.at.shares, m, bin);
      if (v.paused > 0.003) stopped.push({ strand, side, share: v.paused, port: ports[0] });
      if (v.used <= 0.002) continue;
      const key = step(v.used) * 1000 + Math.round(strand.most * 10) + (strand.cell ? 500 : 0);
      let lines = groups.get(key);
      if (!lines) groups.set(key, (lines = { path: [] }));
      if (strand.cell) {
        const half = (strand.x1 - strand.x0) / 2;
        lines.path.push(side === 1 ? strand.x0 : strand.x0 + half, strand.y0, half, strand.y1 - strand.y0);
      } else {
        const points = route(strand, side);
        for (let i = 1; i < points.length; ++i) lines.path.push(points[i - 1][0], points[i - 1][1], points[i][0], points[i][1]);
      }
    }
  }
  c.lineCap = 'butt';
  for (const key of [...groups.keys()].sort((a, b) => a - b)) {
    const { path } = groups.get(key)!;
    const at = Math.floor(key / 1000);
    const isCell = key % 1000 >= 500;
    const most = ((key % 1000) - (isCell ? 500 : 0)) / 10;
    if (isCell) {
      c.fillStyle = t.scale[at];
      for (let i = 0; i < path.length; i += 4) c.fillRect(path[i], path[i + 1], path[i + 2], path[i + 3]);
      continue;
    }
    c.strokeStyle = t.scale[at];
    c.lineWidth = linkWidth(at / (steps - 1), most);
    c.beginPath();
    for (let i = 0; i < path.length; i += 4) {
      c.moveTo(path[i], path[i + 1]);
      c.lineTo(path[i + 2], path[i + 3]);
    }
    c.stroke();
  }
  c.font = font(t, 10, 600);
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  for (const { strand, side, share, port } of stopped) {
    if (strand.cell) {
      const half = (strand.x1 - strand.x0) / 2;
      hatchBox(c, t, side === 1 ? strand.x0 : strand.x0 + half, strand.y0, half, strand.y1 - strand.y0);
      continue;
    }
    const points = route(strand, side);
    const length = lengthOf(points);
    const way = head(points, Math.max(share * length, Math.min(length, 5)));
    for (let i = 1; i < way.length; ++i) hatchLine(c, t, way[i - 1][0], way[i - 1][1], way[i][0], way[i][1], strand.most + 2.5);
    const label = p.classesOf.get(port);
    if (label && strand.most > 4.5 && length > 50) {
      const { x, y } = along(points, Math.min(length / 2, 18));
      c.fillStyle = t.paper;
      c.fillRect(x - 5 - label.length, y - 6, 10 + 2 * label.length, 12);
      c.fillStyle = t.pause;
      write(c, labels, label, x, y + 0.5);
    }
  }
  if (s.strands.length <= 6) paintRates(c, t, p, bin, labels);
  for (const q of s.queues) {
    queueBar(c, t, q.x, q.y, q.w, q.h, q.up, queueAt(q.port, m, bin), p.mostQueue, p.queueOf.get(q.port) ?? null);
    groupBar(c, t, q.x, q.y, q.w, q.h, q.up, groupAt(q.port, m, bin));
  }
  for (const w of s.worst) {
    const node = p.plan.nodes[w.node];
    let most = 0;
    for (const l of node.up) most = Math.max(most, queueAt(p.plan.links[l].aPort, m, bin));
    for (const l of node.down) most = Math.max(most, queueAt(p.plan.links[l].bPort, m, bin));
    if (queueHeight(most, p.mostQueue, w.h) > 0.5) queueBar(c, t, w.x, w.y, w.w, w.h, true, most, p.mostQueue);
  }
  paintEvents(c, t, p, events);
}

// With few links: the rate of each direction beside it.
function paintRates(c: Context, t: Theme, p: Painter, bin: number, labels: Label[]) {
  c.font = font(t, 11);
  c.fillStyle = t.ink;
  for (const strand of p.scene.strands) {
    if (!strand.seen || strand.cell || strand.bend !== undefined) continue;
    const isFlat = Math.abs(strand.y1 - strand.y0) < Math.abs(strand.x1 - strand.x0);
    if (lengthOf(route(strand, 1)) < 130) continue;
    for (const side of [1, -1] as const) {
      const v = valuesOf(side === 1 ? strand.up : strand.down, p.moments, bin);
      const { x, y, dx, dy } = along(route(strand, side), lengthOf(route(strand, side)) / 2);
      const away = strand.most / 2 + (isFlat ? 9 : 7);
      c.textAlign = isFlat ? 'center' : -dy > 0 ? 'left' : 'right';
      write(c, labels, rate(v.used * p.plan.links[strand.links[0]].rate), x - dy * away, y + dx * away);
    }
  }
  c.textAlign = 'center';
}

// The symbols of events at their ports, one after the other at each port.
function paintEvents(c: Context, t: Theme, p: Painter, events: RunEvent[]) {
  const done = new Map<string, Set<string>>();
  for (const e of events) {
    if (e.kind === 'pause' || e.kind === 'rate_cut') continue;
    const place = p.scene.places.get(e.port);
    const sign = kinds[e.kind]?.sign ?? 'dot';
    const had = done.get(e.port) ?? new Set();
    if (had.has(sign)) continue;
    had.add(sign);
    done.set(e.port, had);
    if (!place) {
      const node = p.plan.byName.get(e.port.split(':')[0]);
      const box = node === undefined ? undefined : p.scene.boxOf.get(node);
      if (box) eventSign(c, t, e.kind, box.x + box.w - 2, box.y);
      continue;
    }
    const strand = p.scene.strands[place.strand];
    if (!strand.seen) continue;
    if (strand.cell) {
      if (sign === 'tick' || sign === 'ticks') {
        c.fillStyle = t.mark;
        c.fillRect((strand.x0 + strand.x1) / 2 - 1, strand.y1 - Math.min(5, strand.y1 - strand.y0), 2, Math.min(5, strand.y1 - strand.y0));
      } else eventSign(c, t, e.kind, (strand.x0 + strand.x1) / 2, (strand.y0 + strand.y1) / 2);
      continue;
    }
    const points = route(strand, place.up ? 1 : -1);
    const { x, y, dx, dy } = along(points, Math.min(0.45 * lengthOf(points), 9 + 11 * (had.size - 1)));
    if (sign === 'cross') cross(c, t, x, y, 4.5);
    else if (sign === 'flag') {
      c.strokeStyle = t.fault;
      c.lineWidth = 1.5;
      c.setLineDash([6, 5]);
      c.beginPath();
      for (const [i, [px, py]] of route(strand, 1, -strand.most / 2).entries()) i === 0 ? c.moveTo(px, py) : c.lineTo(px, py);
      c.stroke();
      c.setLineDash([]);
      flag(c, t, (strand.x0 + strand.x1) / 2, strand.bend ?? (strand.y0 + strand.y1) / 2, 18);
    } else if (sign === 'tick' || sign === 'ticks') {
      // Across the line, so that it is visible on any of them.
      const [nx, ny] = [-dy, dx];
      c.strokeStyle = t.mark;
      c.lineWidth = 2.2;
      const reach = Math.max(2, Math.min(6, strand.most * 0.8 + 0.7));
      c.beginPath();
      for (const shift of sign === 'ticks' ? [0, 4] : [0]) {
        const [px, py] = [x + dx * shift, y + dy * shift];
        c.moveTo(px - nx * reach, py - ny * reach);
        c.lineTo(px + nx * reach, py + ny * reach);
      }
      c.stroke();
    } else eventSign(c, t, e.kind, x, y);
  }
}

export type Hit = { kind: 'node'; node: number } | { kind: 'strand'; strand: number } | { kind: 'pod'; pod: number } | null;
export function hit(p: Painter, x: number, y: number): Hit {
  const { scene: s } = p;
  const pod = s.pods.find((q) => !q.open && x >= q.x && x <= q.x + q.w && y >= q.y && y <= q.y + q.h);
  for (const box of s.boxes) {
    if (x >= box.x - 1 && x <= box.x + box.w + 1 && y >= box.y - 1 && y <= box.y + box.h + 1) return { kind: 'node', node: box.node.index };
  }
  let [best, found] = [7, -1];
  for (const [i, strand] of s.strands.entries()) {
    if (!strand.seen || strand.cell) continue;
    const distance = far(route(strand, 1, -strand.most / 2), x, y);
    if (distance < best) [best, found] = [distance, i];
  }
  if (found >= 0) return { kind: 'strand', strand: found };
  return pod ? { kind: 'pod', pod: pod.pod } : null;
}

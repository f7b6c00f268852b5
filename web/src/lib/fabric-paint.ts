// Paints a scene: what does not change once, what the moment shows over it.
import { cross, eventSign, flag, hatchBox, hatchLine, kinds, linkWidth, flowStyle, queueBar, queueHeight, queuePlace, step, steps, type Context, type Theme } from './draw';
import type { Plan } from './fabric-plan';
import { gutter, type Scene, type Strand } from './fabric-scene';
import { type Moments, WHOLE_LINE } from './run-data.svelte';
import type { Fabric, RunEvent } from './types';

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
  classesOf: Map<string, string>; // of a port that was paused
  mostQueue: number; // the scale of all bars
}

export function font(t: Theme, size = 11, weight = 400): string {
  return `${weight} ${size}px ${t.font}`;
}

export function paintStatic(c: Context, t: Theme, p: Painter) {
  const { scene: s } = p;
  c.clearRect(0, 0, s.width, s.height);
  c.fillStyle = t.paper;
  c.fillRect(0, 0, s.width, s.height);
  for (const pod of s.pods) {
    if (pod.label === '' && pod.open) continue;
    c.fillStyle = t.raised;
    c.fillRect(pod.x, pod.y, pod.w, pod.h);
  }
  // Links without traffic.
  c.strokeStyle = t.line;
  c.lineWidth = 1;
  c.beginPath();
  for (const strand of s.strands) {
    if (!strand.seen || strand.cell) continue;
    const [ox, oy] = offset(strand, 0.5);
    for (const side of [1, -1]) {
      c.moveTo(strand.x0 + side * ox, strand.y0 + side * oy);
      c.lineTo(strand.x1 + side * ox, strand.y1 + side * oy);
    }
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
  for (const q of s.queues) queuePlace(c, t, q.x, q.y, q.w, q.h, q.up, p.mostQueue, p.queueOf.get(q.port) ?? null);
  c.font = font(t);
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  for (const box of s.boxes) {
    if (!box.label) continue;
    c.fillStyle = t.ink;
    const below = box.node.tier === 0 && p.plan.top > 0;
    const { node } = box;
    const y = below ? box.h + 9 : node.tier === 0 || (node.up.length > 0 && node.down.length > 0) ? box.h / 2 + 0.5 : node.up.length === 0 ? 10 : box.h - 10;
    c.fillText(node.name, box.x + box.w / 2, box.y + y);
  }
  c.fillStyle = t.soft;
  for (const note of s.notes) c.fillText(note.text, note.x, note.y);
  for (const pod of s.pods) if (pod.label !== '') c.fillText(pod.label, pod.x + pod.w / 2, pod.y + pod.h - 8);
  // Names of the tiers, over what sticks out to the left.
  c.fillStyle = t.paper;
  c.fillRect(0, 0, gutter, s.height);
  c.textAlign = 'left';
  for (const tier of s.tiers) {
    c.fillStyle = t.ink;
    c.fillText(tier.name, 2, tier.y - 7);
    c.fillStyle = t.soft;
    c.fillText(tier.count.toLocaleString('en-US'), 2, tier.y + 7);
  }
}

// To the right of the way it goes, so that both directions are seen.
function offset(strand: Strand, extra: number): [number, number] {
  const [dx, dy] = [strand.x1 - strand.x0, strand.y1 - strand.y0];
  const length = Math.hypot(dx, dy) || 1;
  const by = strand.most / 2 + extra;
  return [(-dy / length) * by, (dx / length) * by];
}

// What the links of one direction of a strand do at this moment.
export function valuesOf(ports: string[], m: Moments | null, bin: number): Values {
  if (!m || bin < 0) return { used: 0, paused: 0, busiest: 0 };
  let [used, paused, busiest, n] = [0, 0, 0, 0];
  for (const port of ports) {
    const i = m.index.get(port);
    ++n;
    if (i === undefined) continue;
    const u = m.used[i * m.bins + bin];
    used += u;
    paused += m.paused[i * m.bins + bin];
    if (u > busiest) busiest = u;
  }
  return n === 0 ? { used: 0, paused: 0, busiest: 0 } : { used: used / n / WHOLE_LINE, paused: paused / n / 255, busiest: busiest / WHOLE_LINE };
}
export function queueAt(port: string, m: Moments | null, bin: number): number {
  const i = m?.index.get(port);
  return m === null || i === undefined || bin < 0 ? 0 : (m.queue[i * m.bins + bin] / 255) * m.most[i];
}

const where = (ports: string[], m: Moments) => Int32Array.from(ports, (port) => m.index.get(port) ?? -1);
const mean = { used: 0, paused: 0 }; // one for all, so that a frame makes no garbage
function meanOf(at: Int32Array, m: Moments, bin: number): { used: number; paused: number } {
  mean.used = mean.paused = 0;
  for (const i of at) {
    if (i < 0) continue;
    mean.used += m.used[i * m.bins + bin];
    mean.paused += m.paused[i * m.bins + bin];
  }
  mean.used /= WHOLE_LINE * Math.max(1, at.length);
  mean.paused /= 255 * Math.max(1, at.length);
  return mean;
}

interface Lines {
  path: number[];
}

export function paintMoment(c: Context, t: Theme, p: Painter, bin: number, events: RunEvent[]) {
  const { scene: s, moments: m } = p;
  if (!m || bin < 0) return;
  // Lines of one step and width together: a thousand hosts have thousands.
  const groups = new Map<number, Lines>();
  const stopped: { strand: Strand; side: number; share: number; port: string }[] = [];
  for (const strand of s.strands) {
    if (!strand.seen) continue;
    for (const side of [1, -1] as const) {
      const ports = side === 1 ? strand.up : strand.down;
      const at = (strand.at?.of === m ? strand.at : (strand.at = { of: m, up: where(strand.up, m), down: where(strand.down, m) }))[side === 1 ? 'up' : 'down'];
      const v = meanOf(at, m, bin);
      if (v.paused > 0.003) stopped.push({ strand, side, share: v.paused, port: ports[0] });
      if (v.used <= 0.002) continue;
      const key = step(v.used) * 1000 + Math.round(strand.most * 10) + (strand.cell ? 500 : 0);
      let lines = groups.get(key);
      if (!lines) groups.set(key, (lines = { path: [] }));
      if (strand.cell) {
        const half = (strand.x1 - strand.x0) / 2;
        lines.path.push(side === 1 ? strand.x0 : strand.x0 + half, strand.y0, half, strand.y1 - strand.y0);
      } else {
        const [ox, oy] = offset(strand, 0.5);
        if (side === 1) lines.path.push(strand.x0 + ox, strand.y0 + oy, strand.x1 + ox, strand.y1 + oy);
        else lines.path.push(strand.x1 - ox, strand.y1 - oy, strand.x0 - ox, strand.y0 - oy);
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
    const [x0, y0, x1, y1] = ends(strand, side);
    const length = Math.hypot(x1 - x0, y1 - y0);
    const shown = Math.max(share, Math.min(1, 5 / length));
    hatchLine(c, t, x0, y0, x0 + (x1 - x0) * shown, y0 + (y1 - y0) * shown, strand.most + 2.5);
    const label = p.classesOf.get(port);
    if (label && strand.most > 4.5 && length > 50) {
      const at = Math.min(0.5, 18 / length);
      const [x, y] = [x0 + (x1 - x0) * at, y0 + (y1 - y0) * at];
      c.fillStyle = t.paper;
      c.fillRect(x - 5 - label.length, y - 6, 10 + 2 * label.length, 12);
      c.fillStyle = t.pause;
      c.fillText(label, x, y + 0.5);
    }
  }
  for (const q of s.queues) queueBar(c, t, q.x, q.y, q.w, q.h, q.up, queueAt(q.port, m, bin), p.mostQueue, p.queueOf.get(q.port) ?? null);
  for (const w of s.worst) {
    const node = p.plan.nodes[w.node];
    let most = 0;
    for (const l of node.up) most = Math.max(most, queueAt(p.plan.links[l].aPort, m, bin));
    for (const l of node.down) most = Math.max(most, queueAt(p.plan.links[l].bPort, m, bin));
    if (queueHeight(most, p.mostQueue, w.h) > 0.5) queueBar(c, t, w.x, w.y, w.w, w.h, true, most, p.mostQueue);
  }
  paintEvents(c, t, p, events);
}

function ends(strand: Strand, side: number): [number, number, number, number] {
  const [ox, oy] = offset(strand, 0.5);
  return side === 1
    ? [strand.x0 + ox, strand.y0 + oy, strand.x1 + ox, strand.y1 + oy]
    : [strand.x1 - ox, strand.y1 - oy, strand.x0 - ox, strand.y0 - oy];
}

// The signs of a moment at their ports; the signs of one port stand one behind the other.
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
    const [x0, y0, x1, y1] = ends(strand, place.up ? 1 : -1);
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const along = Math.min(0.45, (9 + 11 * (had.size - 1)) / length);
    const [x, y] = [x0 + (x1 - x0) * along, y0 + (y1 - y0) * along];
    if (sign === 'cross') cross(c, t, x, y, 4.5);
    else if (sign === 'flag') {
      c.strokeStyle = t.fault;
      c.lineWidth = 1.5;
      c.setLineDash([6, 5]);
      c.beginPath();
      c.moveTo(strand.x0, strand.y0);
      c.lineTo(strand.x1, strand.y1);
      c.stroke();
      c.setLineDash([]);
      flag(c, t, (strand.x0 + strand.x1) / 2, (strand.y0 + strand.y1) / 2, 18);
    } else if (sign === 'tick' || sign === 'ticks') {
      // Across the line, so that it is seen on any of them.
      const [nx, ny] = [-(y1 - y0) / length, (x1 - x0) / length];
      c.strokeStyle = t.mark;
      c.lineWidth = 2.2;
      const reach = Math.max(2, Math.min(6, strand.most * 0.8 + 0.7));
      c.beginPath();
      for (const shift of sign === 'ticks' ? [0, 4] : [0]) {
        const [px, py] = [x + ((x1 - x0) / length) * shift, y + ((y1 - y0) / length) * shift];
        c.moveTo(px - nx * reach, py - ny * reach);
        c.lineTo(px + nx * reach, py + ny * reach);
      }
      c.stroke();
    } else eventSign(c, t, e.kind, x, y);
  }
}

// Flows along their paths, each in its colour, with its name at the sender.
export function paintFlows(c: Context, t: Theme, p: Painter, flows: { id: string; path: string[] }[]) {
  const taken: [number, number, number][] = [];
  for (const [i, flow] of flows.entries()) {
    const style = flowStyle(i, t);
    c.beginPath();
    let first: [number, number] | null = null;
    for (const port of flow.path) {
      const place = p.scene.places.get(port);
      if (!place) continue;
      const strand = p.scene.strands[place.strand];
      const [ox, oy] = strand.cell ? [0, 0] : offset(strand, 2.5 + strand.most / 2 + (i % 4) * 2.5);
      const side = place.up ? 1 : -1;
      const points: [number, number][] = strand.cell
        ? [[(strand.x0 + strand.x1) / 2, (strand.y0 + strand.y1) / 2]]
        : [[strand.x0 + side * ox, strand.y0 + side * oy], [strand.x1 + side * ox, strand.y1 + side * oy]];
      if (side === -1) points.reverse();
      for (const [x, y] of points) {
        if (first) c.lineTo(x, y);
        else {
          c.moveTo(x, y);
          first = [x, y];
        }
      }
    }
    if (!first) continue;
    c.lineJoin = 'round';
    c.setLineDash([]);
    c.strokeStyle = t.paper;
    c.lineWidth = 4.5;
    c.stroke();
    c.setLineDash(style.dash);
    c.strokeStyle = style.colour;
    c.lineWidth = 2.2;
    c.stroke();
    c.setLineDash([]);
    c.font = font(t, 11, 600);
    c.textAlign = 'left';
    c.textBaseline = 'middle';
    const width = c.measureText(flow.id).width;
    const [x, y] = [Math.min(first[0] + 5, p.scene.width - width - 4), first[1] - 14];
    if (taken.some(([a, b, w]) => Math.abs(b - y) < 13 && x < a + w && a < x + width)) continue;
    taken.push([x, y, width]);
    c.fillStyle = t.paper;
    c.fillRect(x - 2, y - 7, width + 4, 14);
    c.fillStyle = style.colour;
    c.fillText(flow.id, x, y);
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
    const [dx, dy] = [strand.x1 - strand.x0, strand.y1 - strand.y0];
    const along = Math.min(1, Math.max(0, ((x - strand.x0) * dx + (y - strand.y0) * dy) / (dx * dx + dy * dy || 1)));
    const distance = Math.hypot(x - strand.x0 - along * dx, y - strand.y0 - along * dy);
    if (distance < best) [best, found] = [distance, i];
  }
  if (found >= 0) return { kind: 'strand', strand: found };
  return pod ? { kind: 'pod', pod: pod.pod } : null;
}

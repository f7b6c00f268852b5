// A plan on the screen: boxes and lines in pixels for a part of the width. Nodes and links that do not fit are merged:
// hosts as cells below their leaf, the links of a node to a group as one strand, a mesh within a pod as a bus.
import type { Plan, PlanNode } from './fabric-plan';

export interface Box {
  node: PlanNode;
  x: number; // left
  y: number;
  w: number;
  h: number;
  label: boolean; // has room
  cell: boolean; // a small box, without ports
}
// One line with two directions, for one link or many. `up` are the ports that send from (x0, y0) to (x1, y1).
export interface Strand {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  up: string[];
  down: string[];
  links: number[];
  most: number; // the widest that a direction is drawn
  bend?: number; // it goes up from both ends and across at this height, around what is between them
  at?: { of: object; up: Int32Array; down: Int32Array; shares: Float64Array }; // where the ports are in the moments, and their shares of the rate
  cell: boolean; // drawn as a cell of two halves in the box of (x0, y0) to (x1, y1)
  seen: boolean;
}
export interface PortPlace {
  strand: number;
  up: boolean; // it sends along the strand from its start to its end
}
export interface QueuePlace {
  port: string;
  x: number;
  y: number;
  w: number;
  h: number;
  up: boolean; // grows upwards
}
export interface Scene {
  width: number;
  height: number;
  boxes: Box[];
  boxOf: Map<number, Box>;
  strands: Strand[];
  places: Map<string, PortPlace>;
  queues: QueuePlace[];
  worst: { node: number; x: number; y: number; w: number; h: number }[]; // one bar for all queues of a switch
  pods: { pod: number; x: number; y: number; w: number; h: number; open: boolean; label: string }[];
  notes: { x: number; y: number; text: string }[];
  buses: { x0: number; x1: number; y: number }[];
  portX: Map<string, number>; // where a port is on the edge of its box
  tiers: { y: number; name: string; count: number }[];
  rowY: number[]; // the middle of each tier
}
export interface Part {
  from: number; // 0 to 1 of the plan's width
  to: number;
}

const margin = 12;
export const gutter = 60; // names of the tiers
const narrow = 17; // a switch narrower than this is a cell

export function scene(plan: Plan, width: number, height: number, part: Part, measure: (text: string) => number): Scene {
  const s: Scene = {
    width, height, boxes: [], boxOf: new Map(), strands: [], places: new Map(), queues: [], worst: [], pods: [], notes: [], buses: [], portX: new Map(), tiers: [], rowY: [],
  };
  const inner = width - 2 * margin - gutter;
  // A few hosts are centred.
  const isWhole = part.to - part.from >= 1;
  const unit = Math.min(inner / (plan.width * (part.to - part.from)), isWhole && plan.top > 0 ? 240 : Infinity);
  const used = isWhole ? unit * plan.width : inner;
  const start = gutter + margin + (inner - used) / 2;
  const X = (x: number) => start + (x - plan.width * part.from) * unit;
  const inSight = (left: number, right: number) => right > gutter && left < width;

  // Rows.
  const stacked = unit < 6.5;
  const biggest = Math.max(1, ...plan.hostGroups.map((g) => g.hosts.length));
  const leafPixels = Math.min(...plan.hostGroups.map((g) => (g.to - g.from) * unit), inner);
  const columns = Math.max(1, Math.floor(leafPixels / 9));
  const cellRows = Math.ceil(biggest / columns);
  const cellHeight = Math.max(3, Math.min(16, (height * 0.22) / cellRows));
  const hostBand = plan.top === 0 ? 40 : stacked ? cellRows * cellHeight + 44 : 72;
  const around = Math.min(4, plan.links.filter((l) => plan.nodes[l.a].tier === plan.top && between(plan, l.a, l.b)).length);
  const tallest = Math.max(44, Math.min(130, (height - hostBand - 40) / (Math.max(1, plan.top) * 3)));
  const topY = plan.top === 0 ? height / 2 : Math.max(40 + height * 0.04, tallest / 2 + 8) + (around > 0 ? 18 + 14 * around : 0);
  const bottomY = plan.top === 0 ? height / 2 : height - hostBand;
  const boxHeight = plan.top === 0 ? 64 : Math.max(44, Math.min(130, (bottomY - topY) / (plan.top * 3)));
  const apart = plan.top === 0 ? 0 : Math.min(460, (bottomY - topY) / plan.top);
  const shift = plan.top === 0 ? 0 : Math.max(0, (bottomY - topY - apart * plan.top) / 2);
  for (let tier = 0; tier <= plan.top; ++tier) s.rowY.push(bottomY - shift - tier * apart);
  // Cells are directly below their leaf: their links have no length.
  if (stacked && plan.top > 1) {
    const between = (bottomY - 22 - topY) / (plan.top - 1);
    for (let tier = 1; tier <= plan.top; ++tier) s.rowY[tier] = bottomY - 22 - (tier - 1) * between;
  }

  const tops = plan.nodes.filter((n) => n.tier === plan.top);
  const put = (node: PlanNode, centre: number, w: number, y: number, h: number, cell: boolean) => {
    if (!inSight(centre - w / 2, centre + w / 2)) {
      const box = { node, x: centre - w / 2, y: y - h / 2, w, h, label: false, cell };
      s.boxOf.set(node.index, box);
      return;
    }
    const box = { node, x: centre - w / 2, y: y - h / 2, w, h, label: !cell && measure(node.name) + 4 <= Math.max(w, node.tier === 0 ? unit - 3 : w), cell };
    s.boxes.push(box);
    s.boxOf.set(node.index, box);
  };
  if (plan.pinned) {
    const slot = used / tops.length;
    const sorted = [...tops].sort((a, b) => a.group - b.group || a.index - b.index);
    for (const [i, n] of sorted.entries()) {
      put(n, start + (i + 0.5) * slot, Math.min(slot - Math.min(8, slot * 0.2), 150), s.rowY[plan.top], slot < 30 ? 30 : boxHeight, slot < 30);
    }
  }
  for (const n of plan.nodes) {
    if ((plan.pinned && n.tier === plan.top) || (n.tier === 0 && stacked && plan.top > 0)) continue;
    const slot = n.w * unit;
    if (n.tier === 0) {
      const w = plan.top === 0 ? Math.min(200, slot * 0.4) : Math.min(slot * 0.78, 64);
      put(n, X(n.x), w, plan.top === 0 ? s.rowY[0] : s.rowY[0] + 10, plan.top === 0 ? 64 : 20, false);
    } else {
      const cell = slot < narrow;
      const w = n.spans ? slot : Math.min(slot - Math.min(10, slot * 0.2), 170);
      put(n, X(n.x), w, s.rowY[n.tier], cell ? 26 : boxHeight, cell);
    }
  }
  if (stacked && plan.top > 0) {
    for (const g of plan.hostGroups) {
      const [left, right] = [X(g.from), X(g.to)];
      const per = Math.max(1, Math.min(g.hosts.length, columns));
      const w = (right - left - Math.min(3, (right - left) * 0.2)) / per;
      for (const [i, h] of g.hosts.entries()) {
        const node = plan.nodes[h];
        put(node, left + w * ((i % per) + 0.5), Math.max(1.5, w - 1), s.rowY[0] + cellHeight * (Math.floor(i / per) + 0.5), cellHeight - 1, true);
      }
    }
  }
  // Names in a row: all of them or none.
  for (let tier = 0; tier <= plan.top; ++tier) {
    const row = s.boxes.filter((b) => b.node.tier === tier);
    if (row.some((b) => !b.label)) for (const b of row) b.label = false;
    if (row.length > 0) s.tiers.push({ y: row[0].y + row[0].h / 2, name: commonName(plan, tier), count: plan.nodes.filter((n) => n.tier === tier).length });
  }
  strands(s, plan, unit);
  ports(s, plan);
  podBoxes(s, plan, X, measure, inSight);
  return s;
}

function strands(s: Scene, plan: Plan, unit: number) {
  // `own`: which ports belong to it. A link drawn in two halves, to a bus and from it, has one port at each half.
  const add = (strand: Omit<Strand, 'seen'>, own: 'both' | 'up' | 'down' = 'both') => {
    const seen = Math.max(strand.x0, strand.x1) > gutter && Math.min(strand.x0, strand.x1) < s.width;
    // The top tier is always visible; links to it from nodes that are not visible are hidden.
    const away = plan.pinned && (strand.x0 < gutter || strand.x0 > s.width) && plan.nodes[plan.links[strand.links[0]].b].tier === plan.top;
    const at = s.strands.push({ ...strand, seen: seen && !away }) - 1;
    if (own !== 'down') for (const port of strand.up) s.places.set(port, { strand: at, up: true });
    if (own !== 'up') for (const port of strand.down) s.places.set(port, { strand: at, up: false });
  };
  const many = new Map<string, number[]>(); // links drawn as one strand
  const single: number[] = [];
  // Too many lines between two rows are unreadable: the links of one node to a group are then one line.
  const shown = (index: number) => s.boxOf.get(index)!.x < s.width && s.boxOf.get(index)!.x + s.boxOf.get(index)!.w > gutter;
  const toTop = plan.pinned ? plan.links.filter((l) => plan.nodes[l.b].tier === plan.top && shown(l.a)).length : 0;
  for (const [i, l] of plan.links.entries()) {
    const [a, b] = [s.boxOf.get(l.a)!, s.boxOf.get(l.b)!];
    if (toTop > 100 && b.node.tier === plan.top && a.node.tier > 0) collect(many, `${l.a} group ${b.node.group}`, i);
    else if (a.node.tier === 0 && a.cell) {
      add({ x0: a.x, y0: a.y, x1: a.x + a.w, y1: a.y + a.h, up: [l.aPort], down: [l.bPort], links: [i], most: 0, cell: true });
    } else if (a.node.tier > 0 && a.node.tier < b.node.tier && a.cell) {
      if (plan.pinned && b.node.tier === plan.top) collect(many, `${l.a} group ${b.node.group}`, i);
      else {
        collect(many, `${l.a} bus`, i);
        collect(many, `${l.b} under`, i);
      }
    } else {
      single.push(i);
    }
  }
  // Ports along the edges of boxes, in the order of their peers.
  const place = new Map<string, { x: number; slot: number }>();
  for (const node of plan.nodes) {
    const box = s.boxOf.get(node.index)!;
    for (const [list, isUp] of [[node.up, true], [node.down, false]] as const) {
      const order = list
        .map((l) => ({ l, x: s.boxOf.get(isUp ? plan.links[l].b : plan.links[l].a)! }))
        .sort((p, q) => p.x.x + p.x.w / 2 - q.x.x - q.x.w / 2);
      for (const [i, o] of order.entries()) {
        place.set(`${o.l} ${node.index}`, { x: box.x + (box.w * (i + 0.5)) / order.length, slot: box.w / order.length });
        s.portX.set(isUp ? plan.links[o.l].aPort : plan.links[o.l].bPort, box.x + (box.w * (i + 0.5)) / order.length);
      }
    }
  }
  const sides = new Map<string, number>();
  let bends = 0;
  for (const i of single) {
    const l = plan.links[i];
    const [a, b] = [s.boxOf.get(l.a)!, s.boxOf.get(l.b)!];
    if (a.node.tier === b.node.tier) {
      const key = `${l.a} ${l.b}`;
      const n = sides.get(key) ?? 0;
      sides.set(key, n + 1);
      const [left, right] = a.x <= b.x ? [a, b] : [b, a];
      if (between(plan, l.a, l.b)) {
        const [x0, x1] = [left.x + left.w * 0.82, right.x + right.w * 0.18];
        const [up, down] = left === a ? [l.aPort, l.bPort] : [l.bPort, l.aPort];
        const bend = Math.min(left.y, right.y) - 16 - 14 * bends++;
        s.portX.set(up, x0).set(down, x1);
        add({ x0, y0: left.y, x1, y1: right.y, up: [up], down: [down], links: [i], most: 6, bend, cell: false });
        continue;
      }
      const y = left.y + left.h * 0.25 + Math.min(left.h * 0.6, n * 16);
      const forward = left === a;
      add({
        x0: left.x + left.w, y0: y, x1: right.x, y1: right.y + (y - left.y), up: [forward ? l.aPort : l.bPort], down: [forward ? l.bPort : l.aPort],
        links: [i], most: 8, cell: false,
      });
      continue;
    }
    const [p, q] = [place.get(`${i} ${l.a}`)!, place.get(`${i} ${l.b}`)!];
    const isHost = a.node.tier === 0;
    const most = Math.max(1.5, Math.min(6, Math.min(Math.max(p.slot, isHost ? unit : 0), q.slot) / (isHost ? 3.2 : 5)));
    add({ x0: p.x, y0: a.y, x1: q.x, y1: b.y + b.h, up: [l.aPort], down: [l.bPort], links: [i], most, cell: false });
  }
  // Strands of many links. A mesh within a pod meets at a bus half way.
  const groupOrder = new Map<number, number[]>(); // which nodes lead to a group, from left to right
  for (const key of many.keys()) {
    const [index, what, group] = key.split(' ');
    if (what === 'group') collectIn(groupOrder, Number(group), Number(index));
  }
  for (const list of groupOrder.values()) list.sort((a, b) => s.boxOf.get(a)!.x - s.boxOf.get(b)!.x);
  const busY = new Map<number, number>();
  for (const [key, list] of many) {
    const [index, what] = [Number(key.split(' ')[0]), key.split(' ')[1]];
    const box = s.boxOf.get(index)!;
    const centre = box.x + box.w / 2;
    const most = Math.max(2, Math.min(what === 'group' ? 4 : 6, box.w / 2.6));
    const ups = list.map((i) => plan.links[i].aPort);
    const downs = list.map((i) => plan.links[i].bPort);
    if (what === 'group') {
      const others = list.map((i) => s.boxOf.get(plan.links[i].b)!);
      const [left, right] = [Math.min(...others.map((o) => o.x)), Math.max(...others.map((o) => o.x + o.w))];
      const inGroup = groupOrder.get(Number(key.split(' ')[2]))!;
      const x1 = left + ((right - left) * (inGroup.indexOf(index) + 0.5)) / inGroup.length;
      add({ x0: centre, y0: box.y, x1, y1: others[0].y + others[0].h + 3, up: ups, down: downs, links: list, most, cell: false });
    } else if (what === 'bus') {
      const other = s.boxOf.get(plan.links[list[0]].b)!;
      const y = (box.y + other.y + other.h) / 2;
      busY.set(box.node.pod, y);
      add({ x0: centre, y0: box.y, x1: centre, y1: y + 3, up: ups, down: downs, links: list, most, cell: false }, 'up');
    } else {
      const other = s.boxOf.get(plan.links[list[0]].a)!;
      const y = (other.y + box.y + box.h) / 2;
      add({ x0: centre, y0: y - 3, x1: centre, y1: box.y + box.h, up: ups, down: downs, links: list, most, cell: false }, 'down');
    }
  }
  for (const [pod, y] of busY) {
    const rows = plan.pods[pod].nodes.map((i) => s.boxOf.get(i)!).filter((b) => b.node.tier > 0);
    const [x0, x1] = [Math.min(...rows.map((b) => b.x + b.w / 2)), Math.max(...rows.map((b) => b.x + b.w / 2))];
    if (x1 > 0 && x0 < s.width) s.buses.push({ x0: x0 - 3, x1: x1 + 3, y });
  }
}
// True if another node of the tier is between these two.
function between(plan: Plan, a: number, b: number): boolean {
  const [p, q] = [plan.nodes[a], plan.nodes[b]];
  if (p.tier !== q.tier || p.tier === 0) return false;
  const [left, right] = [Math.min(p.x, q.x), Math.max(p.x, q.x)];
  return plan.nodes.some((n) => n.tier === p.tier && n.x > left && n.x < right);
}
const collect = (map: Map<string, number[]>, key: string, value: number) => collectIn(map, key, value);
function collectIn<K>(map: Map<K, number[]>, key: K, value: number) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

// The queues of a switch, inside its box at the port: of ports that lead up at the top, of the others at the bottom.
function ports(s: Scene, plan: Plan) {
  for (const box of s.boxes) {
    const { node } = box;
    if (node.tier === 0) continue;
    const slots = Math.max(node.up.length, node.down.length);
    const hasRoom = !box.cell && slots > 0 && box.w / slots >= 5;
    if (!hasRoom) {
      s.worst.push({ node: node.index, x: box.x + 2, y: box.y + box.h - 2, w: Math.max(1, Math.min(box.w - 4, 10)), h: box.h - 4 });
      continue;
    }
    for (const [list, isUp] of [[node.up, true], [node.down, false]] as const) {
      for (const l of list) {
        const link = plan.links[l];
        const port = isUp ? link.aPort : link.bPort;
        const x = s.portX.get(port)!;
        const w = Math.max(4, Math.min(14, (box.w / list.length) * 0.6));
        const h = (node.up.length === 0 || node.down.length === 0 ? box.h : box.h / 2) - (node.up.length === 0 || node.down.length === 0 ? 20 : 9);
        s.queues.push({ port, x: x - w / 2, y: isUp ? box.y : box.y + box.h, w, h, up: !isUp });
      }
    }
    sideQueues(s, plan, box);
  }
}

// The queues of ports to the same tier: at the edge where the link leaves, if other queues leave room.
function sideQueues(s: Scene, plan: Plan, box: Box) {
  const { node } = box;
  if (node.up.length > 0 || box.w / Math.max(1, node.down.length) < 100) return;
  for (const l of node.side) {
    const link = plan.links[l];
    const port = link.a === node.index ? link.aPort : link.bPort;
    const place = s.places.get(port);
    if (!place) continue;
    const strand = s.strands[place.strand];
    const x = place.up ? strand.x0 : strand.x1;
    if (strand.bend !== undefined) s.queues.push({ port, x: x - 6, y: box.y, w: 12, h: box.h - 20, up: false });
    else s.queues.push({ port, x: x > box.x + box.w / 2 ? box.x + box.w - 18 : box.x + 6, y: box.y + box.h, w: 12, h: box.h - 20, up: true });
  }
}

function podBoxes(s: Scene, plan: Plan, X: (x: number) => number, measure: (text: string) => number, inSight: (a: number, b: number) => boolean) {
  let free = -1e9;
  for (const [number, pod] of plan.pods.entries()) {
    const [left, right] = [X(pod.from) - 3, X(pod.to) + 3];
    if (!inSight(left, right)) continue;
    const inside = pod.nodes.map((i) => s.boxOf.get(i)!);
    const top = Math.min(...inside.map((b) => b.y)) - 8;
    const bottom = Math.max(...inside.map((b) => b.y + b.h)) + 32;
    const open = inside.every((b) => !b.cell) || pod.nodes.length <= 2;
    const label = pod.nodes.filter((i) => plan.nodes[i].tier > 0).length > 1 ? pod.name : '';
    s.pods.push({ pod: number, x: left, y: top, w: right - left, h: bottom - top, open, label: measure(label) + 8 < right - left ? label : '' });
  }
  if (plan.pinned) {
    for (let group = 0; group < plan.topGroups; ++group) {
      const row = s.boxes.filter((b) => b.node.tier === plan.top && b.node.group === group);
      if (row.length === 0 || row.some((b) => b.label)) continue;
      const text = rangeOf(row.map((b) => b.node.name));
      const [a, b] = [row[0].x, row[row.length - 1].x + row[row.length - 1].w];
      if (measure(text) + 6 < b - a) s.notes.push({ x: (a + b) / 2, y: row[0].y - 9, text });
    }
  }
  // Below hosts without labels: their range, or the name of the first one at intervals.
  const least = Math.max(1, Math.min(...plan.hostGroups.map((g) => X(g.to) - X(g.from))));
  const longest = Math.max(0, ...plan.hostGroups.map((g) => (g.hosts.length > 0 ? measure(plan.nodes[g.hosts[0]].name) : 0)));
  const stride = Math.ceil((longest + 10) / least);
  for (const [number, g] of plan.hostGroups.entries()) {
    const boxes = g.hosts.map((i) => s.boxOf.get(i)!);
    if (boxes.some((b) => b.label) || boxes.length === 0 || plan.top === 0) continue;
    const [left, right] = [X(g.from), X(g.to)];
    const names = [rangeOf(g.hosts.map((i) => plan.nodes[i].name)), plan.nodes[g.hosts[0]].name];
    const text = names.find((name) => measure(name) + 6 < right - left);
    const y = Math.max(...boxes.map((b) => b.y + b.h)) + 11;
    if (text && (left + right) / 2 - measure(text) / 2 > gutter && (left + right) / 2 + measure(text) / 2 < s.width) s.notes.push({ x: (left + right) / 2, y, text });
    else if (g.leaf >= 0 && right > 0 && left < s.width && number % stride === 0) {
      const width = measure(names[1]);
      const x = Math.max(left, gutter + 2);
      if (x > free && x + width < s.width - 4) {
        s.notes.push({ x: x + width / 2, y, text: names[1] });
        free = x + width + 10;
      }
    }
  }
}
// The common beginning of the names of a tier: "leaf", "core"; "hosts" for hosts.
function commonName(plan: Plan, tier: number): string {
  if (tier === 0) return 'hosts';
  const stems = new Set(plan.nodes.filter((n) => n.tier === tier).map((n) => n.name.replace(/[-_.]?\d.*$/, '')));
  const [stem] = stems;
  return stems.size === 1 && stem !== '' && stem.length < 9 ? stem : `tier ${tier}`;
}

const rangeOf = (names: string[]) => (names.length === 1 ? names[0] : `${names[0]} – ${names[names.length - 1]}`);

// The layout of a fabric in units of a host's width: hosts at the bottom, side by side below their leaf, leaves in pods
// (nodes connected without the top tier), the top tier across the whole width. It depends on the topology only.
import type { Fabric } from './types';

export interface PlanNode {
  index: number;
  name: string;
  kind: string;
  model: string;
  tier: number;
  x: number; // centre, in units
  w: number;
  pod: number; // -1: none (the top tier)
  group: number; // of hosts: those with the same leaves; of the top tier: those with the same neighbours
  up: number[]; // links to higher tiers
  down: number[];
  side: number[]; // links within the tier
  spans: boolean; // a leaf that is as wide as its hosts
}
export interface PlanLink {
  a: number; // the lower node
  b: number;
  aPort: string;
  bPort: string;
  rate: number;
}
export interface Pod {
  name: string;
  from: number;
  to: number;
  hosts: number;
  nodes: number[];
}
export interface Plan {
  nodes: PlanNode[];
  links: PlanLink[];
  byName: Map<string, number>;
  top: number; // the highest tier
  pinned: boolean; // the whole top tier is always visible, whatever part is shown
  topGroups: number; // groups of the top tier
  pods: Pod[];
  hostGroups: { from: number; to: number; hosts: number[]; leaf: number }[];
  width: number;
}

const natural = new Intl.Collator('en', { numeric: true });

export function plan(fabric: Fabric): Plan {
  const named = [...fabric.nodes].sort((a, b) => natural.compare(a.name, b.name));
  const nodes: PlanNode[] = named.map((n, index) => ({
    index, name: n.name, kind: n.kind, model: n.model, tier: n.kind === 'host' ? 0 : Math.max(1, n.tier), x: 0, w: 1, pod: -1, group: -1,
    up: [], down: [], side: [], spans: false,
  }));
  const byName = new Map(nodes.map((n) => [n.name, n.index]));
  const nodeOf = (port: string) => byName.get(port.slice(0, port.lastIndexOf(':'))) ?? byName.get(port.slice(0, port.indexOf(':')));
  const links: PlanLink[] = [];
  for (const l of fabric.links) {
    const [a, b] = [nodeOf(l.a), nodeOf(l.b)];
    if (a === undefined || b === undefined) continue;
    const swap = nodes[a].tier > nodes[b].tier || (nodes[a].tier === nodes[b].tier && a > b);
    const link = swap ? { a: b, b: a, aPort: l.b, bPort: l.a, rate: l.rate_bps } : { a, b, aPort: l.a, bPort: l.b, rate: l.rate_bps };
    const at = links.push(link) - 1;
    if (nodes[link.a].tier === nodes[link.b].tier) {
      nodes[link.a].side.push(at);
      nodes[link.b].side.push(at);
    } else {
      nodes[link.a].up.push(at);
      nodes[link.b].down.push(at);
    }
  }
  const top = Math.max(0, ...nodes.map((n) => n.tier));
  const lower = (n: PlanNode) => n.down.map((l) => nodes[links[l].a]);
  const upper = (n: PlanNode) => n.up.map((l) => nodes[links[l].b]);
  const pinned = top >= 2 && nodes.every((n) => n.tier !== top || lower(n).every((m) => m.tier > 0));

  // Pods: nodes that are connected below the top tier.
  const pods: Pod[] = [];
  for (const start of nodes) {
    if (start.pod >= 0 || (pinned && start.tier === top)) continue;
    const pod = pods.push({ name: '', from: 0, to: 0, hosts: 0, nodes: [] }) - 1;
    const open = [start];
    start.pod = pod;
    for (let n = open.pop(); n; n = open.pop()) {
      pods[pod].nodes.push(n.index);
      for (const l of [...n.up, ...n.down, ...n.side]) {
        const m = nodes[links[l].a === n.index ? links[l].b : links[l].a];
        if (m.pod >= 0 || (pinned && m.tier === top)) continue;
        m.pod = pod;
        open.push(m);
      }
    }
    pods[pod].nodes.sort((a, b) => a - b);
  }
  // In the order of their leaves.
  const first = (pod: Pod) => Math.min(...pod.nodes.map((i) => (nodes[i].tier === 1 ? i : nodes.length + i)));
  pods.sort((a, b) => first(a) - first(b));

  let x = 0;
  const hostGroups: Plan['hostGroups'] = [];
  for (const [number, pod] of pods.entries()) {
    pod.from = x;
    const hosts = pod.nodes.map((i) => nodes[i]).filter((n) => n.tier === 0);
    pod.hosts = hosts.length;
    const groups = new Map<string, PlanNode[]>();
    for (const host of hosts) {
      const key = [...new Set(upper(host).map((n) => n.index))].sort((a, b) => a - b).join(' ');
      groups.set(key, [...(groups.get(key) ?? []), host]);
    }
    const sorted = [...groups.entries()].sort((a, b) => (parseInt(a[0]) || 0) - (parseInt(b[0]) || 0));
    for (const [i, [key, members]] of sorted.entries()) {
      if (i > 0) x += 0.4;
      const leaves = key.split(' ').filter((k) => k !== '');
      const leaf = leaves.length === 1 ? Number(leaves[0]) : -1;
      const ports = leaf >= 0 ? nodes[leaf].down.length : 0;
      hostGroups.push({ from: x, to: x + members.length, hosts: members.map((n) => n.index), leaf });
      for (const host of members) {
        host.x = x + 0.5;
        host.group = hostGroups.length - 1;
        x += 1;
      }
      if (leaf >= 0 && ports >= members.length) {
        const node = nodes[leaf];
        const owners = new Set(lower(node).map((n) => n.group));
        if (owners.size === 1) {
          node.spans = true;
          node.x = (hostGroups.at(-1)!.from + x) / 2;
          node.w = members.length;
        }
      }
    }
    const rows = new Map<number, PlanNode[]>();
    for (const i of pod.nodes) if (nodes[i].tier > 0) rows.set(nodes[i].tier, [...(rows.get(nodes[i].tier) ?? []), nodes[i]]);
    const widest = Math.max(...[...rows.values()].map((row) => row.length), 1);
    if (x - pod.from < widest) x = pod.from + widest;
    pod.to = x;
    for (const row of rows.values()) {
      const free = row.filter((n) => !n.spans);
      // Leaves with hosts are above them; the others share the pod's width.
      if (free.length !== row.length) {
        for (const n of free) {
          const under = lower(n).filter((m) => m.tier === 0 || m.spans);
          n.x = under.length > 0 ? under.reduce((sum, m) => sum + m.x, 0) / under.length : x;
          if (under.length === 0) x = pod.to = x + 1;
        }
        continue;
      }
      for (const [i, n] of row.entries()) {
        n.w = (pod.to - pod.from) / row.length;
        n.x = pod.from + (i + 0.5) * n.w;
      }
    }
    pod.name = nameOf(number, pod, nodes);
    x += 0.8;
  }
  for (const [number, pod] of pods.entries()) for (const i of pod.nodes) nodes[i].pod = number;

  let topGroups = 0;
  if (pinned) {
    const seen = new Map<string, number>();
    for (const n of nodes) {
      if (n.tier !== top) continue;
      const key = [...new Set(lower(n).map((m) => m.index))].sort((a, b) => a - b).join(' ');
      if (!seen.has(key)) seen.set(key, topGroups++);
      n.group = seen.get(key)!;
    }
  }
  return { nodes, links, byName, top, pinned, topGroups, pods, hostGroups, width: Math.max(1, x - 0.8) };
}

// A single leaf with its hosts has the leaf's name; several leaves are a numbered pod.
function nameOf(number: number, pod: Pod, nodes: PlanNode[]): string {
  const switches = pod.nodes.filter((i) => nodes[i].tier > 0);
  if (switches.length === 1) return nodes[switches[0]].name;
  return switches.length === 0 ? '' : `pod ${number}`;
}

// The tooltip for what is under the pointer.
import { kinds } from './draw';
import { groupAt, queueAt, sharesOf, valuesOf, type Hit, type Painter } from './fabric-paint';
import type { RunEvent } from './types';
import { count, lineRate, percent, rate, size } from './units';

export interface TipText {
  title: string;
  lines: [string, string][];
  hint: string;
}

export function tipOf(painter: Painter, h: NonNullable<Hit>, bin: number, now: RunEvent[]): TipText {
  const { plan, moments, classesOf } = painter;
  if (h.kind === 'pod') {
    const pod = plan.pods[h.pod];
    return { title: pod.name, lines: [['hosts', count(pod.hosts)], ['switches', count(pod.nodes.length - pod.hosts)]], hint: 'click to open' };
  }
  if (h.kind === 'strand') {
    const s = painter.scene.strands[h.strand];
    const [first, many] = [plan.links[s.links[0]], s.links.length];
    const lines: [string, string][] = [];
    const capacity = s.links.reduce((sum, l) => sum + plan.links[l].rate, 0);
    for (const ports of [s.up, s.down]) {
      const v = valuesOf(ports, moments, bin, sharesOf(s.links, plan));
      const from = many === 1 ? ports[0] : ports === s.up ? 'up' : 'down';
      lines.push([many === 1 ? `${from} sends` : `${from}, total`, `${rate(v.used * capacity)} (${percent(v.used)})`]);
      if (many > 1) lines.push(['  busiest', percent(v.busiest)]);
      if (v.paused > 0) lines.push([`  paused${classesOf.get(ports[0]) ? `, class ${classesOf.get(ports[0])}` : ''}`, percent(v.paused)]);
      if (many === 1 && plan.nodes[ports === s.up ? first.a : first.b].tier > 0) lines.push(['  queue', size(queueAt(ports[0], moments, bin))]);
      if (many === 1 && painter.groupOf.has(ports[0])) lines.push(['  ingress group', `${percent(groupAt(ports[0], moments, bin))} of its XOFF limit`]);
    }
    const here = now.filter((e) => s.up.includes(e.port) || s.down.includes(e.port));
    for (const e of here.slice(0, 4)) lines.push([kinds[e.kind]?.title ?? e.kind, e.count > 1 ? `${e.port} × ${count(e.count)}` : e.port]);
    return { title: many === 1 ? `${first.aPort} – ${first.bPort}, ${lineRate(first.rate)}` : `${many} links, ${lineRate(capacity)}`, lines, hint: many > 1 ? 'click to open' : '' };
  }
  const node = plan.nodes[h.node];
  let [sends, gets, most, stopped] = [0, 0, 0, 0];
  for (const i of [...node.up, ...node.down, ...node.side]) {
    const l = plan.links[i];
    const [port, peer] = l.a === node.index ? [l.aPort, l.bPort] : [l.bPort, l.aPort];
    const out = valuesOf([port], moments, bin);
    sends += out.used * l.rate;
    gets += valuesOf([peer], moments, bin).used * l.rate;
    most = Math.max(most, queueAt(port, moments, bin));
    if (out.paused > 0) ++stopped;
  }
  const lines: [string, string][] = [['sends', rate(sends)], ['receives', rate(gets)]];
  if (node.tier > 0) lines.push(['longest queue', size(most)]);
  if (stopped > 0) lines.push(['ports paused', count(stopped)]);
  for (const e of now.filter((x) => x.port.split(':')[0] === node.name).slice(0, 3)) lines.push([kinds[e.kind]?.title ?? e.kind, e.port]);
  return { title: `${node.name}${node.model ? `, ${node.model}` : ''}`, lines, hint: 'click: QoS chain, counters, queues, drops' };
}

// The network below the ranks, on the same time axis: utilisation of ports as areas, hatched while they are paused, and
// flows between ports as bars.
import { type Moments, WHOLE_LINE } from '../lib/run-data.svelte';
import type { Fabric, Flows, Job } from '../lib/types';
import { axis, drawAxis, drawName, hatch, left, look, prepare } from './draw';
import { portsOf, type Window } from './model';

export interface TrafficRow {
  name: string;
  ports: number[]; // of Moments; the row shows their mean
  height: number;
  own: boolean; // of the chosen rank
}

const hostOf = (port: string) => port.slice(0, port.lastIndexOf(':'));
const mostRows = 32;

// Ports of the chosen rank one by one, then hosts, with several hosts in a row if there are many.
export function trafficRows(job: Job, fabric: Fabric, moments: Moments, flows: Flows, chosen: number | undefined): TrafficRow[] {
  const peer = new Map<string, string>();
  for (const link of fabric.links) peer.set(link.a, link.b).set(link.b, link.a);
  const indices = (ports: string[]) => ports.map((port) => moments.index.get(port)).filter((i): i is number => i !== undefined);
  const rows: TrafficRow[] = [];
  for (const port of chosen === undefined ? [] : portsOf(job, chosen)) {
    rows.push({ name: `${port} sends`, ports: indices([port]), height: 26, own: true });
    rows.push({ name: `${port} receives`, ports: indices([peer.get(port) ?? '']), height: 26, own: true });
  }
  const ports = new Map<string, Set<string>>(); // by host, those that the job uses
  const use = (port: string) => ports.set(hostOf(port), (ports.get(hostOf(port)) ?? new Set()).add(port));
  for (const own of job.rank) own.ports.forEach(use);
  flows.id.forEach((_, i) => flows.workload[i] === job.workload && [flows.source[i], flows.destination[i]].forEach(use));
  const hosts = [...ports.keys()].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const all = hosts.flatMap((host) => [...ports.get(host)!]);
  if (hosts.length > 1) rows.push({ name: `all ${all.length} ports send`, ports: indices(all), height: 30, own: false });
  const each = Math.ceil(hosts.length / mostRows);
  const few = hosts.length <= 4;
  for (let i = 0; i < hosts.length; i += each) {
    const some = hosts.slice(i, i + each);
    const name = some.length === 1 ? some[0] : `${some[0]}–${some[some.length - 1]}`;
    const own = some.flatMap((host) => [...ports.get(host)!]);
    rows.push({ name: `${name} sends`, ports: indices(own), height: few ? 22 : 12, own: false });
    if (few) rows.push({ name: `${name} receives`, ports: indices(own.map((port) => peer.get(port) ?? '')), height: 22, own: false });
  }
  return rows.filter((row) => row.ports.length > 0);
}

// The mean of the row's ports from 0 to 1, in the part of the time that belongs to one pixel.
function share(values: Uint8Array | Uint16Array, moments: Moments, ports: number[], first: number, last: number): number {
  let sum = 0;
  for (const port of ports) for (let bin = first; bin <= last; ++bin) sum += values[port * moments.bins + bin];
  return sum / ((values === moments.used ? WHOLE_LINE : 255) * ports.length * (last - first + 1));
}

export function drawTraffic(canvas: HTMLCanvasElement, rows: TrafficRow[], moments: Moments, window: Window, width: number) {
  const colours = look();
  const height = axis + rows.reduce((sum, row) => sum + row.height, 0) + 2;
  const context = prepare(canvas, width, height);
  drawAxis(context, colours, window, width, height, []);
  const paused = hatch(context, colours.pause, '');
  const pixels = Math.floor(width - left);
  const per = (window.to - window.from) / pixels;
  let top = axis;
  for (const row of rows) {
    const [floor, room] = [top + row.height - 1, row.height - 3];
    context.fillStyle = row.own ? colours.compute : colours.beside;
    context.beginPath();
    context.moveTo(left, floor);
    const stopped: [number, number][] = [];
    for (let x = 0; x < pixels; ++x) {
      const at = window.from + x * per;
      if (at < moments.from || at > moments.to) {
        context.lineTo(left + x, floor);
        continue;
      }
      const first = moments.bin(at), last = Math.max(first, moments.bin(at + per * 0.999));
      const y = floor - room * Math.min(1, share(moments.used, moments, row.ports, first, last));
      context.lineTo(left + x, y);
      context.lineTo(left + x + 1, y);
      if (share(moments.paused, moments, row.ports, first, last) > 0.02) stopped.push([x, y]);
    }
    context.lineTo(left + pixels, floor);
    context.fill();
    context.fillStyle = paused;
    for (const [x] of stopped) context.fillRect(left + x, top + 1, 1, room + 1);
    context.fillStyle = colours.line;
    context.fillRect(left, floor, width - left, 1);
    drawName(context, colours, row.name, top + row.height / 2);
    top += row.height;
  }
}
export function rowAt(rows: TrafficRow[], y: number): TrafficRow | undefined {
  let top = axis;
  return rows.find((row) => y >= top && y < (top += row.height));
}
export function used(row: TrafficRow, moments: Moments, at: number): { used: number; paused: number } {
  const bin = moments.bin(at);
  return { used: share(moments.used, moments, row.ports, bin, bin), paused: share(moments.paused, moments, row.ports, bin, bin) };
}

export const flowHeight = 18;
// One bar for each flow, from its first packet to its last; chosen ones are framed and have a dot.
export function drawFlows(canvas: HTMLCanvasElement, flows: Flows, shown: number[], chosen: Set<string>, window: Window, width: number) {
  const colours = look();
  const context = prepare(canvas, width, axis + shown.length * flowHeight + 2);
  drawAxis(context, colours, window, width, axis + shown.length * flowHeight + 2, []);
  const scale = (width - left) / (window.to - window.from);
  shown.forEach((i, row) => {
    const y = axis + row * flowHeight;
    const isChosen = chosen.has(flows.id[i]);
    const [start, lasts] = [flows.start_ps[i], flows.fct_ps[i]];
    if (start !== null && lasts !== null && start < window.to && start + lasts > window.from) {
      const begin = left + Math.max(0, (start - window.from) * scale);
      const end = Math.min(width, Math.max(begin + 1, left + (start + lasts - window.from) * scale));
      context.fillStyle = isChosen ? colours.compute : colours.beside;
      context.fillRect(begin, y + 3, end - begin, flowHeight - 8);
      if (isChosen) {
        context.strokeStyle = colours.ink;
        context.strokeRect(begin + 0.5, y + 2.5, Math.max(1, end - begin - 1), flowHeight - 7);
      }
    }
    drawName(context, colours, `${isChosen ? '● ' : ''}${flows.source[i]} → ${flows.destination[i]}`, y + flowHeight / 2);
  });
}

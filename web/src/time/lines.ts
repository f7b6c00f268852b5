// The series of a plot as lines with their styles, and the thresholds.
import { address } from '../lib/address.svelte';
import { cursor } from '../lib/cursor.svelte';
import { flowStyle, lineStyle, theme } from '../lib/draw';
import type { Line } from '../lib/Plot.svelte';
import type { SeriesData } from '../lib/types';
import { size } from '../lib/units';
import { nameOf, type Group } from './groups';

export function linesOf(group: Group, data: Map<string, SeriesData>): Line[] {
  const t = theme();
  const limits = group.key === 'groups' ? group.entries.filter((e) => e.metric === 'xoff_B').length : 0; // they come first
  const isChosen = group.key === 'flows' && address.flows.length > 0;
  return group.entries.flatMap((entry, i) => {
    const d = data.get(entry.id);
    if (!d) return [];
    const index = isChosen ? Math.max(0, address.flows.indexOf(`${entry.node}/${entry.port}`)) : i - limits;
    // A limit is drawn as thresholds are, in all plots.
    const isLimit = group.key === 'groups' && entry.metric === 'xoff_B';
    const style = isLimit ? { colour: t.pause, dash: [6, 3] } : isChosen ? flowStyle(index, t) : lineStyle(index, t);
    const isThin = d.min.every((v, k) => v === d.max[k]);
    const line = { name: nameOf(entry, group), colour: style.colour, dash: style.dash, x: d.t_ps, min: d.min, max: isThin ? undefined : d.max, steps: group.rate };
    if (!group.rate || d.t_ps.length === 0) return [line];
    // A rate holds until the next sample.
    const n = d.t_ps.length;
    const last = d.t_ps[n - 1] + (n > 1 ? d.t_ps[n - 1] - d.t_ps[n - 2] : cursor.step);
    return [{ ...line, x: [...line.x, last], min: [...line.min, d.min[n - 1]], max: line.max && [...line.max, d.max[n - 1]] }];
  });
}

export function limitsOf(group: Group) {
  const t = theme();
  return group.limits.map((l) => ({
    value: l.value,
    label: `${l.label} ${size(l.value)}`,
    colour: l.kind === 'ecn' ? t.mark : l.kind === 'pool' ? t.soft : t.pause,
    dash: l.label === 'ECN min' || l.kind === 'xoff' ? [4, 3] : [],
    isTop: l.kind === 'headroom' && group.key === 'headroom',
  }));
}

export const unitOf = (group: Group, data: Map<string, SeriesData>) => data.get(group.entries[0].id)?.unit ?? group.entries[0].unit;

// Series that are added to the plots of a view (address parameter `plots`). What cannot be drawn is reported.
import { address } from './address.svelte';
import type { SeriesEntry } from './types';

export function doubtPlots(series: SeriesEntry[]) {
  const known = new Set(series.map((s) => s.id));
  const wanted = address.list('plots');
  const unknown = wanted.filter((id) => !known.has(id));
  if (unknown.length > 0) address.doubt('plots', unknown.length === 1 ? `has an unknown series: ${unknown[0]}` : `has ${unknown.length} unknown series`);
  else if ((address.parameters.plots ?? '').split(',').filter(Boolean).length > wanted.length) address.doubt('plots', 'has a series twice');
}

// Rates of counters, for every view. The server sends counters as they are; a rate is their change per time.
import type { SeriesData } from './types';

const gauges = ['queue_B', 'group_B', 'xoff_B', 'buffer_B', 'headroom_B', 'rate_bps'];
export const isCounter = (metric: string) => !gauges.includes(metric);

// The mean rate of a counter in each part of the time. With short samples it is easier to read than minimum and maximum,
// because a sample has a packet or none.
export function meanRate(d: SeriesData): SeriesData {
  const [unit, factor] = d.unit === 'B' ? ['b/s', 8e12] : d.unit === 'ps' ? ['share', 1] : ['1/s', 1e12];
  const [t_ps, mean]: [number[], number[]] = [[], []];
  for (let i = 0; i + 1 < d.t_ps.length; ++i) {
    t_ps.push(d.t_ps[i]);
    mean.push(((d.min[i + 1] - d.min[i]) * factor) / Math.max(1, d.t_ps[i + 1] - d.t_ps[i]));
  }
  return { id: d.id, unit, t_ps, min: mean, max: mean };
}

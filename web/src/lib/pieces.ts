// Requests with many names. The server reads request lines of up to 8,192 bytes: longer lists of names are requested in
// pieces, and the answers are joined.
import { get, query } from './api';
import { ofRun } from './run-data.svelte';
import type { Paths, SeriesData } from './types';

const most_B = 6000; // of the names in one request, encoded

export function inPieces(names: string[]): string[][] {
  const out: string[][] = [];
  let room_B = 0;
  for (const name of names) {
    const length_B = encodeURIComponent(name).length + 3; // and a comma
    if (out.length === 0 || length_B > room_B) {
      out.push([]);
      room_B = most_B;
    }
    out[out.length - 1].push(name);
    room_B -= length_B;
  }
  return out;
}

// Series of a run in a part of the time, counters as they are.
export async function seriesData(run: string, names: string[], parameters: { from_ps?: number; to_ps?: number; points: number }): Promise<SeriesData[]> {
  const answers = await Promise.all(inPieces(names).map((match) =>
    get<{ series: SeriesData[] }>(`/api/runs/${encodeURIComponent(run)}/series/data${query({ match: match.join(','), ...parameters })}`)));
  return answers.flatMap((answer) => answer.series);
}

export async function pathsOf(run: string, flows: string[]): Promise<Paths> {
  const answers = await Promise.all(inPieces(flows).map((some) => ofRun<Paths>(run, `/paths${query({ flows: some.join(',') })}`)));
  return { paths: Object.assign({}, ...answers.map((a) => a.paths)), before: Object.assign({}, ...answers.map((a) => a.before)) };
}

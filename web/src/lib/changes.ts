// What was changed in the lab of a run: by its editor or by --set, against the ready lab of that name where there is one.
import type { RunEntry } from './types';

export function changesOf(run: RunEntry): string[] {
  if (run.changes === null || run.changes === undefined) return run.set;
  return run.changes.filter((each) => each.path !== 'seed').map((each) => (each.value === null ? `without ${each.path}` : `${each.path}=${each.value}`));
}
// The same with what the ready lab has.
export function changesInFull(run: RunEntry): string {
  if (run.changes === null || run.changes === undefined) return '';
  return run.changes.map((each) => `${each.path}: ${each.ready ?? 'not there'} -> ${each.value ?? 'not there'}`).join('\n');
}

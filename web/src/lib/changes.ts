// Changes to the lab of a run, by the editor or by --set, against the ready lab of the same name if there is one.
import type { RunEntry } from './types';

export function changesOf(run: RunEntry): string[] {
  if (run.changes === null || run.changes === undefined) return run.set;
  return run.changes.filter((each) => each.path !== 'seed').map((each) => (each.value === null ? `without ${each.path}` : `${each.path}=${each.value}`));
}
// The same with the values of the ready lab.
export function changesInFull(run: RunEntry): string {
  if (run.changes === null || run.changes === undefined) return '';
  return run.changes.map((each) => `${each.path}: ${each.ready ?? 'none'} -> ${each.value ?? 'none'}`).join('\n');
}

// Edited texts of labs, kept in this browser by lab until they are discarded: leaving the editor, Back and a reload keep
// them.
import { storage } from './storage';

export interface Draft {
  text: string;
  set: string; // the address parameter `set` at that time
  at_ms: number;
}
const prefix = 'draft ';
const most = 30;

export function draftOf(lab: string): Draft | null {
  try {
    const draft = JSON.parse(storage.get(prefix + lab) ?? 'null') as Draft | null;
    return draft && typeof draft.text === 'string' ? draft : null;
  } catch {
    return null;
  }
}
export function dropDraft(lab: string) {
  storage.remove(prefix + lab);
}
// False: the browser has no space for it.
export function keepDraft(lab: string, text: string, set: string): boolean {
  if (!storage.set(prefix + lab, JSON.stringify({ text, set, at_ms: Date.now() } satisfies Draft))) return false;
  const names = storage.names().filter((name) => name.startsWith(prefix));
  if (names.length > most) {
    const age = (name: string) => draftOf(name.slice(prefix.length))?.at_ms ?? 0;
    storage.remove(names.sort((a, b) => age(a) - age(b))[0]);
  }
  return true;
}

// The keys of the time view: those of the cursor, and W A S D for the range, as in Perfetto.
import { cursor } from '../lib/cursor.svelte';

export function timeKey(e: KeyboardEvent, times: number[], search: () => void) {
  if (cursor.key(e, times)) return;
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test((e.target as HTMLElement).tagName)) return;
  const isSeen = cursor.isSet && cursor.at >= cursor.from && cursor.at <= cursor.to;
  const around = cursor.hover ?? (isSeen ? cursor.at : (cursor.from + cursor.to) / 2);
  const k = e.key.toLowerCase();
  if (k === 'w') cursor.zoom(e.shiftKey ? 0.25 : 0.6, around);
  else if (k === 's') cursor.zoom(e.shiftKey ? 4 : 1 / 0.6, around);
  else if (k === 'a') cursor.pan(e.shiftKey ? -0.8 : -0.2);
  else if (k === 'd') cursor.pan(e.shiftKey ? 0.8 : 0.2);
  else if (k === '0') cursor.range(0, cursor.end);
  else if (k === '/') {
    e.preventDefault();
    search();
  }
}

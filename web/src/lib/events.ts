// Server-sent events (GET /api/events) as callbacks. One stream for the whole tab: a browser has six connections per
// server, and a stream uses one. It is closed while the tab is hidden; `back` is called when it is open again, because
// events in between were missed.
import { isReport } from './api';
import { connection } from './connection.svelte';

type Call = (data: unknown) => void;
interface Listeners {
  task?: Call;
  runs?: Call;
  world?: Call;
  back?: () => void;
}
const kinds = ['task', 'runs', 'world'] as const;
const all = new Set<{ listeners: Listeners; watch?: 'worlds' }>();
let source: EventSource | null = null;
let address = '';

// A browser tries again by itself after a broken connection, but not after an error answer: 503 (too many clients), 401.
const again_ms = 3000;

function open() {
  const wanted = document.hidden || all.size === 0 ? '' : [...all].some((each) => each.watch) ? '/api/events?watch=worlds' : '/api/events';
  if (wanted === address) return;
  let first = source === null;
  source?.close();
  address = wanted;
  if (wanted === '') return;
  const mine = (source = new EventSource(wanted));
  mine.addEventListener('open', () => {
    connection.found();
    if (!first) all.forEach((each) => each.listeners.back?.());
    first = false;
  });
  mine.addEventListener('error', () => {
    if (mine.readyState !== EventSource.CLOSED) return;
    setTimeout(() => {
      if (mine !== source || mine.readyState !== EventSource.CLOSED || address === '') return;
      address = '';
      open();
    }, again_ms);
  });
  for (const kind of kinds) {
    mine.addEventListener(kind, (event) => {
      const data = JSON.parse((event as MessageEvent<string>).data);
      all.forEach((each) => each.listeners[kind]?.(data));
    });
  }
}
if (!isReport && typeof document !== 'undefined') document.addEventListener('visibilitychange', open);

// Returns the function that stops listening.
export function listen(listeners: Listeners, watch?: 'worlds'): () => void {
  if (isReport) return () => {};
  const entry = { listeners, watch };
  all.add(entry);
  open();
  return () => {
    all.delete(entry);
    open();
  };
}

// What changes on the server (GET /api/events), as calls. The browser connects again by itself.
import { isReport } from './api';

type Listeners = { task?: (data: unknown) => void; runs?: (data: unknown) => void; world?: (data: unknown) => void };

// Returns what ends it.
export function listen(listeners: Listeners, watch?: 'worlds'): () => void {
  if (isReport) return () => {};
  const source = new EventSource(watch ? `/api/events?watch=${watch}` : '/api/events');
  for (const [name, call] of Object.entries(listeners))
    source.addEventListener(name, (event) => call(JSON.parse((event as MessageEvent<string>).data)));
  return () => source.close();
}

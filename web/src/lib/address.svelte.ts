// The whole view is in the address: /run/incast-ecn/time?at=1250000000&from=0&to=2617000000&flows=incast/3. A colleague who
// opens it sees the same. Views read `address.view`, `address.run` and parameters, and change them only through this file.
// In a one-file report the address follows the #.
import { isReport } from './api';

export type View =
  | 'labs' | 'lab' | 'runs' | 'summary' | 'fabric' | 'time' | 'flows' | 'packets' | 'findings' | 'jobs'
  | 'compare' | 'sweep' | 'worlds';

// Parameters of the views of a run that are numbers.
const numbers: Record<string, string> = {
  at: 'a time in picoseconds', from: 'a time in picoseconds', to: 'a time in picoseconds', packet: 'the number of a packet',
};
const runViews: View[] = ['summary', 'fabric', 'time', 'flows', 'packets', 'findings', 'jobs'];

class Address {
  view: View = $state('labs');
  run: string = $state(''); // of the views of a run; of lab the ready lab; of sweep the sweep; of worlds the world
  parameters: Record<string, string> = $state({}); // changed name by name: who reads one is not affected by the others
  private own: string | null = null; // the address, where a sandbox forbids the page to change that of the browser
  leaves: () => void = () => {}; // called before another view is opened
  lost: string = $state(''); // a path that the page does not have
  private doubts: Record<string, { value: string; message: string }> = $state({});

  constructor() {
    this.read();
    for (const kind of ['popstate', 'hashchange']) {
      window.addEventListener(kind, () => {
        this.own = null;
        this.read();
      });
    }
  }
  private write(how: 'pushState' | 'replaceState', href: string) {
    try {
      history[how](null, '', href);
      this.own = null;
    } catch {
      this.own = href;
    }
  }

  private read() {
    const text = isReport ? (this.own ?? location.hash).slice(1) || '/run/run' : location.pathname + location.search;
    const [path, search] = [text.split('?')[0], text.split('?')[1] ?? ''];
    const parts = path.split('/').filter((part) => part !== '').map(decoded);
    this.replace(Object.fromEntries(new URLSearchParams(search)));
    const isKnown = parts.length === 0 || (parts[0] === 'run' && parts.length > 1 && (parts.length === 2 || runViews.includes(parts[2] as View)))
      || ['labs', 'lab', 'runs', 'compare', 'sweep', 'worlds'].includes(parts[0]);
    this.lost = isKnown ? '' : path;
    if (parts[0] === 'run' && parts.length > 1) {
      this.run = parts[1];
      this.view = runViews.includes(parts[2] as View) ? (parts[2] as View) : 'summary';
    } else if (['labs', 'lab', 'runs', 'compare', 'sweep', 'worlds'].includes(parts[0])) {
      this.view = parts[0] as View;
      this.run = parts.slice(1).join('/');
    } else {
      this.view = 'labs';
      this.run = '';
    }
    this.check();
  }

  private replace(next: Record<string, string>) {
    for (const name of Object.keys(this.parameters)) if (!(name in next)) delete this.parameters[name];
    for (const [name, value] of Object.entries(next)) this.parameters[name] = value;
  }

  // Invalid parameters. The page lists them above the view and ignores them.
  private check() {
    this.doubts = {};
    if (!this.isRunView()) return;
    for (const [name, what] of Object.entries(numbers)) {
      if (name in this.parameters && this.number(name) === undefined) this.doubt(name, `is not ${what}`);
    }
    const [from, to] = [this.number('from'), this.number('to')];
    if (from !== undefined && to !== undefined && from >= to) this.doubt('to', `is not after from=${from}`);
  }
  doubt(name: string, message: string) {
    const value = this.parameters[name] ?? '';
    if (this.doubts[name]?.value !== value || this.doubts[name].message !== message) this.doubts[name] = { value, message };
  }
  // Names of parameters and what is wrong with them, as long as they are there.
  get doubted(): { name: string; text: string }[] {
    return Object.entries(this.doubts)
      .filter(([name, { value }]) => this.parameters[name] === value)
      .map(([name, { value, message }]) => ({ name, text: `${name}=${value.length > 60 ? `${value.slice(0, 60)}…` : value} ${message}` }));
  }

  href(view: View, run: string = this.run, parameters: Record<string, string> = {}): string {
    const base = runViews.includes(view)
      ? `/run/${encodeURIComponent(run)}${view === 'summary' ? '' : '/' + view}`
      : `/${view}${run ? '/' + run.split('/').map(encodeURIComponent).join('/') : ''}`;
    const search = new URLSearchParams(parameters).toString().replace(/%(2C|2F|3A)/g, decodeURIComponent); // , / : stay readable
    return (isReport ? '#' : '') + base + (search ? '?' + search : '');
  }

  // Opens another view. Time, range and chosen flows are kept within a run.
  go(view: View, run: string = this.run, parameters: Record<string, string> = {}) {
    this.leaves();
    const kept = run === this.run && runViews.includes(view) ? this.keep() : {};
    this.write('pushState', this.href(view, run, { ...kept, ...parameters }));
    this.read();
  }

  // State that the views of one run share.
  keep(): Record<string, string> {
    return Object.fromEntries(
      ['at', 'from', 'to', 'flows'].filter((name) => name in this.parameters).map((name) => [name, this.parameters[name]]),
    );
  }

  // Changes parameters of this view; '' removes one. Adds no history entry.
  set(changes: Record<string, string | number>) {
    const next = { ...this.parameters };
    for (const [name, value] of Object.entries(changes)) {
      if (value === '') delete next[name];
      else next[name] = String(value);
    }
    this.replace(next);
    this.write('replaceState', this.href(this.view, this.run, next));
  }

  number(name: string): number | undefined {
    const value = Number(this.parameters[name]);
    return name in this.parameters && Number.isFinite(value) ? value : undefined;
  }
  // A list of names, separated by commas, each once.
  list(name: string): string[] {
    return [...new Set((this.parameters[name] ?? '').split(',').filter((each) => each !== ''))];
  }
  get flows(): string[] {
    return this.list('flows');
  }
  isRunView(): boolean {
    return runViews.includes(this.view);
  }
}

// An address that cannot be decoded (%E0%A4%A) is kept as it is, and is then not found.
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const address = new Address();

// Follows a link without reloading the page; with a modifier key the browser handles it.
export function follow(event: MouseEvent, view: View, run?: string, parameters?: Record<string, string>) {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  address.go(view, run, parameters);
}

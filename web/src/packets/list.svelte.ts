// The packets of a run as a list of any length. Without a filter, parts are loaded as they become visible; with a filter,
// the server searches the capture in parts and results are added at the end.
import { ApiError, get, isReport, query } from '../lib/api';
import { latest } from '../lib/latest';
import type { Packet, PacketPage } from '../lib/types';

const chunk = 200;
const mostKept = 60; // chunks
const mostFound = 100_000;

export class PacketList {
  run = '';
  filter = '';
  total = $state(0); // frames of the capture
  length = $state(0); // rows of the list
  looked = $state(0); // frames that the filter has checked
  problem = $state(''); // of the capture file
  error: ApiError | null = $state(null);
  version = $state(0); // changes when rows were loaded

  firstTime: number | undefined; // of the first frame

  // With a filter, and in a report, which has only some packets: rows are search results.
  private get isFound(): boolean {
    return this.filter !== '' || isReport;
  }
  private chunks = new Map<number, Packet[]>();
  private asked = new Set<number>();
  private found: Packet[] = [];
  private stop = new AbortController();
  private request = latest();

  async open(run: string, filter: string) {
    this.stop.abort();
    this.stop = new AbortController();
    const mine = this.stop;
    [this.run, this.filter, this.error] = [run, filter, null];
    [this.length, this.looked, this.problem] = [0, 0, ''];
    this.chunks.clear();
    this.asked.clear();
    this.found = [];
    this.version++;
    try {
      if (!this.isFound) {
        const page = await this.ask({ limit: chunk }, mine);
        if (mine.signal.aborted) return;
        this.chunks.set(0, page.packets);
        this.firstTime = page.packets[0]?.time_ps;
        this.length = page.total;
        this.version++;
        return;
      }
      for (let offset: number | null = 0; offset !== null && this.found.length < mostFound; ) {
        const page: PacketPage = await this.ask({ ...(filter ? { filter } : {}), offset, limit: 2000 }, mine);
        if (mine.signal.aborted) return;
        this.found.push(...page.packets);
        this.length = this.found.length;
        this.looked = page.next ?? page.total;
        offset = page.next;
        this.version++;
      }
    } catch (problem) {
      if (mine.signal.aborted) return;
      this.error = problem instanceof ApiError ? problem : new ApiError([{ message: String(problem) }], 0);
    }
  }

  private async ask(parameters: Record<string, string | number>, mine: AbortController): Promise<PacketPage> {
    const page = await get<PacketPage>(`/api/runs/${encodeURIComponent(this.run)}/packets${query(parameters)}`, mine.signal);
    if (!mine.signal.aborted) [this.total, this.problem] = [page.total, page.problem];
    return page;
  }

  // A row, or undefined while it is loaded.
  row(index: number): Packet | undefined {
    if (this.isFound) return this.found[index];
    const number = Math.floor(index / chunk);
    const rows = this.chunks.get(number);
    if (rows === undefined) this.load(number);
    return rows?.[index % chunk];
  }

  private async load(number: number) {
    if (this.asked.has(number)) return;
    this.asked.add(number);
    const mine = this.stop;
    // Dragging the scroll bar over a million packets skips most of them.
    await new Promise((later) => setTimeout(later, 30));
    try {
      if (mine.signal.aborted) return;
      const page = await this.ask({ offset: number * chunk, limit: chunk }, mine);
      if (mine.signal.aborted) return;
      if (this.chunks.size >= mostKept) this.chunks.delete(this.chunks.keys().next().value!);
      this.chunks.set(number, page.packets);
      this.version++;
    } catch {
      // Loaded again when it is visible again.
    } finally {
      this.asked.delete(number);
    }
  }

  // The row of a packet, or of the first after it.
  place(packet: number): number {
    if (!this.isFound) return packet - 1;
    let [low, high] = [0, this.found.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.found[middle].number < packet) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The row of the first packet at a time or after it; null if another one was asked for since.
  async at(time_ps: number): Promise<number | null> {
    const [isLatest, mine] = [this.request(), this.stop];
    const page = await get<PacketPage>(`/api/runs/${encodeURIComponent(this.run)}/packets${query({ from_ps: Math.max(1, Math.round(time_ps)), limit: 1 })}`);
    return isLatest() && !mine.signal.aborted ? page.first : null;
  }
}

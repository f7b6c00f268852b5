// The time that every view shows (address parameter `at`), the range (`from`, `to`), and play.
import { address } from './address.svelte';

export const speeds = [0.25, 0.5, 1, 2, 4, 8];

class Cursor {
  end = $state(0); // of the run
  step = $state(0); // a sample
  playing = $state(false);
  speed = $state(1); // 1: the range in 20 s
  hover: number | null = $state(null); // where the mouse is; not in the address
  private frame = 0;
  private last = 0;
  private precise = 0; // the exact time while playing; the address is written at most ten times a second
  private written = 0;
  private live: number | null = $state(null);

  // The run has changed, or was read.
  open(end_ps: number, sample_ps: number) {
    this.end = end_ps;
    const at = address.number('at');
    if (at !== undefined && (at < 0 || at > end_ps)) address.doubt('at', `is outside the run, which lasts ${end_ps} ps`);
    this.step = sample_ps > 0 ? sample_ps : Math.max(1, Math.round(end_ps / 500));
  }
  // A range that ends before it starts is ignored.
  private get turned(): boolean {
    return (address.number('from') ?? 0) >= (address.number('to') ?? Infinity);
  }
  get from(): number {
    return this.turned ? 0 : Math.max(0, Math.min(address.number('from') ?? 0, this.end));
  }
  get to(): number {
    const to = this.turned ? this.end : (address.number('to') ?? this.end);
    return Math.min(Math.max(to, this.from + 1), Math.max(this.end, 1));
  }
  get at(): number {
    return this.live ?? Math.min(this.end, Math.max(0, address.number('at') ?? this.from));
  }
  get isSet(): boolean {
    return this.live !== null || address.number('at') !== undefined;
  }
  // Moves the cursor at once; the address is written at most every 100 ms.
  set(at: number) {
    this.live = this.precise = Math.round(Math.min(this.end, Math.max(0, at)));
    const now = performance.now();
    clearTimeout(this.settle);
    if (now - this.written > 100) this.write();
    else this.settle = window.setTimeout(() => this.write(), 100);
  }
  private settle = 0;
  private write() {
    this.written = performance.now();
    if (this.live === null) return;
    address.set({ at: this.live });
    if (!this.playing) this.live = null;
  }
  move(samples: number) {
    const at = this.at;
    const k = Math.round(at / this.step) + samples;
    this.set(k * this.step);
  }
  // Moves to the next or previous time in `times` (sorted).
  event(times: number[], forward: boolean) {
    const at = this.at;
    const found = forward ? times.find((time) => time > at) : times.filter((time) => time < at).at(-1);
    if (found !== undefined) this.set(found);
  }
  range(from: number, to: number) {
    const least = Math.min(1000, this.end);
    let [a, b] = [Math.max(0, Math.round(from)), Math.min(this.end, Math.round(to))];
    if (b - a < least) [a, b] = [Math.max(0, b - least), Math.max(0, b - least) + least];
    if (a <= 0 && b >= this.end) address.set({ from: '', to: '' });
    else address.set({ from: a, to: b });
  }
  // Zooms by a factor around a time (W and S, as in Perfetto), or moves by a share of the range (A and D).
  zoom(factor: number, around: number) {
    const [from, to] = [this.from, this.to];
    this.range(around - (around - from) * factor, around + (to - around) * factor);
  }
  pan(share: number) {
    const span = this.to - this.from;
    const from = Math.min(Math.max(0, this.from + share * span), Math.max(0, this.end - span));
    this.range(from, from + span);
  }
  // Simulated time per second of wall-clock time.
  get pace(): number {
    return ((this.to - this.from) / 20) * this.speed;
  }
  play() {
    if (this.playing) return this.stop();
    if (this.at >= this.to) this.set(this.from);
    this.playing = true;
    this.precise = this.at;
    this.last = performance.now();
    // With prefers-reduced-motion, play shows two pictures a second.
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const tick = (now: number) => {
      if (!this.playing) return;
      if (still && now - this.last < 500) {
        this.frame = requestAnimationFrame(tick);
        return;
      }
      this.precise += (this.pace * (now - this.last)) / 1000;
      this.last = now;
      const next = this.precise;
      this.set(Math.min(next, this.to));
      this.precise = next;
      if (next >= this.to) return this.stop();
      this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }
  stop() {
    this.halt();
    this.write();
  }
  // The view is closed: the address belongs to another view now, and is not written.
  leave() {
    this.halt();
    this.live = null;
  }
  private halt() {
    this.playing = false;
    cancelAnimationFrame(this.frame);
    clearTimeout(this.settle);
  }

  // Keys that all views with a cursor share. Returns true if the key was one of them.
  key(event: KeyboardEvent, times: number[]): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const target = event.target as HTMLElement;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return false;
    const many = event.shiftKey ? 10 : 1;
    if (event.key === ' ' && target.tagName !== 'BUTTON' && target.tagName !== 'A') this.play();
    else if (event.key === 'ArrowRight') this.move(many);
    else if (event.key === 'ArrowLeft') this.move(-many);
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') this.event(times, event.key === 'ArrowDown');
    else if (event.key === 'Home') this.set(this.from);
    else if (event.key === 'End') this.set(this.to);
    else return false;
    event.preventDefault();
    return true;
  }
}

export const cursor = new Cursor();
address.leaves = () => cursor.stop();

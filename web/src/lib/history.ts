// Undo and redo of the text of a lab: what was typed, knobs that were turned, and a discarded edit.
export interface Version {
  text: string;
  set: string; // the address parameter `set`
}
const pause_ms = 1000; // typing after a longer pause is a step of its own
const most = 200;

export class History {
  private past: Version[] = [];
  private future: Version[] = [];
  private typed_ms = -Infinity;

  constructor(private now: Version) {}

  // A new version. What is typed without a pause is one step.
  take(next: Version, isTyped: boolean, at_ms: number) {
    if (next.text === this.now.text) {
      this.now = next;
      return;
    }
    const joins = isTyped && at_ms - this.typed_ms < pause_ms;
    this.typed_ms = isTyped ? at_ms : -Infinity;
    if (!joins) this.past.push(this.now);
    if (this.past.length > most) this.past.shift();
    this.now = next;
    this.future = [];
  }
  undo(): Version | null {
    return this.step(this.past, this.future);
  }
  redo(): Version | null {
    return this.step(this.future, this.past);
  }
  private step(from: Version[], to: Version[]): Version | null {
    const version = from.pop();
    if (!version) return null;
    to.push(this.now);
    this.now = version;
    this.typed_ms = -Infinity;
    return version;
  }
}

// Where the text that differs ends in `after`: the place of the cursor after a step.
export function changedEnd(before: string, after: string): number {
  let same = 0;
  const shorter = Math.min(before.length, after.length);
  while (same < shorter && before[before.length - 1 - same] === after[after.length - 1 - same]) ++same;
  return after.length - same;
}

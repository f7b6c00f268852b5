// Whether the server answers. While it does not, requests for data wait and are sent again when it is back: every view
// recovers from a restart of the server without knowing of it.
const again_ms = 1000;

class Connection {
  lost = $state(false);
  private waiting: (() => void)[] = [];

  // Resolves when the server answers again.
  back(): Promise<void> {
    if (!this.lost) {
      this.lost = true;
      void this.look();
    }
    return new Promise((found) => this.waiting.push(found));
  }
  // The server has answered.
  found() {
    if (!this.lost) return;
    this.lost = false;
    for (const each of this.waiting.splice(0)) each();
  }
  private async look() {
    while (this.lost) {
      await new Promise((later) => setTimeout(later, again_ms));
      try {
        await fetch('/api/status');
        this.found();
      } catch {
        // Still not there.
      }
    }
  }
}

export const connection = new Connection();

// Runs and sweeps that the page has started, kept up to date by the server's event stream, which starts with all
// tasks.
import { get, post, remove } from './api';
import { listen } from './events';
import { forgetEntry } from './run-data.svelte';
import type { Task } from './types';

const order: Record<Task['state'], number> = { waits: 0, runs: 1, done: 2, failed: 2, cancelled: 2 };
export const hasEnded = (task: Task) => order[task.state] === 2;
// The state of a task or a cell as text.
export const stateText = (state: string) => (state === 'waits' ? 'waiting' : state === 'runs' ? 'running' : state);

class Tasks {
  list: Task[] = $state([]);
  runsVersion = $state(0); // changes when the list of runs has
  private opened = false;
  private old = new Set<number>(); // not confirmed since the stream was opened again

  open() {
    if (this.opened) return;
    this.opened = true;
    listen({
      task: (task) => this.take(task as Task),
      runs: () => this.changed(),
      back: () => {
        this.changed();
        void this.reload();
      },
    });
  }
  // Events were missed. The server may be another one, whose tasks count from 1 again.
  private async reload() {
    this.old = new Set(this.list.map((task) => task.id));
    const mine = this.old;
    try {
      for (const task of (await get<{ tasks: Task[] }>('/api/tasks')).tasks) this.take(task);
    } catch {
      return;
    }
    this.list = this.list.filter((task) => !mine.has(task.id));
    mine.clear();
  }
  private changed() {
    forgetEntry();
    this.runsVersion++;
  }

  // An answer may arrive after a newer event: a task never goes back to an earlier state.
  private take(task: Task) {
    const at = this.list.findIndex((other) => other.id === task.id);
    const isOld = this.old.delete(task.id);
    if (at < 0) this.list.push(task);
    else {
      const now = this.list[at];
      const isOther = isOld || now.run !== task.run; // possibly of another server
      const back = !isOther && (order[task.state] < order[now.state] || (task.state === now.state && (task.progress.wall_s < now.progress.wall_s || task.progress.done < now.progress.done)));
      if (back) return;
      if (hasEnded(task) && !hasEnded(now)) this.changed();
      this.list[at] = task;
    }
  }

  async start(body: unknown): Promise<Task> {
    this.open();
    const { task } = await post<{ task: Task }>('/api/tasks', body);
    this.take(task);
    return task;
  }
  cancel(id: number) {
    return remove<unknown>(`/api/tasks/${id}`);
  }
  // The present state of a task that was started.
  find(started: Task | undefined): Task | undefined {
    return this.list.find((task) => task.id === started?.id && task.run === started.run);
  }
}

export const tasks = new Tasks();

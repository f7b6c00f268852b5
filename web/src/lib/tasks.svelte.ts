// Runs and sweeps that the page has started, kept up to date by the server's event stream.
import { get, isReport, post, remove } from './api';
import type { Task } from './types';

class Tasks {
  list: Task[] = $state([]);
  runsVersion = $state(0); // changes when the list of runs has
  private stream: EventSource | null = null;

  open() {
    if (this.stream || isReport) return;
    get<{ tasks: Task[] }>('/api/tasks').then((answer) => answer.tasks.forEach((task) => this.take(task)), () => {});
    this.stream = new EventSource('/api/events');
    this.stream.addEventListener('task', (event) => this.take(JSON.parse((event as MessageEvent).data)));
    this.stream.addEventListener('runs', () => this.runsVersion++);
  }

  private take(task: Task) {
    const at = this.list.findIndex((other) => other.id === task.id);
    if (at < 0) this.list.push(task);
    else this.list[at] = task;
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
  find(id: number | undefined): Task | undefined {
    return this.list.find((task) => task.id === id);
  }
}

export const tasks = new Tasks();

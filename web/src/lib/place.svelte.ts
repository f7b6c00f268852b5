// Where the runs are on the machine that serves them, for commands that somebody pastes into a shell. A report knows the
// directory and the name of its one run.
import { get, isReport } from './api';
import type { Status } from './types';

const report = isReport ? (window.WEFT_REPORT!['/report'] as { name?: string; directory?: string } | undefined) : undefined;

class Place {
  status: Status | null = $state.raw(null);
  private asked = false;

  private load() {
    if (this.asked || isReport) return;
    this.asked = true;
    get<Status>('/api/status').then((answer) => (this.status = answer), () => (this.asked = false));
  }
  private get isOneRun(): boolean {
    return this.status?.opens?.view === 'run';
  }
  // Of a run, as `weft` takes it from where the server was started.
  directory(run: string): string {
    if (report) return report.directory || 'run';
    this.load();
    const served = (this.status?.directory ?? 'runs').replace(/\/+$/, '') || '/';
    return run === 'run' && this.isOneRun ? served : `${served}/${run.replaceAll('~', '/')}`.replaceAll('//', '/');
  }
  // What people call the run: a server or a report of one run has it as `run`.
  name(run: string): string {
    if (report) return report.name || run;
    this.load();
    return run === 'run' && this.isOneRun ? (this.status!.directory.replace(/\/+$/, '').split('/').at(-1) || run) : run;
  }
}

export const place = new Place();

// As a word of a shell command.
export const quoted = (text: string) => (/^[\w./=:,+@%~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

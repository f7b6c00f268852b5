// Directories of the runs on the server's machine, for commands to paste into a shell. A report has the directory and the
// name of its run.
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
  // The directory of a run, relative to where the server was started.
  directory(run: string): string {
    if (report) return report.directory || 'run';
    this.load();
    const served = (this.status?.directory ?? 'runs').replace(/\/+$/, '') || '/';
    return run === 'run' && this.isOneRun ? served : `${served}/${run.replaceAll('~', '/')}`.replaceAll('//', '/');
  }
  // The name of the run for display: a server or a report of one run calls it `run`.
  name(run: string): string {
    if (report) return report.name || run;
    this.load();
    return run === 'run' && this.isOneRun ? (this.status!.directory.replace(/\/+$/, '').split('/').at(-1) || run) : run;
  }
}

export const place = new Place();

// As a word of a shell command.
export const quoted = (text: string) => (/^[\w./=:,+@%~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

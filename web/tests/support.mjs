// Shared by the tests of the page: runs of real labs, a `weft serve` on a free port, pages of a headless Chromium, screenshots.
// Screenshots are kept in $WEFT_SCREENSHOTS (default: build/screenshots). $WEFT_PAGE is a directory with a page that was
// built separately (`npm run build -- --outDir DIR`), used instead of the one in the binary.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { root, screenshots, takePage } from './pages.mjs';

export * from './pages.mjs';
export const weft = process.env.WEFT ?? join(root, 'build/weft');

// `weft` with these words. Other suites go on meanwhile.
export function called(words, options = {}) {
  const child = spawn(weft, words, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const [out, err] = [child.stdout, child.stderr].map((stream) => stream.setEncoding('utf8').toArray());
  return new Promise((ended, failed) => child.on('error', failed).on('close', async (status) => ended({ status, stdout: (await out).join(''), stderr: (await err).join('') })));
}
export async function call(...words) {
  const done = await called(words);
  if (done.status !== 0) throw new Error(`weft ${words.join(' ')}: ${done.status}\n${done.stderr}`);
  return done.stdout;
}
export const runLab = (directory, lab, ...options) => call('run', join(root, 'labs', lab), '--out', directory, ...options);

// Several suites look at the same runs: each is made once in a process, and copied.
let store;
const made = new Map();
after(() => store && rmSync(store, { recursive: true, force: true }));
export async function once(key, directory, make) {
  store ??= mkdtempSync(join(tmpdir(), `weft-runs-${process.pid}-`));
  const own = join(store, String(made.size));
  if (!made.has(key)) made.set(key, make(own).then(() => own));
  const copy = mkdtempSync(join(store, 'copy-'));
  cpSync(await made.get(key), copy, { recursive: true });
  renameSync(copy, directory);
}
export const keptRun = (directory, lab, ...options) => once(JSON.stringify([lab, ...options]), directory, (own) => runLab(own, lab, ...options));

export class Rig {
  // A server with the runs that `prepare(directory)` makes. It sees only worlds of its own.
  static async open(prepare, ...options) {
    const rig = new Rig();
    rig.directory = mkdtempSync(join(tmpdir(), `weft-page-${process.pid}-`));
    rig.worlds = join(rig.directory, '.worlds');
    mkdirSync(rig.worlds);
    rig.env = { ...process.env, XDG_RUNTIME_DIR: rig.worlds };
    await prepare?.(rig.directory);
    rig.options = options;
    await rig.serve('0');
    return rig;
  }

  async serve(port) {
    this.server = spawn(weft, ['serve', this.directory, '--port', port, ...this.options], { stdio: ['ignore', 'pipe', 'inherit'], env: this.env });
    this.url = await new Promise((found, failed) => {
      let text = '';
      this.server.stdout.on('data', (piece) => {
        text += piece;
        const match = text.match(/http:\/\/\S+?(?=\/?\s)/);
        if (match) found(match[0]);
      });
      this.server.on('exit', (code) => failed(new Error(`weft serve ended with ${code}`)));
    });
  }
  async stop() {
    this.server.removeAllListeners('exit');
    this.server.kill('SIGINT');
    await new Promise((ended) => this.server.on('exit', ended));
  }
  // Another server on the same port.
  async restart() {
    await this.stop();
    await this.serve(new URL(this.url).port);
  }

  page(path = '/', options) {
    return takePage(this.url + path, options);
  }

  // Saves a screenshot and returns its bytes.
  async shot(page, name) {
    mkdirSync(screenshots, { recursive: true });
    return page.screenshot({ path: join(screenshots, `${name}.png`) });
  }

  async close() {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

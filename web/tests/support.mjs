// Shared by the tests of the page: runs of real labs, a `weft serve` on a free port, a headless Chromium, screenshots.
// Screenshots are kept in $WEFT_SCREENSHOTS (default: build/screenshots). $WEFT_PAGE is a directory with a page that was
// built separately (`npm run build -- --outDir DIR`), used instead of the one in the binary.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const weft = process.env.WEFT ?? join(root, 'build/weft');
export const screenshots = process.env.WEFT_SCREENSHOTS ?? join(root, 'build/screenshots');

export function runLab(directory, lab, ...options) {
  const done = spawnSync(weft, ['run', join(root, 'labs', lab), '--out', directory, ...options], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`weft run ${lab}: ${done.status}\n${done.stderr}`);
}

export class Rig {
  // A server with the runs that `prepare(directory)` makes, and a browser.
  static async open(prepare, ...options) {
    const rig = new Rig();
    rig.directory = mkdtempSync(join(tmpdir(), `weft-page-${process.pid}-`));
    prepare(rig.directory);
    rig.options = options;
    await rig.serve('0');
    rig.browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
    return rig;
  }

  async serve(port) {
    this.server = spawn(weft, ['serve', this.directory, '--port', port, ...this.options], { stdio: ['ignore', 'pipe', 'inherit'] });
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

  // A new page; `errors` collects errors and warnings of the console.
  async page(path = '/', { dark = false, width = 1400, height = 900, still = false } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: still ? 'reduce' : 'no-preference' });
    if (process.env.WEFT_PAGE) await context.route(/\/app\.(js|css)$/, (route) => route.fulfill({ path: join(process.env.WEFT_PAGE, new URL(route.request().url()).pathname) }));
    const page = await context.newPage();
    page.errors = [];
    // A request that failed is reported with its address.
    page.on('console', (message) => ['error', 'warning'].includes(message.type())
      && page.errors.push(message.text() + (message.text().startsWith('Failed to load') ? ` ${message.location().url}` : '')));
    page.on('pageerror', (error) => page.errors.push(String(error)));
    // Requests of data that have no answer yet.
    page.asked = new Set();
    page.on('request', (request) => request.resourceType() === 'fetch' && page.asked.add(request));
    for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => page.asked.delete(request));
    await page.goto(this.url + path);
    return page;
  }

  // Saves a screenshot and returns its bytes.
  async shot(page, name) {
    mkdirSync(screenshots, { recursive: true });
    return page.screenshot({ path: join(screenshots, `${name}.png`) });
  }

  async close() {
    await this.browser?.close();
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

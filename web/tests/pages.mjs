// The browser that all suites of a process share, its pages, and the tests that use them. A page has a context of its own.
// A new context costs three times as much as a load in an old one, so pages are used again: they are given back when their
// test ends, after their storage and routes are cleared. Pages of a test that failed are closed; a picture of each is kept.
import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, test as nodeTest } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const screenshots = process.env.WEFT_SCREENSHOTS ?? join(root, 'build/screenshots');
const longest_ms = 120_000; // of any wait: reached only by what does not come, also on a slow machine

let launched;
const chromiumOnce = () => (launched ??= chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] }));
after(async () => (await launched)?.close());

export async function newContext(options) {
  const context = await (await chromiumOnce()).newContext(options);
  context.setDefaultTimeout(longest_ms);
  return context;
}

const idle = [];
const taken = new AsyncLocalStorage();

// A page at an address. `fresh`: for tests that add an init script, which can not be removed.
export async function takePage(address, { dark = false, width = 1400, height = 900, still = false, fresh = false } = {}) {
  const page = (!fresh && idle.pop()) || (await newPage());
  taken.getStore()?.push({ page, fresh });
  page.errors = [];
  page.asked = new Set();
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light', reducedMotion: still ? 'reduce' : 'no-preference' });
  await page.goto(address);
  return page;
}

async function newPage() {
  const context = await newContext();
  if (process.env.WEFT_PAGE) await context.route(/\/app\.(js|css)$/, (route) => route.fulfill({ path: join(process.env.WEFT_PAGE, new URL(route.request().url()).pathname) }));
  const page = await context.newPage();
  // Errors and warnings of the console. A request that failed is reported with its address.
  page.on('console', (message) => ['error', 'warning'].includes(message.type())
    && page.errors.push(message.text() + (message.text().startsWith('Failed to load') ? ` ${message.location().url}` : '')));
  page.on('pageerror', (error) => page.errors.push(String(error)));
  // Requests of data that have no answer yet, and how many began or ended.
  page.changes = 0;
  page.on('request', (request) => request.resourceType() === 'fetch' && ++page.changes && page.asked.add(request));
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => page.asked.delete(request) && ++page.changes);
  return page;
}

async function giveBack({ page, fresh }) {
  try {
    if (fresh) throw new Error('not used again');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.mouse.move(-9, -9);
    // An empty document of the same origin, so that the process stays.
    await page.route('**/rest', (route) => route.fulfill({ contentType: 'text/html', body: '<link rel="icon" href="data:,">' }));
    await page.goto(`${new URL(page.url()).origin}/rest`);
    await page.unrouteAll();
    await page.evaluate(() => [localStorage, sessionStorage].forEach((storage) => storage.clear()));
    idle.push(page);
  } catch {
    await page.context().close();
  }
}

// A test of node that gives its pages back.
export const test = (name, body) => nodeTest(name, (t) => taken.run([], async () => {
  const pages = taken.getStore();
  try {
    await body(t);
  } catch (error) {
    mkdirSync(screenshots, { recursive: true });
    for (const [i, { page }] of pages.entries()) {
      const path = join(screenshots, `failed-${name.replace(/\W+/g, '-').slice(0, 80)}-${i}.png`);
      await page.screenshot({ path }).catch(() => {});
      console.error(`${name}: ${page.url()}, ${path}; ${page.errors.join('; ')}`);
      await page.context().close();
    }
    throw error;
  }
  for (const each of pages) await giveBack(each);
}));

// Nothing moves on its own for longer than this: the page waits up to 200 ms before it requests data or writes the address.
// The wait is a timer of the page, so it ends after those that were set before it, however slow the machine is.
const rest = (page) => page.evaluate(() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 210)));
export const frames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

// All data has arrived and is drawn, and the address is written: no request began, ended or was under way during a rest.
export async function settled(page) {
  for (let before = -1; before !== page.changes || page.asked.size > 0; ) {
    before = page.changes;
    await rest(page);
  }
}

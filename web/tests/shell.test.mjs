import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before } from 'node:test';
import { keptRun, Rig, runLab, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open((directory) => keptRun(`${directory}/first-light`, 'first-light.yaml'));
});
after(() => rig.close());

test('tabs change the address, and keys select them', async () => {
  const page = await rig.page('/run/first-light');
  await page.getByRole('navigation', { name: 'Views of the run' }).getByRole('link', { name: 'Flows' }).click();
  assert.match(page.url(), /\/run\/first-light\/flows$/);
  await page.keyboard.press('3');
  assert.match(page.url(), /\/run\/first-light\/time$/);
  await page.goBack();
  assert.match(page.url(), /\/run\/first-light\/flows$/);
  assert.deepEqual(page.errors, []);
});

test('dark and light', async () => {
  const page = await rig.page('/', { dark: true });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await background();
  await page.getByRole('button', { name: 'Light or dark' }).click();
  assert.notEqual(await background(), dark);
  assert.deepEqual(page.errors, []);
});

test('an unknown page or run is reported, with links', async () => {
  for (const [path, text] of [['/xyz', 'There is no page /xyz'], ['/run/nope/time', 'There is no run nope'], ['/run/%E0%A4%A', 'There is no run']]) {
    const page = await rig.page(path);
    await page.getByText(text, { exact: false }).waitFor();
    assert.equal(await page.getByText('per second').count(), 0);
    await page.getByRole('main').getByRole('link', { name: 'first-light' }).click();
    await page.waitForURL(/\/run\/first-light$/);
    await page.getByRole('heading', { level: 1 }).waitFor();
    assert.deepEqual(page.errors.filter((error) => !/40[04]/.test(error)), []);
  }
  const json = await fetch(`${rig.url}/xyz`);
  assert.equal(json.status, 404);
  assert.match(json.headers.get('content-type'), /json/);
});

test('the header is one line at 1024 pixels and more', async () => {
  for (const width of [1024, 1100, 1400]) {
    const page = await rig.page('/run/first-light', { width });
    await page.getByRole('heading', { level: 1 }).waitFor();
    const height = await page.locator('header').evaluate((header) => header.getBoundingClientRect().height);
    assert.ok(height < 50, `${height} px at ${width}`);
    const over = await page.locator('header').evaluate((header) => header.scrollWidth - header.clientWidth);
    assert.ok(over <= 0, `${over} px too wide at ${width}`);
    if (width === 1024) await rig.shot(page, 'header-1024');
  }
});

test('one event stream, closed while the tab is hidden; the runs are loaded again afterwards', async () => {
  const page = await rig.page('/', { fresh: true });
  await page.addInitScript(() => {
    const real = window.EventSource;
    window.streams = [];
    window.EventSource = class extends real {
      constructor(url) {
        super(url);
        window.streams.push(this);
      }
    };
  });
  await page.goto(`${rig.url}/worlds`);
  await page.getByText('No world is up').waitFor();
  const open = () => page.evaluate(() => window.streams.filter((each) => each.readyState !== 2).length);
  assert.equal(await open(), 1);
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.getByRole('link', { name: 'first-light' }).waitFor();
  assert.equal(await open(), 1);
  const hide = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await hide(true);
  assert.equal(await open(), 0);
  const asked = page.waitForRequest(/\/api\/runs$/);
  await hide(false);
  await asked;
  assert.equal(await open(), 1);
  assert.deepEqual(page.errors, []);
});

test('a run repeated under the same name is loaded again', async () => {
  await runLab(`${rig.directory}/again`, 'first-light.yaml', '--seed', '1');
  const page = await rig.page('/run/again');
  await page.getByText('seed 1:').waitFor();
  await page.getByRole('link', { name: 'Flows', exact: true }).click();
  rmSync(`${rig.directory}/again`, { recursive: true });
  await runLab(`${rig.directory}/again`, 'first-light.yaml', '--seed', '4242');
  await page.waitForTimeout(2500);
  await page.getByRole('link', { name: 'Summary', exact: true }).click();
  await page.getByText('seed 4242:').waitFor();
});

test('the event stream is opened again after an error answer', async () => {
  const page = await rig.page('/labs');
  await page.getByRole('link', { name: 'incast-ecn' }).waitFor();
  await page.waitForTimeout(500); // its own stream is open
  let refused = 0;
  await page.route('**/api/events*', (route) => (++refused === 1 ? route.fulfill({ status: 503, json: { errors: [{ message: 'too many clients' }] } }) : route.continue()));
  await page.goto(`${rig.url}/runs`);
  await page.getByRole('link', { name: 'first-light' }).waitFor();
  await runLab(`${rig.directory}/after-503`, 'first-light.yaml');
  await page.getByRole('link', { name: 'after-503' }).waitFor({ timeout: 10_000 });
  assert.ok(refused >= 2);
});

test('without storage the page works', async () => {
  const page = await rig.page('/', { fresh: true });
  await page.addInitScript(() => Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError'); } }));
  await page.goto(`${rig.url}/lab/first-light.yaml`);
  await page.getByText('2 hosts').waitFor();
  const before = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.getByRole('button', { name: 'Light or dark' }).click();
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), before);
  const editor = page.getByRole('textbox', { name: 'Lab file' });
  await editor.fill((await editor.inputValue()).replace('seed: 1', 'seed: 2'));
  await page.getByRole('button', { name: 'Discard' }).click();
  assert.deepEqual(page.errors, []);
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { drawn, parameter, pixels, settled } from './fabrics.mjs';
import { Rig, runLab } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open((directory) => {
    for (const lab of ['incast-ecn', 'pause-propagation', 'link-cut']) runLab(`${directory}/${lab}`, `fabric/${lab}.yaml`, '--set', 'sample=auto');
  });
});
after(() => rig.close());

async function open(path, options) {
  const page = await rig.page(path, options);
  await page.locator('section .u-wrap').first().waitFor();
  await page.waitForTimeout(500);
  return page;
}
// A place on the plots, by the share of the range.
async function place(page, share) {
  const box = await page.locator('.stack').boundingBox();
  const left = 216 + 70;
  return { x: box.x + left + (box.width - left - 30) * share, y: box.y + 150 };
}

test('the plots of a run, with events, thresholds and pauses', async () => {
  const page = await open('/run/incast-ecn/time?at=500000000');
  for (const title of ['Events', 'Rate allowed per flow', 'Rate sent per host port', 'Queue depth', 'Buffer and headroom in use', 'ECN marks per second', 'CNPs per second', 'Pauses']) {
    assert.equal(await page.getByRole('region', { name: title, exact: true }).count(), 1, title);
  }
  assert.ok((await pixels(page, 'section[aria-label="Pauses"] canvas', '--pause')) > 500);
  assert.ok((await pixels(page, 'section[aria-label="Events"] canvas', '--mark')) > 100);
  await rig.shot(page, 'time-incast');
  assert.deepEqual(page.errors, []);
});

test('one cursor for time and fabric', async () => {
  const page = await open('/run/incast-ecn/time');
  const { x, y } = await place(page, 0.25);
  await page.mouse.click(x, y);
  await settled(page);
  const at = Number(parameter(page, 'at'));
  assert.ok(Math.abs(at - 0.25 * 2617e6) < 10e6, `at ${at}`);
  const shown = await page.getByLabel('Moment').textContent();
  await page.keyboard.press('2');
  await drawn(page);
  assert.equal(await page.getByLabel('Moment').textContent(), shown);
  await page.keyboard.press('ArrowRight');
  await settled(page);
  const moved = Number(parameter(page, 'at'));
  assert.ok(moved > at);
  await page.keyboard.press('3');
  await page.locator('.line.at').waitFor();
  assert.equal(Number(await page.locator('.line.at').getAttribute('data-cursor')), moved);
  assert.deepEqual(page.errors, []);
});

test('W A S D and a drag zoom, and only what is drawn is fetched', async () => {
  const page = await open('/run/pause-propagation/time?at=500000000', { dark: true });
  const asked = [];
  page.on('request', (request) => request.url().includes('/series/data') && asked.push(new URL(request.url()).searchParams));
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  await page.waitForTimeout(600);
  const span = () => Number(parameter(page, 'to')) - Number(parameter(page, 'from'));
  const zoomed = span();
  assert.ok(zoomed < 0.4 * 4905e6);
  assert.ok(asked.length > 0, 'nothing was fetched anew');
  for (const query of asked) {
    assert.ok(Number(query.get('points')) <= 1400);
    assert.ok(query.get('match').split(',').length < 60);
  }
  assert.equal(asked.at(-1).get('from_ps'), parameter(page, 'from'));
  const from = Number(parameter(page, 'from'));
  await page.keyboard.press('d');
  await settled(page);
  assert.ok(Number(parameter(page, 'from')) > from);
  await page.keyboard.press('a');
  await page.keyboard.press('s');
  await settled(page);
  assert.ok(span() > zoomed);
  const [a, b] = [await place(page, 0.2), await place(page, 0.4)];
  const before = span();
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move(b.x, b.y, { steps: 5 });
  await page.mouse.up();
  await page.waitForTimeout(500);
  assert.ok(Math.abs(span() / before - 0.2) < 0.02);
  await page.mouse.move(5, 5);
  await rig.shot(page, 'time-pauses-dark');
  await page.keyboard.press('0');
  assert.equal(parameter(page, 'from'), null);
  assert.deepEqual(page.errors, []);
});

test('search finds events, series and flows', async () => {
  const page = await open('/run/link-cut/time');
  await page.keyboard.press('/');
  const search = page.getByRole('dialog', { name: 'Search' });
  await search.getByRole('searchbox').fill('link down');
  await search.getByRole('button').first().waitFor();
  await rig.shot(page, 'time-search');
  await page.keyboard.press('Enter');
  await settled(page);
  assert.ok(Number(parameter(page, 'at')) > 500e6);
  await page.keyboard.press('/');
  await search.getByRole('searchbox').fill('series leaf0 buffer_B');
  await page.keyboard.press('Enter');
  await settled(page);
  assert.equal(parameter(page, 'plots'), 'leaf0.buffer_B');
  await page.getByRole('region', { name: 'leaf0.buffer_B' }).waitFor();
  await page.keyboard.press('/');
  await search.getByRole('searchbox').fill('flow pairs.2');
  await page.keyboard.press('Enter');
  await settled(page);
  assert.equal(parameter(page, 'flows'), 'pairs.2');
  await rig.shot(page, 'time-link-cut');
  assert.deepEqual(page.errors, []);
});

test('a plot folds away, in the address too', async () => {
  const page = await open('/run/link-cut/time');
  await page.getByRole('region', { name: 'Queue depth' }).getByRole('button').first().click();
  assert.equal(parameter(page, 'hide'), 'queues');
  assert.equal(await page.getByRole('region', { name: 'Queue depth' }).locator('.u-wrap').count(), 0);
  assert.deepEqual(page.errors, []);
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Rig, runLab } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open((directory) => runLab(`${directory}/incast`, 'fabric/incast-ecn.yaml', '--set', 'sample=auto'));
});
after(() => rig.close());

const names = (page) => page.locator('.rows .row').evaluateAll((rows) => rows.map((row) => row.children[1].textContent));
const times = (page) => page.locator('.rows .row').evaluateAll((rows) => rows.map((row) => parseFloat(row.children[6].textContent)));

test('sorts, finds, and shows distributions', async () => {
  const page = await rig.page('/run/incast/flows');
  await page.getByRole('grid').waitFor();
  assert.equal((await names(page)).length, 16);
  const slowest = await times(page);
  assert.deepEqual(slowest, [...slowest].sort((a, b) => b - a));
  await page.getByRole('button', { name: 'FCT' }).click();
  const fastest = await times(page);
  assert.deepEqual(fastest, [...fastest].sort((a, b) => a - b));
  assert.match(page.url(), /sort=fct_ps/);
  const svg = page.getByRole('img', { name: /Share of the flows/ });
  assert.match(await svg.textContent(), /p50 \d/);
  assert.match(await svg.textContent(), /p99/);
  assert.match(await page.locator('.figures').textContent(), /0\.\d{3}/); // Jain's index
  await page.getByLabel('stretch the tail').check();
  assert.match(await svg.textContent(), /99\.9 %/);
  await page.getByLabel('Find flows').fill('h4:p0');
  assert.equal((await names(page)).length, 1);
  await page.getByLabel('Find flows').fill('');
  await page.locator('.chips button').first().click();
  assert.ok((await names(page)).length < 17);
  await rig.shot(page, 'flows');
  assert.deepEqual(page.errors, []);
});

test('chosen flows stay in the address and in other views', async () => {
  const page = await rig.page('/run/incast/flows', { dark: true });
  const grid = page.getByRole('grid');
  await grid.waitFor();
  await grid.focus();
  const [first, second] = await names(page);
  await page.keyboard.press(' ');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press(' ');
  assert.equal(new URL(page.url()).searchParams.get('flows'), `${first},${second}`);
  assert.equal(await page.getByRole('row', { selected: true }).count(), 2);
  await rig.shot(page, 'flows-dark');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/run\/incast\/time\?.*flows=/);
  assert.equal(new URL(page.url()).searchParams.get('flows'), second);
  assert.deepEqual(page.errors, []);
});

test('ten thousand flows scroll', async () => {
  const context = await rig.browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  const n = 10_000;
  await page.route('**/api/runs/incast/flows', async (route) => {
    const answer = await (await route.fetch()).json();
    for (const key of Object.keys(answer)) answer[key] = Array.from({ length: n }, (_, i) => answer[key][i % 16]);
    answer.id = Array.from({ length: n }, (_, i) => `many.${i}`);
    answer.fct_ps = Array.from({ length: n }, (_, i) => 1_000_000 + ((i * 7919) % n) * 1000);
    await route.fulfill({ json: answer });
  });
  await page.goto(`${rig.url}/run/incast/flows`);
  await page.getByRole('grid').waitFor();
  assert.ok((await page.locator('.rows .row').count()) < 80);
  const took = await page.evaluate(async () => {
    const table = document.querySelector('.table');
    const start = performance.now();
    for (let i = 1; i <= 20; ++i) {
      table.scrollTop = (i / 20) * table.scrollHeight;
      await new Promise((next) => requestAnimationFrame(next));
    }
    return (performance.now() - start) / 20;
  });
  console.log(`10,000 flows: ${took.toFixed(1)} ms a frame`);
  await page.getByRole('grid').focus();
  await page.keyboard.press('End');
  await page.waitForFunction(() => document.querySelector('.rows .row:last-child')?.getAttribute('aria-rowindex') === '10000');
  await context.close();
});

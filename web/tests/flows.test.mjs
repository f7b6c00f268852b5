import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { keptRun, Rig, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(async (directory) => {
    await keptRun(`${directory}/incast`, 'fabric/incast-ecn.yaml', '--set', 'sample=auto');
    await keptRun(`${directory}/pair`, 'two-node-100g.yaml');
  });
});
after(() => rig.close());

const names = (page) => page.locator('.rows .row').evaluateAll((rows) => rows.map((row) => row.children[1].textContent));
const times = (page) => page.locator('.rows .row').evaluateAll((rows) => rows.map((row) => parseFloat(row.children[6].textContent)));

test('the table sorts and filters, and distributions are shown', async () => {
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

test('the distribution of messages is in the address', async () => {
  const page = await rig.page('/run/incast/flows');
  await page.getByRole('radio', { name: 'messages' }).check();
  assert.equal(new URL(page.url()).searchParams.get('of'), 'latency');
  const svg = page.getByRole('img', { name: /Share of the messages/ });
  assert.match(await svg.textContent(), /p50.* \d/);
  const summary = (await (await fetch(`${rig.url}/api/runs/incast/flows/summary`)).json()).workloads[0];
  const cells = await page.locator('.figures tbody tr').first().locator('td').allTextContents();
  assert.equal(cells[2], summary.latency.count.toLocaleString('en-US'));
  assert.ok(Math.abs(parseFloat(cells[3]) - summary.latency.p50 / 1e9) < 0.01, cells[3]);
  await page.getByLabel('stretch the tail').check();
  await page.locator('.rows .row').first().click();
  await page.getByText('1 chosen').waitFor();
  assert.match(await svg.textContent(), /, p50: \d/); // the tick of the flow that is chosen
  await rig.shot(page, 'flows-latency');
  // The address opens the same view.
  const other = await rig.page(new URL(page.url()).pathname + new URL(page.url()).search, { dark: true });
  await other.getByRole('img', { name: /Share of the messages/ }).waitFor();
  assert.ok(await other.getByLabel('stretch the tail').isChecked());
  await rig.shot(other, 'flows-latency-dark');
  await other.getByRole('radio', { name: 'flows' }).check();
  assert.equal(new URL(other.url()).searchParams.get('of'), null);
  assert.deepEqual([...page.errors, ...other.errors], []);
});

test('the table sorts by latency, also for workloads without flows', async () => {
  const page = await rig.page('/run/pair/flows');
  await page.getByRole('img', { name: /Share of the messages/ }).waitFor();
  assert.equal(await page.getByRole('radio').count(), 0); // nothing to choose: no flow has a completion time
  await page.getByRole('button', { name: 'Lat. p99' }).click();
  assert.match(page.url(), /sort=-latency_p99_ps/);
  const units = { ns: 1e3, us: 1e6, ms: 1e9 };
  const shown = await page.locator('.rows .row').evaluateAll((rows) => rows.map((row) => row.children[10].textContent));
  const values = shown.map((text) => parseFloat(text) * units[text.split(' ')[1]]);
  assert.ok(values.length >= 6);
  assert.deepEqual(values, [...values].sort((a, b) => b - a));
  const dashes = await page.locator('.plot path[stroke]').evaluateAll((paths) => paths.map((p) => p.getAttribute('stroke-dasharray')));
  assert.equal(new Set(dashes).size, dashes.length); // lines differ without colour
  await rig.shot(page, 'flows-pair');
  const narrow = await rig.page('/run/pair/flows?tail=1', { dark: true, width: 1000 });
  await narrow.getByRole('img', { name: /Share of the messages/ }).waitFor();
  await rig.shot(narrow, 'flows-pair-dark');
  assert.deepEqual([...page.errors, ...narrow.errors], []);
});

test('the keyboard moves from the search field to the table and back', async () => {
  const page = await rig.page('/run/incast/flows');
  await page.getByRole('grid').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('h4');
  await page.keyboard.press('Enter');
  await page.keyboard.press(' ');
  const chosen = new URL(page.url()).searchParams.get('flows');
  assert.match(chosen ?? '', /^incast\/\d+$/);
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Find flows');
  assert.deepEqual(page.errors, []);
});

test('chosen flows are kept in the address and in other views', async () => {
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
  const page = await rig.page('/labs');
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
});

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { keptRun, Rig, settled, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(async (directory) => {
    await keptRun(`${directory}/pfc`, 'fabric/incast-pfc.yaml', '--set', 'sample=auto');
    await keptRun(`${directory}/ecn`, 'fabric/incast-ecn.yaml', '--set', 'sample=auto');
    await keptRun(`${directory}/few`, 'fabric/incast-ecn.yaml', '--set', 'sample=auto', '--set', 'fabric.hosts=3', '--set', 'expect={}');
    // Both are thinned to the same number of points.
    await keptRun(`${directory}/long`, 'fabric/incast-ecn.yaml', '--set', 'sample=2 us');
    await keptRun(`${directory}/short`, 'fabric/incast-ecn.yaml', '--set', 'sample=2 us', '--set', 'workloads[incast].size=1 MB', '--set', 'expect={}');
  });
});
after(() => rig.close());

test('two runs: labs, results, plots, links', async () => {
  const page = await rig.page('/compare');
  await page.getByLabel('Run A').selectOption('pfc');
  await page.getByLabel('Run B').selectOption('ecn');
  await page.getByRole('heading', { name: 'What differs in the lab' }).waitFor();
  assert.match(page.url(), /a=pfc&b=ecn/);
  const lab = page.locator('table.lab');
  assert.match(await lab.textContent(), /≠|\+|−/);
  assert.ok((await lab.locator('tbody tr').count()) > 0);
  await page.locator('.uplot').first().waitFor();
  assert.ok((await page.locator('figure').count()) >= 3);
  const groups = await page.locator('h3').allTextContents();
  assert.deepEqual(groups.map((text) => text.split(' ')[0]), ['Workloads', 'Fabric', 'Hosts', 'Ports']);
  assert.match(await page.locator('table.results').first().textContent(), /[▲▼] [-+x]/);
  await rig.shot(page, 'compare');
  await page.getByLabel('Find figures').fill('ecn_marked');
  for (const name of await page.locator('table.results td.name').allTextContents()) assert.match(name, /ecn_marked/);
  await page.getByLabel('Find figures').fill('');
  await page.getByRole('button', { name: 'Swap' }).click();
  assert.match(page.url(), /a=ecn&b=pfc/);
  await page.locator('.heads').getByRole('link', { name: 'Time' }).first().click();
  assert.match(page.url(), /\/run\/ecn\/time/);
  assert.deepEqual(page.errors, []);
});

test('a run compared with itself has no differences', async () => {
  const page = await rig.page('/compare?a=ecn&b=ecn', { dark: true });
  await page.getByText('The same lab, seed and results').waitFor();
  assert.deepEqual(page.errors, []);
});

test('dark theme', async () => {
  const page = await rig.page('/compare?a=pfc&b=ecn', { dark: true, height: 1500 });
  await page.locator('.uplot').first().waitFor();
  await settled(page);
  await rig.shot(page, 'compare-dark');
  assert.deepEqual(page.errors, []);
});

// The lines of a plot as they are drawn.
const linesOf = (page, title) => page.locator('figure', { hasText: title }).locator('.plot').evaluate((plot) => plot.weft?.lines ?? []);

test('runs of different length have their own times', async () => {
  const page = await rig.page('/compare?a=long&b=short');
  await page.locator('figure', { hasText: 'Largest queue' }).locator('.uplot').waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll('figure .plot')].slice(0, 2).every((plot) => plot.weft?.lines.length === 2));
  const end = async (run) => (await (await page.request.get(`${rig.url}/api/runs/${run}`)).json()).end_ps;
  for (const title of ['Largest queue', 'Sent by all hosts']) {
    const lines = await linesOf(page, title);
    assert.equal(lines[0].x.length, lines[1].x.length, title);
    for (const [i, run] of ['long', 'short'].entries()) {
      const [last, whole] = [lines[i].x.at(-1), await end(run)];
      assert.ok(last < whole + 5e6 && last > 0.98 * whole, `${title}: the last point of ${run} is at ${last}, its end at ${whole}`);
    }
    // What is drawn: at the end of the long run only that has a value.
    const drawn = await page.locator('figure', { hasText: title }).locator('.plot').evaluate((plot) => plot.weft.drawn().map((column) => [...column]));
    assert.equal(drawn[0].at(-1), lines[0].x.at(-1));
    assert.equal(drawn[3].at(-1) ?? null, null, 'the shorter run has no value at the end of the longer one');
  }
  assert.deepEqual(page.errors, []);
});

test('hosts that only one run has count in its sum', async () => {
  const page = await rig.page('/compare?a=few&b=ecn');
  await page.waitForFunction(() => document.querySelector('figure .plot')?.weft?.lines.length === 2);
  const most = (await linesOf(page, 'Sent by all hosts')).map((line) => Math.max(...(line.max ?? line.min).filter((y) => y !== null)));
  assert.ok(most[0] > 100e9 && most[0] < 210e9, `two senders at 100 Gb/s: ${most[0]}`);
  assert.ok(most[1] > 1e12, `sixteen senders: ${most[1]}`);
  assert.deepEqual(page.errors, []);
});

test('the sum of rates is that of the counters', async () => {
  const page = await rig.page('/compare?a=long&b=short');
  await page.locator('figure', { hasText: 'Sent by all hosts' }).locator('.uplot').waitFor();
  await page.waitForFunction(() => document.querySelector('figure .plot')?.weft?.lines.length === 2);
  const [line] = await linesOf(page, 'Sent by all hosts');
  const { series } = await (await page.request.get(`${rig.url}/api/runs/long/series`)).json();
  const sent = series.filter((s) => s.metric === 'tx_bytes' && /^h\d/.test(s.node)).reduce((sum, s) => sum + s.last, 0);
  let drawn = 0;
  for (let i = 0; i + 1 < line.x.length; ++i) drawn += (line.min[i] * (line.x[i + 1] - line.x[i])) / 8e12;
  assert.ok(Math.abs(drawn / sent - 1) < 0.02, `${drawn} B drawn, ${sent} B sent`);
});

test('many series are requested in pieces', async () => {
  const page = await rig.page('/compare');
  const extra = Array.from({ length: 380 }, (_, i) => ({ id: `a-switch-with-a-long-name-${i}:swp1.3.ecn_marked`, node: `a-switch-with-a-long-name-${i}`, port: 'swp1', class: 3, metric: 'ecn_marked', unit: '1', most: 9, last: 9 }));
  await page.route('**/api/runs/ecn/series', async (route) => {
    const { series } = await (await route.fetch()).json();
    return route.fulfill({ json: { series: [...series, ...extra] } });
  });
  const asked = [];
  page.on('request', (request) => request.url().includes('/series/data') && asked.push(request.url()));
  await page.goto(`${rig.url}/compare?a=ecn&b=pfc`);
  await page.locator('figure', { hasText: 'ECN marks' }).locator('.uplot').waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll('figure .plot')].every((plot) => plot.weft?.lines.length > 0));
  for (const url of asked) assert.ok(url.length < 8000, `${url.length} characters`);
  const names = new Set(asked.filter((url) => url.includes('/ecn/')).flatMap((url) => new URL(url).searchParams.get('match').split(',')));
  assert.equal(extra.filter((each) => names.has(each.id)).length, extra.length);
  assert.deepEqual(page.errors, []);
});

test('an added series that is there twice is drawn once and reported', async () => {
  const page = await rig.page('/compare?a=ecn&b=pfc&plots=leaf0.buffer_B,leaf0.buffer_B');
  await page.locator('figure', { hasText: 'leaf0.buffer_B' }).waitFor();
  assert.equal(await page.locator('figure', { hasText: 'leaf0.buffer_B' }).count(), 1);
  await page.getByText('has a series twice').waitFor();
  assert.deepEqual(page.errors, []);
});

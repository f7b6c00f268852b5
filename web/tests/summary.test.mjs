import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { after, before } from 'node:test';
import { parameter } from './fabrics.mjs';
import { keptRun, Rig, settled, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(async (directory) => {
    await keptRun(`${directory}/incast-ecn`, 'fabric/incast-ecn.yaml', '--set', 'sample=auto');
    await keptRun(`${directory}/link-cut`, 'fabric/link-cut.yaml', '--set', 'sample=auto');
    await keptRun(`${directory}/plain`, 'first-light.yaml');
    await keptRun(`${directory}/unfinished`, 'first-light.yaml');
    rmSync(`${directory}/unfinished/results.sqlite`);
  });
});
after(() => rig.close());

test('the first screen shows what happened and links to the time', async () => {
  const page = await rig.page('/run/incast-ecn');
  await page.getByRole('heading', { level: 1 }).filter({ hasText: '16 of 16 flows' }).waitFor();
  for (const text of ['links', 'flows', 'see also']) await page.getByRole('rowheader', { name: text, exact: true }).waitFor();
  await page.getByText('4 of 4 met').waitFor();
  await page.getByText('16 of 16 flows done').first().waitFor();
  assert.match(await page.locator('.command code').textContent(), new RegExp(`^weft run ${rig.directory}/incast-ecn/lab\\.yaml --seed 1 --set sample=auto --out ${rig.directory}/incast-ecn-again$`));
  await page.getByLabel('The run over time').first().waitFor();
  await settled(page);
  await rig.shot(page, 'summary-incast');
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'report.md' }).click()]);
  assert.equal(file.suggestedFilename(), 'report.md');
  // The time is a link in the headline, and no line below repeats it.
  const sentence = page.getByRole('heading', { level: 1 });
  const moment = await sentence.getByRole('link').textContent();
  assert.match(moment, /congestion at leaf0:swp1/);
  const below = await page.locator('.why').textContent();
  assert.ok(!below.includes(moment), below);
  await sentence.getByRole('link').click();
  await page.waitForFunction(() => location.pathname.endsWith('/time'));
  assert.ok(Number(parameter(page, 'at')) > 0);
  assert.deepEqual(page.errors, []);
});

test('the strip opens the time view', async () => {
  const page = await rig.page('/run/link-cut', { dark: true });
  const strip = page.locator('.strip canvas');
  await strip.waitFor();
  await settled(page);
  await rig.shot(page, 'summary-link-cut-dark');
  const box = await strip.boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForFunction(() => location.pathname.endsWith('/time'));
  assert.ok(Math.abs(Number(parameter(page, 'at')) - 7471e6 / 2) < 60e6);
  assert.deepEqual(page.errors, []);
});

test('a run without series shows how to get them', async () => {
  const page = await rig.page('/run/plain');
  await page.getByText('--set sample=auto').waitFor();
  assert.deepEqual(page.errors, []);
});

test('a run without results.sqlite says so', async () => {
  const page = await rig.page('/run/unfinished');
  await page.getByRole('heading', { name: /no results\.sqlite/ }).waitFor();
  await page.getByRole('link', { name: 'All runs' }).waitFor();
  assert.deepEqual(page.errors, []);
});

// What was counted, not what was recorded; and no more is fetched than the screen shows.
test('the number of events is that of the counters, from one small answer for each part', async () => {
  const page = await rig.page('/labs');
  const answers = [];
  page.on('response', (answer) => answer.url().includes('/api/runs/') && answers.push(answer));
  await page.goto(`${rig.url}/run/incast-ecn`);
  await page.locator('.tallies').waitFor();
  const shown = await page.locator('.tallies').textContent();
  const results = JSON.parse(readFileSync(`${rig.directory}/incast-ecn/results.json`, 'utf8'));
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const cnps = sum(results.ports.map((port) => port.hw_counters.np_cnp_sent));
  const marks = sum(results.switches.flatMap((s) => s.ports.flatMap((port) => port.classes.map((c) => c.ecn_marked))));
  assert.ok(cnps > 100 && marks > 100);
  for (const [title, n] of [['CNP', cnps], ['ECN mark', marks]]) assert.match(shown, new RegExp(`(^|, )${n.toLocaleString('en-US')} × ${title}`));
  const paths = answers.map((answer) => new URL(answer.url()).pathname.replace('/api/runs/incast-ecn', ''));
  assert.deepEqual([...paths].sort(), ['', '/activity/total', '/events']);
  const sizes = await Promise.all(answers.map(async (answer) => (await answer.request().sizes()).responseBodySize));
  assert.ok(sum(sizes) < 60_000, `${sizes} bytes`);
});

test('the legend shows every sign, from any view', async () => {
  for (const dark of [false, true]) {
    const page = await rig.page('/run/incast-ecn/time', { dark });
    await page.keyboard.press('?');
    const samples = page.getByRole('complementary', { name: 'Legend' }).locator('canvas');
    await samples.first().waitFor();
    assert.ok((await samples.count()) >= 12);
    const empty = await samples.evaluateAll((list) => list.filter((c) => !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0)).length);
    assert.equal(empty, 0);
    await rig.shot(page, `legend${dark ? '-dark' : ''}`);
    await page.keyboard.press('Escape');
    assert.equal(await samples.count(), 0);
    assert.deepEqual(page.errors, []);
  }
});

test('the headline takes three lines at most', async () => {
  const page = await rig.page('/run/incast-ecn');
  const h1 = page.getByRole('heading', { level: 1 });
  await h1.waitFor();
  const lines = await h1.evaluate((e) => e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight));
  assert.ok(lines < 3.2, `${lines} lines`);
});

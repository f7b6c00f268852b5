import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { call, Rig, root, settled, test } from './support.mjs';

const sweep = (directory, ...vary) => call('sweep', join(root, 'labs/fabric/incast-ecn.yaml'), '--out', directory, ...vary.flatMap((each) => ['--vary', each]));

let rig;
before(async () => {
  rig = await Rig.open(async (directory) => {
    await sweep(`${directory}/two`, 'fabric.hosts=3,5,9', 'workloads[incast].size=200 kB,400 kB');
    await sweep(`${directory}/one`, 'fabric.hosts=3,5,9');
    await sweep(`${directory}/three`, 'fabric.hosts=3,5', 'workloads[incast].size=100 kB,200 kB', 'seed=1,2');
    // One cell as a killed run leaves it.
    const path = `${directory}/two/sweep.json`;
    const json = JSON.parse(readFileSync(path, 'utf8'));
    Object.assign(json.cells[5], { state: 'failed', problem: 'killed by signal 9' });
    delete json.cells[5].met;
    json.cells[5].values = json.cells[5].values.map(() => null);
    writeFileSync(path, JSON.stringify(json));
  });
});
after(() => rig.close());

test('two paths: a heat map whose cells open their runs', async () => {
  const page = await rig.page('/sweep');
  await page.getByRole('link', { name: 'two', exact: true }).click();
  const cells = page.locator('.heat tbody td');
  await cells.first().waitFor();
  assert.equal(await cells.count(), 6);
  const texts = await cells.allTextContents();
  assert.equal(texts.filter((text) => /\d/.test(text)).length, 5);
  assert.equal(texts.filter((text) => text.includes('✗')).length, 1);
  assert.match(await page.textContent('main'), /killed by signal 9/);
  const before = await cells.allTextContents();
  await page.getByLabel('Metric').selectOption({ label: 'fabric.ecn_marked' });
  assert.match(page.url(), /metric=fabric.ecn_marked/);
  assert.notDeepEqual(await cells.allTextContents(), before);
  // The text of each cell has enough contrast with its background.
  const contrasts = await page.locator('.heat tbody td:not(.empty)').evaluateAll((list) => list.map((cell) => {
    const light = (colour) => {
      const [r, g, b] = colour.match(/\d+/g).slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const [x, y] = [light(getComputedStyle(cell).color), light(getComputedStyle(cell).backgroundColor)];
    return Math.max(x, y) / Math.min(x, y);
  }));
  for (const contrast of contrasts) assert.ok(contrast >= 4.5, `contrast ${contrast}`);
  await rig.shot(page, 'sweep');
  await page.locator('.heat a').first().focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/run\/two~cell-\d+/);
  assert.deepEqual(page.errors, []);
});

test('one path: a line', async () => {
  const page = await rig.page('/sweep/one', { dark: true });
  await page.locator('.curve circle').first().waitFor();
  assert.equal(await page.locator('.curve circle').count(), 3);
  await rig.shot(page, 'sweep-line-dark');
  assert.deepEqual(page.errors, []);
});

test('three paths: a map for each value of the third', async () => {
  const page = await rig.page('/sweep/three', { dark: true });
  await page.locator('.heat').first().waitFor();
  assert.equal(await page.locator('.heat').count(), 2);
  assert.equal(await page.locator('.heat tbody td').count(), 8);
  await rig.shot(page, 'sweep-dark');
  assert.deepEqual(page.errors, []);
});

test('a sweep is started, shows its progress, and is drawn', async () => {
  const page = await rig.page('/sweep?lab=fabric/incast-ecn.yaml');
  await page.getByLabel('Path 1').fill('fabric.hosts');
  await page.getByLabel('Path 1').press('Tab');
  await page.getByLabel('Values 1').fill('3, 4');
  await page.getByRole('textbox', { name: 'Name' }).fill('mine');
  await rig.shot(page, 'sweep-form');
  await page.getByRole('button', { name: 'Start 2 runs' }).click();
  await page.waitForURL(/\/sweep\/mine/);
  await page.locator('.curve circle').nth(1).waitFor();
  assert.deepEqual(page.errors.filter((text) => !/404.*\/api\/sweeps\/mine$/.test(text)) /* before its first run is done */, []);
});

test('noise has one colour and enough digits, and the first metric is one that differs', async () => {
  const path = `${rig.directory}/two/sweep.json`;
  const json = JSON.parse(readFileSync(path, 'utf8'));
  json.metrics.push({ name: 'incast.noise_us', unit: 'us' });
  json.cells.forEach((cell, i) => cell.values.push(cell.state === 'done' ? 2618 * (1 + i * 5e-6) : null));
  writeFileSync(path, JSON.stringify(json));
  const page = await rig.page('/sweep/two?metric=incast.noise_us');
  const cells = page.locator('.heat tbody td:not(.empty)');
  await cells.first().waitFor();
  assert.equal(new Set(await cells.evaluateAll((list) => list.map((cell) => getComputedStyle(cell).backgroundColor))).size, 1);
  const texts = await cells.allTextContents();
  assert.equal(new Set(texts).size, texts.length, texts.join());
  await page.getByText('have the same colour').waitFor();
  await rig.shot(page, 'sweep-noise');
  const first = await rig.page('/sweep/two');
  await first.locator('.heat tbody td').first().waitFor();
  await settled(first);
  const name = await first.getByLabel('Metric').inputValue();
  const lab = await (await fetch(`${rig.url}/api/runs/two~${json.cells[0].run}`)).json();
  assert.ok(lab.expect.some((each) => each.text.startsWith(`${name} `)), `${name} of ${lab.expect.map((e) => e.text).join('; ')}`);
  assert.deepEqual([...page.errors, ...first.errors], []);
});

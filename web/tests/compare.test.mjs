import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Rig, runLab } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open((directory) => {
    runLab(`${directory}/pfc`, 'fabric/incast-pfc.yaml', '--set', 'sample=auto');
    runLab(`${directory}/ecn`, 'fabric/incast-ecn.yaml', '--set', 'sample=auto');
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
  assert.match(await page.locator('table.results').first().textContent(), /[▲▼] [+−×]/);
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
  await page.waitForTimeout(300);
  await rig.shot(page, 'compare-dark');
  assert.deepEqual(page.errors, []);
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Rig } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(() => {});
});
after(() => rig.close());

const editor = (page) => page.getByRole('textbox', { name: 'Lab file' });

test('the gallery finds labs and opens one', async () => {
  const page = await rig.page('/');
  await page.getByRole('searchbox', { name: 'Find labs' }).fill('incast dcqcn hpcc');
  await page.getByRole('link', { name: 'incast-ecn' }).click();
  assert.match(page.url(), /\/lab\/fabric\/incast-ecn\.yaml$/);
  await page.getByText('17 hosts, 1 switch').waitFor();
  await rig.shot(page, 'lab');
  assert.deepEqual(page.errors, []);
});

test('a knob edits the file, and the run has its value', async () => {
  const page = await rig.page('/lab/fabric/incast-ecn.yaml');
  const start = Date.now();
  await page.getByLabel('Hosts', { exact: true }).fill('5');
  await page.getByLabel('Hosts', { exact: true }).press('Enter');
  await page.getByText('5 hosts, 1 switch').waitFor();
  const text = await editor(page).inputValue();
  assert.match(text, /hosts: 5\n/);
  assert.match(text, /^# Sixteen to one/, 'comments stay');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForURL(/\/run\/incast-ecn$/);
  await page.getByText('4 of 4 flows', { exact: false }).first().waitFor();
  console.log(`knob to drawn result: ${Date.now() - start} ms`);
  const lab = await (await fetch(`${rig.url}/api/runs/incast-ecn/lab`)).json();
  assert.match(lab.text, /hosts: 5\n/);
  assert.deepEqual(page.errors, []);
});

test('a run of incast-ecn from click to drawn result', async () => {
  const page = await rig.page('/lab/fabric/incast-ecn.yaml');
  await page.getByText('17 hosts, 1 switch').waitFor();
  const start = Date.now();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText('16 of 16 flows', { exact: false }).first().waitFor();
  await page.locator('canvas').first().waitFor();
  console.log(`click to drawn result: ${Date.now() - start} ms`);
  assert.deepEqual(page.errors, []);
});

test('an error stands at its line', async () => {
  const page = await rig.page('/lab/fabric/incast-ecn.yaml', { dark: true });
  await page.getByText('17 hosts, 1 switch').waitFor();
  const text = await editor(page).inputValue();
  await editor(page).fill(text.replace('hosts: 17', 'hosts: many'));
  await page.getByText('1 error').waitFor();
  const line = text.slice(0, text.indexOf('hosts: 17')).split('\n').length;
  await page.getByRole('button', { name: `line ${line}` }).waitFor();
  assert.equal(await page.locator('.gutter .bad').textContent().then((t) => t.replace(/\s+/g, ' ').trim()), `✗ ${line}`);
  assert.ok(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled());
  await rig.shot(page, 'lab-error-dark');
  assert.deepEqual(page.errors, []);
});

test('a run can be cancelled, and what happened is kept', async () => {
  const page = await rig.page('/lab/fabric/incast-ecn.yaml');
  await page.getByText('17 hosts, 1 switch').waitFor();
  const text = await editor(page).inputValue();
  await editor(page).fill(text.replace('size: 2 MB', 'size: 20 GB').replace('name: incast-ecn', 'name: long'));
  await page.getByLabel('size of incast').and(page.locator('[value="20 GB"]')).or(page.getByText('✓')).first().waitFor();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText('simulated in', { exact: false }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Cancelled.', { exact: false }).waitFor();
  await page.getByRole('link', { name: 'long' }).click();
  await page.waitForURL(/\/run\/long$/);
  assert.deepEqual(page.errors, []);
});

test('labs that start programs are not run', async () => {
  const page = await rig.page('/lab/perftest-25g.yaml');
  await page.getByText('✗', { exact: false }).or(page.getByText('✓', { exact: false })).first().waitFor();
  const answer = await page.evaluate(async () => {
    const lab = await (await fetch('/api/labs/perftest-25g.yaml')).json();
    const asked = await fetch('/api/tasks', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ text: lab.text }) });
    return asked.status;
  });
  assert.equal(answer, 403);
});

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { parameter } from './fabrics.mjs';
import { Rig, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open();
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

test('a run of incast-ecn from the click to the drawn result', async () => {
  const page = await rig.page('/lab/fabric/incast-ecn.yaml');
  await page.getByText('17 hosts, 1 switch').waitFor();
  const start = Date.now();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText('16 of 16 flows', { exact: false }).first().waitFor();
  await page.locator('canvas').first().waitFor();
  console.log(`click to drawn result: ${Date.now() - start} ms`);
  assert.deepEqual(page.errors, []);
});

test('an error is marked at its line', async () => {
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

test('a run can be cancelled, and its results until then are kept', async () => {
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

test('an edited text is restored after Runs and Back, a reload, and Back from its run', async () => {
  const page = await rig.page('/lab/fabric/incast-pfc.yaml');
  await page.getByText('hosts, 1 switch').waitFor();
  const before = await editor(page).inputValue();
  await editor(page).fill(before.replace('size: 2 MB', 'size: 100 kB'));
  await page.getByText('edited', { exact: false }).first().waitFor();
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.waitForURL(/\/runs/);
  await page.goBack();
  await page.waitForFunction(() => document.querySelector('textarea')?.value.includes('size: 100 kB'));
  await page.reload();
  await page.getByText('edited, restored').waitFor();
  await page.getByText('hosts, 1 switch').waitFor();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForURL(/\/run\/incast-pfc/);
  await page.getByRole('heading', { level: 1 }).waitFor();
  // Differences from the ready lab are shown, also if the text was edited by hand.
  await page.getByText('workloads[incast].size=100 kB', { exact: false }).first().waitFor();
  await rig.shot(page, 'summary-edited');
  await page.goBack();
  await page.waitForFunction(() => document.querySelector('textarea')?.value.includes('size: 100 kB'));
  await page.getByRole('button', { name: 'Discard' }).click();
  assert.equal(await editor(page).inputValue(), before);
  await page.reload();
  await page.getByText('hosts, 1 switch').waitFor();
  assert.equal(await editor(page).inputValue(), before);
  assert.deepEqual(page.errors, []);
  const runs = await rig.page('/runs');
  await runs.getByRole('cell', { name: /workloads\[incast\]\.size=100 kB/ }).waitFor();
  assert.deepEqual(runs.errors, []);
});

test('a run links back to its lab', async () => {
  const page = await rig.page('/lab/first-light.yaml');
  await page.getByText('2 hosts').waitFor();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForURL(/\/run\/first-light/);
  await page.getByRole('link', { name: 'Edit and run again' }).click();
  await page.waitForURL(/\/lab\?run=first-light/);
  await page.getByText('2 hosts').waitFor();
  assert.match(await editor(page).inputValue(), /name: first-light/);
  assert.equal(await page.getByText('edited', { exact: false }).count(), 0);
  assert.deepEqual(page.errors, []);
});

test('changed knobs are in the address', async () => {
  const page = await rig.page('/lab/fabric/incast-ecn.yaml');
  await page.getByLabel('Hosts', { exact: true }).fill('6');
  await page.getByLabel('Hosts', { exact: true }).press('Enter');
  await page.getByText('6 hosts, 1 switch').waitFor();
  const other = await rig.page(new URL(page.url()).pathname + new URL(page.url()).search);
  await other.getByText('6 hosts, 1 switch').waitFor();
  assert.match(await editor(other).inputValue(), /hosts: 6\n/);
  assert.deepEqual([...page.errors, ...other.errors], []);
});

test('Ctrl+Z takes back a knob, typing and Discard, in the file and in the address', async () => {
  const page = await rig.page('/lab/fabric/incast-ecn.yaml');
  await page.getByText('17 hosts, 1 switch').waitFor();
  const text = () => editor(page).inputValue();
  const becomes = (part) => page.waitForFunction((wanted) => document.querySelector('textarea').value.includes(wanted), part);
  const original = await text();
  const hosts = page.getByLabel('Hosts', { exact: true });
  await hosts.fill('5');
  await hosts.press('Enter');
  await becomes('hosts: 5\n');
  const turned = await text();
  await hosts.press('Control+z');
  await becomes('hosts: 17\n');
  assert.equal(await text(), original);
  assert.equal(parameter(page, 'set'), null);
  await hosts.press('Control+Shift+Z');
  await becomes('hosts: 5\n');
  assert.match(parameter(page, 'set'), /=5$/);
  // Typing is one step, after which the knob is the next.
  await editor(page).focus();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('# mine\n');
  assert.equal(await text(), `# mine\n${turned}`);
  await page.keyboard.press('Control+z');
  assert.equal(await text(), turned);
  await page.keyboard.press('Control+y');
  assert.equal(await text(), `# mine\n${turned}`);
  await page.getByRole('button', { name: 'Discard' }).click();
  assert.equal(await text(), original);
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).click();
  assert.equal(await text(), `# mine\n${turned}`);
  assert.match(parameter(page, 'set'), /=5$/);
  assert.deepEqual(page.errors, []);
  await page.evaluate(() => localStorage.clear());
});

test('a wrong value is marked at its knob, and the others stay', async () => {
  const page = await rig.page('/lab/fabric/incast-ecn.yaml');
  await page.getByText('17 hosts, 1 switch').waitFor();
  const hosts = page.getByLabel('Hosts', { exact: true });
  await hosts.fill('many');
  await hosts.press('Enter');
  await page.getByText('1 error').waitFor();
  const at = page.locator('aside [role=alert]');
  await at.waitFor();
  assert.match(await at.textContent(), /line \d+/);
  assert.equal(await hosts.inputValue(), 'many');
  await page.getByLabel('size of incast').or(page.getByLabel('Flow control')).first().waitFor();
  await rig.shot(page, 'lab-knob-wrong');
  await hosts.fill('9');
  await hosts.press('Enter');
  await page.getByText('9 hosts, 1 switch').waitFor();
  assert.equal(await at.count(), 0);
  // A cleared knob removes its key; the exponent is labelled as one.
  const before = await editor(page).inputValue();
  const kmin = page.getByLabel(/^Kmin of queue/);
  await kmin.fill('150 kB');
  await kmin.press('Enter');
  await page.waitForFunction((old) => document.querySelector('textarea').value !== old, before);
  await kmin.fill('');
  await kmin.press('Enter');
  await page.waitForFunction((old) => document.querySelector('textarea').value === old, before);
  const alpha = page.getByLabel(/^Alpha of group/);
  assert.match(await alpha.getAttribute('placeholder'), /^-?\d+$/);
  assert.deepEqual(page.errors, []);
});

test('invalid seeds are rejected, large seeds are exact', async () => {
  const page = await rig.page('/lab/first-light.yaml');
  await page.getByText('2 hosts').waitFor();
  await page.locator('input.seed').fill('abc');
  await page.getByText('a seed is a whole number').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled());
  await page.locator('input.seed').fill('9007199254740993');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForURL(/\/run\/first-light/);
  await page.getByText('first-light, seed 9007199254740993').waitFor();
  const code = await page.locator('.command code').textContent();
  assert.match(code, /--seed 9007199254740993/);
  assert.deepEqual(page.errors, []);
});

// Answers of this path are given after a while.
const delayed = (page, path, ms) => page.route(`**${path}`, async (route) => {
  await new Promise((later) => setTimeout(later, ms));
  await route.continue();
});

test('a text that is typed while a knob edits the file is kept', async () => {
  const page = await rig.page('/lab/fabric/incast-ecn.yaml');
  await page.getByText('17 hosts, 1 switch').waitFor();
  await delayed(page, '/api/lab/edit', 700);
  const hosts = page.getByLabel('Hosts', { exact: true });
  await hosts.fill('7');
  const asked = page.waitForRequest(/lab\/edit/);
  await hosts.press('Enter');
  await asked;
  await editor(page).fill((await editor(page).inputValue()).replace('name: incast-ecn', 'name: typed'));
  await page.getByText('✓ 7 hosts').waitFor();
  const text = await editor(page).inputValue();
  assert.match(text, /name: typed/);
  assert.match(text, /hosts: 7\n/);
  assert.deepEqual(page.errors, []);
});

test('the check of a lab does not change the knob that is being typed into', async () => {
  const page = await rig.page('/lab/fabric/incast-ecn.yaml');
  await page.getByText('17 hosts, 1 switch').waitFor();
  await delayed(page, '/api/lab/check', 500);
  const kmin = page.getByLabel(/^Kmin of queue/);
  const before = await editor(page).inputValue();
  await kmin.fill('150 kB');
  const checked = page.waitForResponse(/lab\/check/);
  await kmin.press('Enter');
  await page.waitForFunction((old) => document.querySelector('textarea').value !== old, before);
  await kmin.fill('');
  await checked;
  await page.waitForTimeout(200);
  assert.equal(await kmin.inputValue(), '');
  await kmin.press('Enter');
  await page.waitForFunction((old) => document.querySelector('textarea').value === old, before);
  // Until the check of the new text answers, the field has what was entered.
  assert.equal(await kmin.inputValue(), '');
  assert.deepEqual(page.errors, []);
});

test('after a restart of the server, a new run is not taken for an old one', async () => {
  const page = await rig.page('/lab/first-light.yaml');
  await page.getByText('2 hosts').waitFor();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForURL(/\/run\/first-light/);
  // A view that is opened while the server is away is there when the server is back.
  await rig.stop();
  await page.keyboard.press('4');
  await page.getByRole('alert').filter({ hasText: 'does not answer' }).waitFor();
  await rig.serve(new URL(rig.url).port);
  await page.getByRole('columnheader').first().waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
  await page.goBack();
  await page.goBack();
  await page.getByText('2 hosts').waitFor();
  const [answer] = await Promise.all([page.waitForResponse((r) => r.url().endsWith('/api/tasks') && r.request().method() === 'POST'), page.getByRole('button', { name: 'Run', exact: true }).click()]);
  const { task } = await answer.json();
  assert.equal(task.id, 1);
  await page.waitForURL(/\/run\/first-light/);
  assert.equal(new URL(page.url()).pathname, `/run/${task.run}`);
});

// The panel "Why is this flow slow?": how the time was spent, the path, its events, and the command.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { keptRun, Rig, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open((directory) => keptRun(`${directory}/incast`, 'fabric/incast-ecn.yaml', '--set', 'sample=auto'));
});
after(() => rig.close());

test('the panel shows how the time of a flow was spent', async () => {
  const page = await rig.page('/run/incast/flows?flows=incast/10');
  await page.getByRole('button', { name: 'Why is incast/10 slow?' }).click();
  assert.equal(new URL(page.url()).searchParams.get('why'), 'incast/10');
  const panel = page.getByRole('complementary', { name: 'Why is incast/10 slow?' });
  await panel.getByRole('img', { name: /Where its time went: .*%/ }).waitFor();
  const text = await panel.textContent();
  assert.match(text, /h11:p0/);
  assert.match(text, /leaf0:swp1/);
  assert.match(text, /slowdown/);
  assert.match(text, /CNPs/);
  assert.match(text, /weft explain incast --flow incast\/10/);
  assert.doesNotMatch(text, /round trip/); // a queue of 14 MB is behind it
  await rig.shot(page, 'flow-panel');
  await panel.getByRole('link', { name: /us|ms/ }).first().click();
  await page.waitForURL(/\/run\/incast\/time\?.*at=\d+/);
  assert.deepEqual(page.errors, []);
});

test('the fabric view opens the panel for a chosen flow, also in the dark theme', async () => {
  const page = await rig.page('/run/incast/fabric?flows=incast/3', { dark: true });
  await page.getByRole('button', { name: 'Why is incast/3 slow?' }).click();
  const panel = page.getByRole('complementary', { name: 'Why is incast/3 slow?' });
  await panel.getByRole('img', { name: /Where its time went/ }).waitFor();
  await rig.shot(page, 'flow-panel-dark');
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  assert.deepEqual(page.errors, []);
});

test('a flow is found by its name in the headline, and the address is readable', async () => {
  const page = await rig.page('/run/incast');
  const name = (await page.locator('h1').textContent()).match(/incast\/\d+/)[0];
  await page.goto(`${rig.url}/run/incast/flows`);
  await page.getByLabel('Find flows').fill(name);
  await page.waitForFunction(() => document.querySelectorAll('.rows .row').length === 1);
  const row = page.locator('.rows .row').first();
  assert.equal(await row.locator('span').nth(1).textContent(), name);
  await row.click();
  await page.waitForURL(new RegExp(`flows=${name}`));
});

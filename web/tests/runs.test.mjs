// The list of runs: studies, and answers that arrive late.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { keptRun, Rig, runLab, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(async (directory) => {
    await keptRun(`${directory}/first-light`, 'first-light.yaml');
    await keptRun(`${directory}/study`, 'first-light.yaml', '--seeds', '2');
  });
});
after(() => rig?.close());

test('a run of several seeds is listed with its runs', async () => {
  const page = await rig.page('/runs');
  const group = page.getByRole('button', { name: 'study' }).and(page.locator('.fold'));
  await group.click();
  await page.getByRole('link', { name: /^study~/ }).nth(1).waitFor();
  await page.getByRole('link', { name: 'first-light', exact: true }).waitFor();
  assert.deepEqual(page.errors, []);
});

test('an older list does not replace a newer one', async () => {
  const page = await rig.page('/labs');
  let asked = 0;
  await page.route('**/api/runs', async (route) => {
    const answer = await route.fetch();
    const { runs } = await answer.json();
    if (++asked > 1) return route.fulfill({ json: { runs } });
    await new Promise((later) => setTimeout(later, 1500));
    return route.fulfill({ json: { runs: runs.map((run) => ({ ...run, headline: 'an old headline' })) } });
  });
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await runLab(`${rig.directory}/later`, 'first-light.yaml'); // the list is requested again
  await page.getByRole('link', { name: 'later', exact: true }).waitFor();
  const headline = page.getByText('an old headline').first();
  await assert.rejects(headline.waitFor({ timeout: 2000 }));
  assert.ok(asked >= 2);
});

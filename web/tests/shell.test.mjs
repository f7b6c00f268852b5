import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Rig, runLab } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open((directory) => runLab(`${directory}/first-light`, 'first-light.yaml'));
});
after(() => rig.close());

test('tabs change the address and keys choose them', async () => {
  const page = await rig.page('/run/first-light');
  await page.getByRole('navigation', { name: 'Views of the run' }).getByRole('link', { name: 'Flows' }).click();
  assert.match(page.url(), /\/run\/first-light\/flows$/);
  await page.keyboard.press('3');
  assert.match(page.url(), /\/run\/first-light\/time$/);
  await page.goBack();
  assert.match(page.url(), /\/run\/first-light\/flows$/);
  assert.deepEqual(page.errors, []);
});

test('dark and light', async () => {
  const page = await rig.page('/', { dark: true });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await background();
  await page.getByRole('button', { name: 'Light or dark' }).click();
  assert.notEqual(await background(), dark);
  assert.deepEqual(page.errors, []);
});

// Findings: severity as word and sign, evidence with links to its time and packets, remedies to copy.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { keptRun, Rig, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(async (directory) => {
    await keptRun(`${directory}/pauses`, 'fabric/pause-propagation.yaml', '--capture', 'all', '--snaplen', '96');
    await keptRun(`${directory}/calm`, 'first-light.yaml');
  });
});
after(() => rig?.close());

// Every form of a finding, independent of what the runs above contain.
const all = {
  findings: [
    { severity: 'note', from: 'run', kind: 'cut off', title: 'The run ended at its duration', evidence: [], cause: '', remedy: [] },
    { severity: 'error', from: 'analyze', kind: 'psn-gap', title: '3 packets were lost between h0 and h1', cause: 'The link lost them: ICRC errors beside.',
      evidence: [{ text: 'PSN 17 is missing', time_ps: 2_000_000, packet: 3, port: 'h0:p0' }, { text: 'nothing came of it at', time_ps: 3_000_000, packet: null, port: 'h0:p0' }],
      remedy: ['weft analyze runs/x/capture.pcapng --table retransmissions', 'Look at the cable'] },
    { severity: 'warning', from: 'explain', kind: 'pause', title: 'Pauses spread over two hops', evidence: [{ text: 'first at', time_ps: 1_000_000, packet: null, port: null }], cause: '', remedy: [] },
  ],
};

test('forms of findings', async () => {
  for (const dark of [false, true]) {
    const page = await rig.page('/run/pauses', { dark });
    await page.route('**/api/runs/pauses/findings', (route) => route.fulfill({ json: all }));
    await page.getByRole('link', { name: 'Findings' }).click();
    await page.getByRole('heading', { name: '3 findings' }).waitFor();
    const titles = await page.locator('article h2').allInnerTexts();
    assert.match(titles[0], /✖ error 3 packets were lost/);
    assert.match(titles[1], /▲ warning/);
    assert.match(titles[2], /ℹ note/);
    await rig.shot(page, `findings-${dark ? 'dark' : 'light'}`);
    await page.getByRole('button', { name: /1 note/ }).click();
    assert.equal(await page.locator('article').count(), 2);
    await page.getByRole('link', { name: 'packet 3' }).click();
    await page.waitForURL(/\/run\/pauses\/packets\?.*packet=3/);
    await page.getByText('Packet 3', { exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'in Time' }).first().click();
    await page.waitForURL(/\/run\/pauses\/time\?.*at=2000000/);
  }
});

test('a run without findings lists what was checked', async () => {
  const page = await rig.page('/run/calm');
  await page.route('**/api/runs/calm/findings', (route) => route.fulfill({ json: { findings: [], looked_at: ['5 expectations', '1 flow'] } }));
  await page.getByRole('link', { name: 'Findings' }).click();
  await page.getByRole('heading', { name: 'No findings' }).waitFor();
  await page.getByText('5 expectations').waitFor();
  await rig.shot(page, 'findings-none');
});

test('findings of a real run', async (t) => {
  const answer = await fetch(`${rig.url}/api/runs/pauses/findings`);
  if (answer.status === 404) return t.skip('this server has no findings yet');
  const { findings } = await answer.json();
  assert.ok(findings.length > 0);
  const page = await rig.page('/run/pauses/findings');
  await page.locator('article').first().waitFor();
  assert.equal(await page.locator('article').count(), findings.length);
  await rig.shot(page, 'findings-run');
  assert.deepEqual(page.errors, []);
});

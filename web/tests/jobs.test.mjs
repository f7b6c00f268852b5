// Jobs: the timeline of 32 and of 256 ranks, keys, streams of a rank; bus bandwidth of nccl-tests against the roofline.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Rig, runLab } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open((directory) => {
    runLab(`${directory}/gpt`, 'ai/gpt-step-dp-tp.yaml');
    runLab(`${directory}/gpt256`, 'ai/gpt-step-dp-tp.yaml', '--set', 'fabric.hosts=32', '--set', 'expect={}');
    runLab(`${directory}/nccl`, 'ai/healthy-2x4.yaml');
    runLab(`${directory}/plain`, 'first-light.yaml');
  });
});
after(() => rig?.close());
const answer = async (run) => (await fetch(`${rig.url}/api/runs/${run}/jobs`)).json();
// Pixels of a canvas that are not empty.
const drawn = (page, name) =>
  page.locator(`canvas[aria-label^="${name}"]`).evaluate((canvas) => {
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let count = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i] > 0) ++count;
    return count / (data.length / 4);
  });

test('states of a rank do not overlap and fill the step', async () => {
  const [job] = (await answer('gpt')).jobs;
  assert.equal(job.ranks, 32);
  const spans = job.states.rank.map((rank, i) => ({ rank, from: job.states.from_ps[i], to: job.states.to_ps[i] }));
  for (let rank = 0; rank < 32; ++rank) {
    const own = spans.filter((span) => span.rank === rank).sort((a, b) => a.from - b.from);
    for (let i = 1; i < own.length; ++i) assert.equal(own[i].from, own[i - 1].to);
    assert.equal(own[0].from, 0);
  }
  // What the run itself counted as exposed.
  const exposed = job.kinds.indexOf('exposed');
  const sum = job.states.kind.reduce((all, kind, i) => all + (kind === exposed && job.states.rank[i] === 0 ? job.states.to_ps[i] - job.states.from_ps[i] : 0), 0);
  assert.ok(Math.abs(sum / job.rank[0].exposed_ps - 1) < 0.02, `${sum} and ${job.rank[0].exposed_ps}`);
  const data = job.busbw.find((row) => row.groups === 'data');
  assert.ok(Math.abs(data.roofline_Bps - 50e9) < 1, `${data.roofline_Bps}`);
  assert.equal(job.busbw.find((row) => row.groups === 'tensor').roofline_Bps, null);
});

test('timeline of a training step', async () => {
  for (const dark of [false, true]) {
    const page = await rig.page('/run/gpt/jobs', { dark });
    await page.getByText('32 ranks').first().waitFor();
    assert.ok((await drawn(page, 'Timeline')) > 0.2);
    await page.locator('canvas').first().click({ position: { x: 500, y: 60 } });
    await page.getByText('Streams of rank').waitFor();
    assert.match(page.url(), /rank=2/);
    await page.keyboard.press('w');
    await page.keyboard.press('w');
    await page.waitForURL(/from=\d+&to=\d+/);
    await page.keyboard.press('d');
    await page.keyboard.press('s');
    await rig.shot(page, `jobs-${dark ? 'dark' : 'light'}`);
    assert.deepEqual(page.errors, [], page.errors.join());
    await page.context().close();
  }
});

test('256 ranks', async () => {
  const begin = performance.now();
  const page = await rig.page('/run/gpt256/jobs');
  await page.getByText('256 ranks').first().waitFor();
  console.log(`256 ranks in ${(performance.now() - begin).toFixed(0)} ms`);
  assert.ok((await drawn(page, 'Timeline')) > 0.3);
  const frame_ms = await page.evaluate(async () => {
    const before = performance.now();
    for (let i = 0; i < 10; ++i) {
      window.dispatchEvent(new KeyboardEvent('keydown', { key: i < 5 ? 'w' : 's' }));
      await new Promise((next) => requestAnimationFrame(next));
    }
    return (performance.now() - before) / 10;
  });
  console.log(`a step of the zoom ${frame_ms.toFixed(1)} ms`);
  await rig.shot(page, 'jobs-256');
  assert.deepEqual(page.errors, [], page.errors.join());
});

test('bus bandwidth against the roofline', async () => {
  const { jobs } = await answer('nccl');
  const two = jobs.find((job) => job.workload === 'two-nodes');
  assert.equal(two.ranks, 8);
  for (const row of two.busbw) {
    assert.equal(row.roofline_Bps, 25e9);
    assert.ok(row.busbw_Bps < row.roofline_Bps);
  }
  for (const dark of [false, true]) {
    const page = await rig.page('/run/nccl/jobs?job=two-nodes', { dark });
    await page.locator('.uplot canvas').waitFor();
    await rig.shot(page, `jobs-busbw-${dark ? 'dark' : 'light'}`);
    assert.deepEqual(page.errors, [], page.errors.join());
    await page.context().close();
  }
});

test('a run without a job says so', async () => {
  const page = await rig.page('/run/plain/jobs');
  await page.getByRole('heading', { name: 'No job' }).waitFor();
  assert.deepEqual(page.errors, [], page.errors.join());
});

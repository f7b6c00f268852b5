// Jobs: the timeline of 32 and of 256 ranks with ports and flows under it, keys, streams of a rank; bus bandwidth of
// nccl-tests against the roofline.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { keptRun, Rig, settled, test } from './support.mjs';

let rig;
const screen = { width: 1280, height: 800 };
const others = ['moe-incast', 'nvlink-8', 'one-slow-rail', 'chakra-zero1'];
before(async () => {
  rig = await Rig.open(async (directory) => {
    const sampled = ['--set', 'sample=auto'];
    await keptRun(`${directory}/gpt`, 'ai/gpt-step-dp-tp.yaml', ...sampled);
    await keptRun(`${directory}/gpt256`, 'ai/gpt-step-dp-tp.yaml', '--set', 'fabric.hosts=32', '--set', 'expect={}', ...sampled);
    await keptRun(`${directory}/nccl`, 'ai/healthy-2x4.yaml', ...sampled);
    for (const name of others) await keptRun(`${directory}/${name}`, `ai/${name}.yaml`, ...sampled);
    await keptRun(`${directory}/plain`, 'first-light.yaml');
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

test('the states of a rank fill the step without overlap', async () => {
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
  // A rail of 400G less headers; within a host NVLink.
  const data = job.busbw.find((row) => row.groups === 'data');
  assert.equal(data.roofline[0].name, 'NIC line rate');
  assert.ok(data.roofline_Bps > 48.5e9 && data.roofline_Bps < 50e9, `${data.roofline_Bps}`);
  assert.ok(data.busbw_Bps < data.roofline_Bps);
  const tensor = job.busbw.find((row) => row.groups === 'tensor');
  assert.match(tensor.roofline[0].name, /NVLink|blocks/);
  assert.ok(tensor.busbw_Bps < tensor.roofline_Bps);
  assert.deepEqual(job.rank[11].ports, ['h1:p3']);
});

test('timeline of a training step', async () => {
  for (const dark of [false, true]) {
    const page = await rig.page('/run/gpt/jobs', { dark, ...screen });
    await page.getByText('32 ranks').first().waitFor();
    await page.locator('canvas[aria-label^="Traffic"]').waitFor();
    assert.ok((await drawn(page, 'Timeline')) > 0.2);
    assert.ok((await drawn(page, 'Traffic')) > 0.05);
    await page.locator('canvas').first().click({ position: { x: 500, y: 60 } });
    await page.getByText('Streams of rank').waitFor();
    assert.match(page.url(), /rank=2/);
    // Its flows are chosen for all views: those of rail 2 from and to h0.
    const chosen = () => new URL(page.url()).searchParams.get('flows')?.split(',') ?? [];
    assert.ok(chosen().length >= 2 && chosen().every((id) => id.includes('h0:p2')), chosen().join());
    assert.ok((await drawn(page, 'Flows')) > 0.05);
    await page.keyboard.press('w');
    await page.keyboard.press('w');
    await page.waitForURL(/from=\d+/);
    await page.keyboard.press('d');
    await page.keyboard.press('s');
    await page.keyboard.press('ArrowRight');
    await page.waitForURL(/at=\d+/);
    await settled(page);
    await rig.shot(page, `jobs-${dark ? 'dark' : 'light'}`);
    // A click on a chosen flow removes it.
    const before = chosen();
    await page.locator('canvas[aria-label^="Flows"]').click({ position: { x: 60, y: 28 } });
    await page.waitForFunction((length) => (new URL(location.href).searchParams.get('flows') ?? '').split(',').length < length, before.length);
    await page.keyboard.press('ArrowDown');
    await page.getByText('Streams of rank 3').waitFor();
    assert.ok(chosen().every((id) => id.includes('h0:p3')), chosen().join());
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => !location.search.includes('rank='));
    // The link to another view keeps the time and the range.
    await page.locator('.links a', { hasText: 'Time' }).click();
    await page.waitForURL(/\/time\?.*at=\d+/);
    assert.deepEqual(page.errors, [], page.errors.join());
  }
});

test('256 ranks', async () => {
  const begin = performance.now();
  const page = await rig.page('/run/gpt256/jobs', screen);
  await page.getByText('256 ranks').first().waitFor();
  console.log(`256 ranks in ${(performance.now() - begin).toFixed(0)} ms`);
  assert.ok((await drawn(page, 'Timeline')) > 0.3);
  await page.locator('canvas[aria-label^="Traffic"]').waitFor();
  console.log(`and the ports in ${(performance.now() - begin).toFixed(0)} ms`);
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
  await page.keyboard.press('ArrowDown');
  await page.getByText('Streams of rank 0').waitFor();
  await rig.shot(page, 'jobs-256-rank');
  assert.deepEqual(page.errors, [], page.errors.join());
});

test('bus bandwidth against the roofline', async () => {
  const { jobs } = await answer('nccl');
  const two = jobs.find((job) => job.workload === 'two-nodes');
  assert.equal(two.ranks, 8);
  for (const row of two.busbw) {
    assert.ok(row.busbw_Bps < row.roofline_Bps, `${row.size_B}`);
    assert.equal(row.roofline_Bps, Math.min(...row.roofline.map((bound) => bound.Bps)));
  }
  // PCIe with TLPs of 128 B is below the line of 200G.
  const large = two.busbw.at(-1);
  assert.equal(large.roofline[0].name, 'PCIe');
  assert.ok(large.busbw_Bps > 0.9 * large.roofline_Bps);
  const line = large.roofline.find((bound) => bound.name === 'NIC line rate');
  assert.ok(line.Bps > 24e9 && line.Bps < 25e9, `${line.Bps}`);
  for (const dark of [false, true]) {
    const page = await rig.page('/run/nccl/jobs?job=two-nodes', { dark, ...screen });
    await page.locator('.uplot canvas').waitFor();
    await page.waitForFunction(() => !document.querySelector('main').innerText.includes('…'));
    await rig.shot(page, `jobs-busbw-${dark ? 'dark' : 'light'}`);
    assert.deepEqual(page.errors, [], page.errors.join());
  }
});

test('other labs', async () => {
  for (const name of others) {
    const [job] = (await answer(name)).jobs;
    for (const dark of [false, true]) {
      const page = await rig.page(`/run/${name}/jobs${job.kind === 'job' ? '?rank=3' : ''}`, { dark, ...screen });
      await page.getByText('Bus bandwidth').first().waitFor();
      await settled(page);
      await rig.shot(page, `jobs-${name}-${dark ? 'dark' : 'light'}`);
      assert.deepEqual(page.errors, [], page.errors.join());
    }
  }
});

test('a run without a job shows a message', async () => {
  const page = await rig.page('/run/plain/jobs');
  await page.getByRole('heading', { name: 'No jobs' }).waitFor();
  assert.deepEqual(page.errors, [], page.errors.join());
});

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { drawn, parameter, pixels, runFatTree } from './fabrics.mjs';
import { keptRun, Rig, settled, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(async (directory) => {
    for (const lab of ['fabric/incast-ecn', 'fabric/pause-propagation', 'fabric/link-cut', 'first-light']) {
      await keptRun(`${directory}/${lab.split('/').at(-1)}`, `${lab}.yaml`, '--set', 'sample=auto');
    }
    await runFatTree(`${directory}/permutation-128`, 8, '1 MB');
    await runFatTree(`${directory}/permutation-1024`, 16, '250 kB');
  });
});
after(() => rig.close());

const stage = '.stage canvas';
async function open(path, options) {
  const page = await rig.page(path, options);
  await drawn(page);
  return page;
}

test('pauses spread through the fabric as time goes on', async () => {
  const page = await open('/run/pause-propagation/fabric?at=100000000');
  const hatched = [];
  for (const at of [100, 300, 500, 1200]) {
    const strip = await page.locator('.strip canvas').boundingBox();
    await page.mouse.click(strip.x + 2 + (strip.width - 4) * (at * 1e6 / 4905e6), strip.y + 30);
    await settled(page);
    await page.mouse.move(5, 60);
    hatched.push(await pixels(page, stage, '--pause'));
    await rig.shot(page, `fabric-pauses-${at}us`);
  }
  for (let i = 1; i < hatched.length; ++i) assert.ok(hatched[i] > hatched[i - 1] * 1.15, `hatching does not grow: ${hatched}`);
  assert.deepEqual(page.errors, []);
});

test('a cut link has a flag, losses are crosses', async () => {
  const page = await open('/run/link-cut/fabric?at=500000000', { dark: true });
  const before = await pixels(page, stage, '#d55e00');
  await page.goto(rig.url + '/run/link-cut/fabric?at=1200000000');
  await drawn(page);
  await settled(page);
  assert.ok((await pixels(page, stage, '#d55e00')) > before + 50);
  assert.ok((await pixels(page, stage, '--loss')) > 5);
  await rig.shot(page, 'fabric-link-cut-dark');
  assert.deepEqual(page.errors, []);
});

test('keys move the cursor by samples and events, and play', async () => {
  const page = await open('/run/incast-ecn/fabric?at=500000000');
  const at = () => Number(parameter(page, 'at'));
  await page.keyboard.press('ArrowRight');
  await settled(page);
  const sample = at() - 500000000;
  assert.ok(sample > 0 && sample < 100e6, `a sample is ${sample} ps`);
  await page.keyboard.press('Shift+ArrowRight');
  await settled(page);
  assert.ok(Math.abs(at() - 500000000 - 11 * sample) <= sample);
  const here = at();
  await page.keyboard.press('ArrowDown');
  await settled(page);
  assert.ok(at() > here);
  await page.keyboard.press('ArrowUp');
  await settled(page);
  assert.ok(at() <= here);
  await page.keyboard.press('Home');
  await page.keyboard.press(' ');
  await page.waitForTimeout(600);
  await page.keyboard.press(' ');
  await settled(page);
  const played = at();
  assert.ok(played > 0, 'it did not play');
  await settled(page);
  assert.equal(at(), played, 'it did not stop');
  assert.deepEqual(page.errors, []);
});

test('tooltips show the values of links and nodes, and a click opens a node', async () => {
  const page = await open('/run/incast-ecn/fabric?at=500000000&flows=incast/3,incast/9');
  await settled(page);
  assert.ok((await pixels(page, stage, '#d55e00')) > 100, 'the flow is not drawn');
  const box = await page.locator(stage).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 110);
  await page.getByRole('tooltip').getByText('leaf0').first().waitFor();
  await page.mouse.click(box.x + box.width / 2, box.y + 110);
  const panel = page.getByRole('complementary', { name: 'Node leaf0' });
  await panel.getByText('swp17').first().waitFor();
  assert.equal(parameter(page, 'node'), 'leaf0');
  await panel.getByText('QoS chain').waitFor();
  await rig.shot(page, 'fabric-incast-node');
  await page.keyboard.press('Escape');
  assert.equal(parameter(page, 'node'), null);
  assert.deepEqual(page.errors, []);
});

test('two hosts', async () => {
  const page = await open('/run/first-light/fabric?at=1000000000');
  assert.match(await page.locator(stage).getAttribute('aria-label'), /2 hosts, 1 link/);
  await rig.shot(page, 'fabric-two-hosts');
  assert.deepEqual(page.errors, []);
});

test('128 hosts', async () => {
  const page = await open('/run/permutation-128/fabric?at=40000000');
  assert.match(await page.locator(stage).getAttribute('aria-label'), /128 hosts, 80 switches, 384 links/);
  await rig.shot(page, 'fabric-128');
  assert.deepEqual(page.errors, []);
});

test('1,024 hosts: times of drawing and scrubbing; a click opens a pod', async (t) => {
  const firsts = [];
  let page;
  for (let i = 0; i < 3; ++i) {
    page = await open('/run/permutation-1024/fabric?at=20000000', { dark: i === 1 });
    firsts.push(await page.evaluate(() => performance.getEntriesByName('fabric first draw')[0].duration));
    if (i > 0) await rig.shot(page, `fabric-1024${i === 1 ? '-dark' : ''}`);
  }
  await settled(page);
  await page.evaluate(() => performance.clearMeasures('fabric frame'));
  const strip = await page.locator('.strip canvas').boundingBox();
  await page.mouse.move(strip.x + 20, strip.y + 30);
  await page.mouse.down();
  for (let i = 0; i < 60; ++i) await page.mouse.move(strip.x + 20 + i * 8, strip.y + 30);
  await page.mouse.up();
  const frames = await page.evaluate(() => performance.getEntriesByName('fabric frame').map((e) => e.duration).sort((a, b) => a - b));
  const median = frames[frames.length >> 1];
  t.diagnostic(`first draw ${firsts.map((x) => x.toFixed(0)).join(', ')} ms; ${frames.length} frames, median ${median.toFixed(1)} ms, 90 % within ${frames[Math.floor(frames.length * 0.9)].toFixed(1)} ms`);
  assert.ok(frames.length >= 10);
  const box = await page.locator(stage).boundingBox();
  await page.mouse.click(box.x + box.width * 0.4, box.y + box.height * 0.85);
  await settled(page);
  assert.match(parameter(page, 'see'), /^0\.\d+-0\.\d+$/);
  await page.mouse.move(5, 60);
  await rig.shot(page, 'fabric-1024-pod');
  await page.keyboard.press('0');
  assert.equal(parameter(page, 'see'), null);
  assert.deepEqual(page.errors, []);
});

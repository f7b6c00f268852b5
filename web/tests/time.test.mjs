import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { drawn, parameter, pixels } from './fabrics.mjs';
import { keptRun, Rig, settled, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(async (directory) => {
    // A lost packet and its retransmission, and a pulled cable; with a capture at the sender.
    await keptRun(`${directory}/lost`, 'fabric/link-cut.yaml', '--set', 'sample=auto', '--set', 'name=lost', '--capture', 'h0:p0,leaf0:swp1', '--set',
      'faults=[{name: pulled, link: "leaf0:swp31", both_directions: true, action: cut, start: 300 us, end: 500 us}, {link: "h0:p0", action: drop, frames: request, psn: 200, transmission: 1}]',
      '--set', 'workloads=[{name: pairs, flows: point-to-point, pairs: [[h0, h4], [h1, h5], [h2, h6], [h3, h7]], size: 4 MB}]',
      '--set', 'routing={convergence: 100 us}', '--set', 'expect={}');
    for (const lab of ['incast-ecn', 'pause-propagation', 'link-cut']) await keptRun(`${directory}/${lab}`, `fabric/${lab}.yaml`, '--set', 'sample=auto');
  });
});
after(() => rig.close());

async function open(path, options) {
  const page = await rig.page(path, options);
  await page.locator('section .u-wrap').first().waitFor();
  await settled(page);
  return page;
}
// A position on the plots, by the share of the range.
async function place(page, share) {
  const box = await page.locator('.stack').boundingBox();
  const [left, right] = [216 + 70, 118];
  return { x: box.x + left + (box.width - left - right) * share, y: box.y + 150 };
}

test('the plots of a run, with events, thresholds and pauses', async () => {
  const page = await open('/run/incast-ecn/time?at=500000000');
  for (const title of ['Events', 'Rate allowed per flow', 'Rate sent per host port', 'Queue depth', 'Buffer and headroom in use', 'Headroom by port and class', 'ECN marks per second', 'CNPs per second', 'Pauses']) {
    await page.getByRole('region', { name: title, exact: true }).waitFor();
  }
  assert.ok((await pixels(page, 'section[aria-label="Pauses"] canvas', '--pause')) > 500);
  assert.ok((await pixels(page, 'section[aria-label="Events"] canvas', '--mark')) > 100);
  await rig.shot(page, 'time-incast');
  assert.deepEqual(page.errors, []);
});

test('one cursor for time and fabric', async () => {
  const page = await open('/run/incast-ecn/time');
  const { x, y } = await place(page, 0.25);
  await page.mouse.click(x, y);
  await settled(page);
  const at = Number(parameter(page, 'at'));
  assert.ok(Math.abs(at - 0.25 * 2617e6) < 10e6, `at ${at}`);
  const shown = await page.getByLabel('Cursor time').textContent();
  await page.keyboard.press('2');
  await drawn(page);
  assert.equal(await page.getByLabel('Cursor time').textContent(), shown);
  await page.keyboard.press('ArrowRight');
  await settled(page);
  const moved = Number(parameter(page, 'at'));
  assert.ok(moved > at);
  await page.keyboard.press('3');
  await page.locator('.line.at').waitFor();
  assert.equal(Number(await page.locator('.line.at').getAttribute('data-cursor')), moved);
  assert.deepEqual(page.errors, []);
});

test('W A S D and a drag zoom, and only visible data is fetched', async () => {
  const page = await open('/run/pause-propagation/time?at=500000000', { dark: true });
  const asked = [];
  page.on('request', (request) => request.url().includes('/series/data') && asked.push(new URL(request.url()).searchParams));
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  await settled(page);
  const span = () => Number(parameter(page, 'to')) - Number(parameter(page, 'from'));
  const zoomed = span();
  assert.ok(zoomed < 0.4 * 4905e6);
  assert.ok(asked.length > 0, 'nothing was fetched anew');
  for (const query of asked) {
    assert.ok(Number(query.get('points')) <= 1400);
    assert.ok(query.get('match').split(',').length < 60);
  }
  assert.equal(asked.at(-1).get('from_ps'), parameter(page, 'from'));
  const from = Number(parameter(page, 'from'));
  await page.keyboard.press('d');
  await settled(page);
  assert.ok(Number(parameter(page, 'from')) > from);
  await page.keyboard.press('a');
  await page.keyboard.press('s');
  await settled(page);
  assert.ok(span() > zoomed);
  const [a, b] = [await place(page, 0.2), await place(page, 0.4)];
  const before = span();
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move(b.x, b.y, { steps: 5 });
  await page.mouse.up();
  await settled(page);
  assert.ok(Math.abs(span() / before - 0.2) < 0.02);
  await page.mouse.move(5, 5);
  await rig.shot(page, 'time-pauses-dark');
  await page.keyboard.press('0');
  assert.equal(parameter(page, 'from'), null);
  assert.deepEqual(page.errors, []);
});

test('search finds events, series and flows', async () => {
  const page = await open('/run/link-cut/time');
  await page.keyboard.press('/');
  const search = page.getByRole('dialog', { name: 'Search' });
  await search.getByRole('searchbox').fill('link down');
  await search.getByRole('button').first().waitFor();
  await rig.shot(page, 'time-search');
  await page.keyboard.press('Enter');
  await settled(page);
  assert.ok(Number(parameter(page, 'at')) > 500e6);
  await page.keyboard.press('/');
  await search.getByRole('searchbox').fill('series leaf0 buffer_B');
  await page.keyboard.press('Enter');
  await settled(page);
  assert.equal(parameter(page, 'plots'), 'leaf0.buffer_B');
  await page.getByRole('region', { name: 'leaf0.buffer_B' }).waitFor();
  await page.keyboard.press('/');
  await search.getByRole('searchbox').fill('flow pairs/2');
  await page.keyboard.press('Enter');
  await settled(page);
  assert.equal(parameter(page, 'flows'), 'pairs/2');
  await rig.shot(page, 'time-link-cut');
  assert.deepEqual(page.errors, []);
});

test('a plot can be folded, also in the address', async () => {
  const page = await open('/run/link-cut/time');
  await page.getByRole('region', { name: 'Queue depth' }).getByRole('button').first().click();
  assert.equal(parameter(page, 'hide'), 'queues');
  assert.equal(await page.getByRole('region', { name: 'Queue depth' }).locator('.u-wrap').count(), 0);
  assert.deepEqual(page.errors, []);
});

test('headroom is drawn with its limit', async () => {
  const page = await open('/run/pause-propagation/time', { width: 1280, height: 800 });
  const headroom = page.getByRole('region', { name: 'Headroom by port and class', exact: true });
  await headroom.scrollIntoViewIfNeeded();
  await settled(page);
  assert.ok((await headroom.locator('td.name').count()) > 1);
  const answer = await (await page.request.get(`${rig.url}/api/runs/pause-propagation/series`)).json();
  const most = Math.max(...answer.series.filter((s) => s.metric === 'headroom_B' && s.port !== '').map((s) => s.most));
  assert.ok(most > 1000, `most ${most}`);
  assert.ok((await pixels(page, 'section[aria-label="Headroom by port and class"] canvas', '--pause')) > 200, 'the limit is drawn');
  assert.match(await page.getByRole('region', { name: 'Buffer and headroom in use', exact: true }).textContent(), /edge0 buffer.*edge0 headroom/s);
  // XOFF is drawn where it is decided: at what came in by a port, not at the queue that it leaves by.
  const groups = page.getByRole('region', { name: 'Ingress groups and XOFF limits', exact: true });
  assert.match(await groups.textContent(), /\.3 limit/);
  assert.ok((await groups.locator('td.name').count()) > 2);
  assert.ok((await pixels(page, 'section[aria-label="Ingress groups and XOFF limits"] canvas', '--pause')) > 200, 'the limit is drawn');
  assert.equal(await pixels(page, 'section[aria-label="Queue depth"] canvas', '--pause'), 0);
  await rig.shot(page, 'time-headroom');
  assert.deepEqual(page.errors, []);
});

test('faults and retransmissions have lanes, with links to their packets and back', async () => {
  const page = await open('/run/lost/time', { width: 1280, height: 800 });
  const { events } = await (await page.request.get(`${rig.url}/api/runs/lost/events?kinds=fault,retransmission`)).json();
  const again = events.find((e) => e.kind === 'retransmission' && e.port === 'h0:p0' && e.packet !== null);
  assert.ok(again, JSON.stringify(events));
  const pulled = events.find((e) => e.kind === 'fault' && e.text.startsWith('pulled'));
  assert.deepEqual([pulled.time_ps, pulled.last_ps], [300e6, 500e6]);
  const lanes = page.getByRole('region', { name: 'Events', exact: true });
  assert.match(await lanes.textContent(), /fault.*retransmission/s);
  assert.ok((await pixels(page, 'section[aria-label="Events"] canvas', '--fault')) > 30);
  await rig.shot(page, 'time-faults');
  // The search moves the cursor and shows the event.
  await page.keyboard.press('/');
  await page.getByRole('searchbox').fill('retransmission h0:p0');
  await page.keyboard.press('Enter');
  const link = page.getByRole('status').getByRole('link', { name: /^packet \d+$/ });
  await link.waitFor();
  const number = (await link.textContent()).match(/\d+/)[0];
  assert.equal(number, String(again.packet));
  await link.click();
  await page.getByText(`Packet ${number}`, { exact: true }).waitFor();
  const row = page.locator('.row.chosen');
  assert.match(await row.textContent(), /retransmission/);
  await rig.shot(page, 'time-packet-of-event');
  const packet = await (await page.request.get(`${rig.url}/api/runs/lost/packets/${number}`)).json();
  assert.ok(packet.flags.includes('retransmitted'));
  assert.ok(Math.abs(packet.time_ps - again.time_ps) < 1e6);
  // Back to the time view.
  await page.locator('.about').getByRole('link', { name: 'Time' }).click();
  await page.locator('.line.at').waitFor();
  assert.equal(Number(await page.locator('.line.at').getAttribute('data-cursor')), packet.time_ps);
  assert.deepEqual(page.errors, []);
});

test('a click on an event shows what it was, and puts the cursor there', async () => {
  const page = await open('/run/lost/time', { width: 1280, height: 800 });
  const { events } = await (await page.request.get(`${rig.url}/api/runs/lost/events?kinds=fault`)).json();
  const pulled = events.find((e) => e.text.startsWith('pulled'));
  const { end_ps } = await (await page.request.get(`${rig.url}/api/runs/lost`)).json();
  const box = await page.locator('section[aria-label="Events"] canvas').boundingBox();
  const x = box.x + 70 + ((box.width - 70 - 118) * pulled.time_ps) / end_ps;
  await page.mouse.move(x - 40, box.y + 9);
  await page.mouse.move(x, box.y + 9, { steps: 4 });
  await page.mouse.down();
  await page.mouse.move(x + 1, box.y + 9);
  await page.mouse.up();
  await page.getByRole('status').filter({ hasText: 'pulled (cut) between leaf0:swp31' }).waitFor();
  assert.equal(Number(await page.locator('.line.at').getAttribute('data-cursor')), pulled.time_ps);
  assert.deepEqual(page.errors, []);
});

test('zoom in to single packets', async () => {
  const page = await open('/run/lost/time?at=408000000&from=405000000&to=413000000', { width: 1920, height: 1080 });
  await page.getByRole('heading', { name: 'Packets of this range' }).waitFor();
  const first = page.locator('tbody tr a').first();
  await first.waitFor();
  await rig.shot(page, 'time-single-packets');
  const number = await first.textContent();
  await first.click();
  await page.getByText(`Packet ${number}`, { exact: true }).waitFor();
  // The range moves if the time is outside of it.
  await page.goto(`${rig.url}/run/lost/time?at=1000000000&from=405000000&to=413000000`);
  await page.locator('.line.at').waitFor();
  const [from, to] = [Number(parameter(page, 'from')), Number(parameter(page, 'to'))];
  assert.ok(from <= 1000e6 && to >= 1000e6 && to - from === 8e6, `${from} to ${to}`);
  assert.deepEqual(page.errors, []);
});

test('the fabric shows a fault while it lasts, with a link to its packet', async () => {
  const page = await rig.page('/run/lost/fabric?at=400000000');
  await drawn(page);
  const list = page.getByRole('list', { name: 'Events now' });
  await list.waitFor();
  assert.match(await list.textContent(), /fault.*pulled \(cut\) between leaf0:swp31/s);
  await rig.shot(page, 'fabric-fault');
  const { events } = await (await page.request.get(`${rig.url}/api/runs/lost/events?kinds=retransmission`)).json();
  const again = events.find((e) => e.packet !== null);
  await page.goto(`${rig.url}/run/lost/fabric?at=${again.time_ps}`);
  await drawn(page);
  await page.getByRole('link', { name: `packet ${again.packet}`, exact: true }).click();
  await page.getByText(`Packet ${again.packet}`, { exact: true }).waitFor();
  assert.deepEqual(page.errors, []);
});

test('both themes and both sizes', async () => {
  for (const dark of [false, true]) {
    for (const [width, height] of [[1280, 800], [1920, 1080]]) {
      const page = await open('/run/incast-ecn/time?at=500000000', { dark, width, height });
      await rig.shot(page, `time-${width}${dark ? '-dark' : ''}`);
      await page.getByRole('region', { name: 'Queue depth', exact: true }).scrollIntoViewIfNeeded();
      await settled(page);
      await rig.shot(page, `time-${width}${dark ? '-dark' : ''}-below`);
      assert.deepEqual(page.errors, []);
    }
  }
});

test('moving the cursor requests nothing', async () => {
  const page = await open('/run/incast-ecn/time?at=500000000&plots=leaf0.buffer_B&flows=incast/3&hide=marks');
  await page.getByRole('region', { name: 'leaf0.buffer_B' }).waitFor();
  await settled(page);
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  for (let i = 0; i < 5; ++i) {
    await page.keyboard.press('ArrowRight');
    await page.waitForTimeout(150);
  }
  await settled(page);
  assert.ok(Number(parameter(page, 'at')) > 500e6);
  assert.deepEqual(asked, []);
});

test('leaving while it plays leaves the new address alone, and Back works', async () => {
  for (const [path, sign] of [['/run/incast-ecn/time', '.line.at'], ['/run/incast-ecn/fabric', '.stage canvas']]) {
    const page = await rig.page(`${path}?at=500000000`);
    await page.locator(sign).waitFor();
    await settled(page);
    await page.keyboard.press(' ');
    await page.waitForFunction(() => Number(new URL(location.href).searchParams.get('at')) > 500e6);
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByRole('link', { name: 'link-cut', exact: true }).waitFor();
    await settled(page);
    assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, '/runs');
    await page.goBack();
    await page.locator(sign).waitFor();
    assert.equal(new URL(page.url()).pathname, path);
    assert.ok(Number(parameter(page, 'at')) > 500e6);
    // Back while it plays: the address is that of the earlier view.
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByRole('link', { name: 'incast-ecn', exact: true }).click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press(path.endsWith('time') ? '3' : '2');
    await page.locator('.strip canvas').first().waitFor();
    await settled(page);
    await page.keyboard.press(' ');
    await page.waitForFunction(() => Number(new URL(location.href).searchParams.get('at')) > 0);
    await page.goBack();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settled(page);
    assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, '/run/incast-ecn');
    assert.deepEqual(page.errors, []);
  }
});

test('an added series that is there twice is drawn once, unknown ones are reported', async () => {
  const page = await open('/run/incast-ecn/time?plots=leaf0.buffer_B,leaf0.buffer_B');
  assert.equal(await page.getByRole('region', { name: 'leaf0.buffer_B' }).count(), 1);
  await page.getByText('has a series twice').waitFor();
  assert.deepEqual(page.errors, []);
  await page.goto(`${rig.url}/run/incast-ecn/time?plots=nobody.queue_B`);
  await page.getByText('has an unknown series: nobody.queue_B').waitFor();
});

test('a message about a request disappears when a later one succeeds', async () => {
  const page = await rig.page('/labs');
  let broken = true;
  await page.route('**/series/data*', (route) => (broken ? route.fulfill({ status: 500, json: { errors: [{ message: 'the disk is full' }] } }) : route.continue()));
  await page.goto(`${rig.url}/run/incast-ecn/time`);
  await page.getByText('the disk is full').waitFor();
  broken = false;
  await page.keyboard.press('w');
  await page.getByText('the disk is full').waitFor({ state: 'detached' });
});

test('packets of an earlier range do not replace those of the present one', async () => {
  const page = await open('/run/lost/time?at=408000000&from=405000000&to=413000000', { width: 1920, height: 1080 });
  await page.locator('tbody tr a').first().waitFor();
  const held = [];
  await page.route('**/packets?*', async (route) => {
    if (held.length > 0) return route.continue();
    held.push(route);
    await new Promise((later) => setTimeout(later, 1500));
    return route.continue();
  });
  await page.keyboard.press('Shift+D');
  await page.waitForRequest(/packets\?/);
  await page.keyboard.press('Shift+D');
  await page.waitForResponse((answer) => answer.url().includes('/packets?') && answer.request() !== held[0]?.request());
  await settled(page);
  const first = () => page.getByRole('heading', { name: 'Packets of this range' }).locator('..').textContent();
  const shown = await first();
  await page.waitForTimeout(1800);
  assert.equal(await first(), shown);
});

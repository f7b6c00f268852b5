// Packets: list, filter, tree and bytes, following, keys, jumps; a million frames; a run without a capture.
import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { after, before } from 'node:test';
import { keptRun, Rig, test } from './support.mjs';

// The capture of a run with its packets repeated, for a capture of a million frames.
function multiply(path, times) {
  const bytes = readFileSync(path);
  let first = 0;
  while (bytes.readUInt32LE(first) !== 6) first += bytes.readUInt32LE(first + 4);
  const file = openSync(path, 'a');
  const packets = bytes.subarray(first);
  for (let i = 1; i < times; ++i) writeSync(file, packets);
  closeSync(file);
}

let rig;
before(async () => {
  rig = await Rig.open(async (directory) => {
    await keptRun(`${directory}/incast`, 'fabric/incast-ecn.yaml', '--capture', 'all', '--snaplen', '96');
    await keptRun(`${directory}/pauses`, 'fabric/pause-propagation.yaml', '--capture', 'all', '--snaplen', '96');
    await keptRun(`${directory}/loss`, 'faults/loss.yaml', '--capture', 'all', '--snaplen', '128');
    await keptRun(`${directory}/bare`, 'first-light.yaml');
  });
});
after(() => rig?.close());
// The one request for packets of a run without a capture may fail; no other may.
const serious = (page) => page.errors.filter((error) => !(error.includes('404') && /\/api\/runs\/bare\/packets\?limit=\d+$/.test(error)));
const rows = (page) => page.locator('.list .row');

test('list, tree and bytes', async () => {
  for (const dark of [false, true]) {
    const page = await rig.page('/run/incast/packets', { dark });
    await rows(page).first().waitFor();
    await rows(page).nth(3).click();
    await page.getByText('InfiniBand: Base Transport Header').waitFor();
    assert.match(page.url(), /packet=4/);
    // A field highlights its bytes, a byte its field.
    const field = page.locator('.field', { hasText: 'Packet Sequence Number' });
    await field.hover();
    assert.equal(await page.locator('.hex .lit').count(), 3);
    await page.locator('.hex [data-at="12"]').hover();
    assert.equal(await page.locator('.hex .lit').count(), 2);
    assert.match(await page.locator('.field.lit').innerText(), /Type/);
    await field.hover();
    await rig.shot(page, `packets-${dark ? 'dark' : 'light'}`);
    assert.deepEqual(serious(page), []);
  }
});

test('a packet in the address has its place, whatever comes first', async () => {
  const firsts = [];
  for (const [held, other] of [[/api.*packets\/400/, '.list .row.chosen'], [/api.*packets\?/, 'text=Packet 400']]) {
    const page = await rig.page('/', { width: 1280, height: 800 });
    let release;
    const released = new Promise((free) => (release = free));
    await page.route(held, (route) => released.then(() => route.continue()));
    await page.goto(`${rig.url}/run/incast/packets?packet=400`);
    await page.locator(other).first().waitFor();
    release();
    for (const sign of ['text=Packet 400', '.list .row.chosen']) await page.locator(sign).first().waitFor();
    firsts.push(await rows(page).first().getAttribute('aria-rowindex'));
  }
  assert.equal(firsts[0], firsts[1]);
});

test('the filter is in the address, has help, and Back removes it', async () => {
  const page = await rig.page('/run/incast/packets');
  await rows(page).first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('ce not cnp');
  await page.keyboard.press('Enter');
  await page.waitForURL(/filter=ce\+not\+cnp/);
  await page.locator('.row .mark', { hasText: 'CE' }).first().waitFor();
  const marks = await page.locator('.list .row .marks').allInnerTexts();
  assert.ok(marks.length > 0 && marks.every((text) => text.includes('CE')), marks.join());
  await page.getByRole('button', { name: 'Filter help' }).click();
  await page.getByText('marked by a switch').waitFor();
  await rig.shot(page, 'packets-filter');
  await page.goBack();
  assert.doesNotMatch(page.url(), /filter/);
  await page.locator('input[type=search]').fill('psn==nothing');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('alert').getByText('not a number').waitFor();
  assert.equal((await page.locator('.bar [role=status]').first().textContent()).trim(), '');
  assert.deepEqual(serious(page).filter((error) => !(error.includes('400') && error.includes('filter=psn'))), []);
});

test('Wireshark field names, or, and unknown fields', async () => {
  const total = (words) => fetch(`${rig.url}/api/runs/incast/packets?limit=5000&filter=${encodeURIComponent(words)}`).then((r) => r.json());
  assert.ok((await total('ip.src==10.0.0.2 && infiniband.bth.opcode==6')).packets.length > 0);
  const both = (await total('(ce or cnp) and number<5000')).packets;
  assert.ok(both.some((p) => p.flags.includes('ce')) && both.some((p) => p.flags.includes('cnp')));
  assert.match((await total('ip.ttl==3')).errors[0].message, /there is no field ip\.ttl; fields are/);
  const page = await rig.page('/run/incast/packets');
  await page.getByText("Wireshark's relative time starts at the first frame").waitFor();
  await page.locator('input[type=search]').fill('ce and ip.ttl==3');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('alert').getByText('there is no field ip.ttl', { exact: false }).waitFor();
  await rig.shot(page, 'packets-filter-wrong');
  assert.deepEqual(serious(page).filter((error) => !error.includes('400')), []);
});

test('only the packets of chosen flows', async () => {
  const page = await rig.page('/run/incast/packets?flows=incast/3');
  await rows(page).first().waitFor();
  await page.getByLabel('chosen flows only').check();
  await page.waitForURL(/only=flows/);
  await page.getByText(/^[\d,]+ of [\d,]+ packets$/).waitFor();
  const ends = new Set();
  for (const text of await rows(page).allInnerTexts()) text.match(/10\.0\.0\.\d+/g)?.forEach((each) => ends.add(each));
  assert.equal(ends.size, 2, [...ends].join());
  await rig.shot(page, 'packets-flow');
  assert.deepEqual(serious(page), []);
});

test('keys choose packets, and other views show the same time', async () => {
  const page = await rig.page('/run/incast/packets');
  await rows(page).first().waitFor();
  for (let i = 0; i < 5; ++i) await page.keyboard.press('ArrowDown');
  await page.waitForURL(/packet=5/);
  await page.keyboard.press('ArrowUp');
  await page.waitForURL(/packet=4/);
  await page.keyboard.press('End');
  await page.waitForURL((url) => Number(url.searchParams.get('packet')) > 1000);
  await page.getByText(/^Packet \d{4,}/).waitFor();
  const at = new URL(page.url()).searchParams.get('at');
  await page.locator('.about').getByRole('link', { name: 'Time' }).click();
  await page.waitForURL(new RegExp(`/run/incast/time\\?.*at=${at}`));
  await page.goBack();
  await page.getByText(/^Packet \d+/).waitFor();
  // A time without a packet opens the list there.
  const there = await rig.page(`/run/incast/packets?at=${at}`);
  await there.locator('.row', { hasText: /\d/ }).first().waitFor();
  await there.waitForFunction(() => document.querySelector('.list').scrollTop > 0);
  assert.deepEqual(serious(page), []);
});

test('follows a message, a queue pair, a port', async () => {
  const page = await rig.page('/run/loss/packets?filter=again');
  await page.locator('.row .loss', { hasText: 'retransmitted' }).first().waitFor();
  await rows(page).first().click();
  await page.getByRole('button', { name: /^QP 0x/ }).click();
  await page.waitForURL(/filter=qp%3D%3D\d+\+to/);
  await rows(page).first().waitFor();
  await page.getByRole('button', { name: /^message \d+ to \d+/ }).click();
  await page.waitForURL(/number%3E%3D/);
  await rows(page).first().waitFor();
  await rig.shot(page, 'packets-message');
  assert.deepEqual(serious(page), []);
});

test('pauses are decoded', async () => {
  const page = await rig.page('/run/pauses/packets?filter=pause');
  await page.locator('.row .pause').first().waitFor();
  await rows(page).first().click();
  await page.getByText('CBFC Class Enable Vector').waitFor();
  await rig.shot(page, 'packets-pause');
  assert.deepEqual(serious(page), []);
});

test('a capture of a million packets opens at once', async () => {
  const path = `${rig.directory}/incast/capture.pcapng`;
  const one = (await (await fetch(`${rig.url}/api/runs/incast/packets?limit=1`)).json()).total;
  multiply(path, Math.ceil(1_000_001 / one));
  const total = (await (await fetch(`${rig.url}/api/runs/incast/packets?limit=1`)).json()).total;
  assert.ok(total > 1_000_000, `${total} of ${statSync(path).size} B`);
  const begin = performance.now();
  const detail = await (await fetch(`${rig.url}/api/runs/incast/packets/1000000`)).json();
  const took_ms = performance.now() - begin;
  assert.equal(detail.number, 1_000_000);
  console.log(`packet 1,000,000 of ${total} in ${took_ms.toFixed(1)} ms`);
  const page = await rig.page('/run/incast/packets?packet=1000000');
  await page.getByText('Packet 1000000').waitFor();
  await page.locator('.row.chosen').waitFor();
  assert.match(await page.locator('.row.chosen').innerText(), /1000000/);
  await page.locator('.list').evaluate((list) => (list.scrollTop = list.scrollHeight / 2));
  await page.waitForFunction((middle) => {
    const first = Number(document.querySelector('.list .row .number')?.textContent);
    return Math.abs(first - middle) < middle / 50;
  }, total / 2);
  await rig.shot(page, 'packets-million');
  assert.deepEqual(serious(page), []);
});

test('a run without a capture shows how to get one', async () => {
  const page = await rig.page('/run/bare/packets');
  await page.getByRole('heading', { name: 'No packets' }).waitFor();
  await page.getByRole('button', { name: 'Run this lab again with all packets' }).waitFor();
  await rig.shot(page, 'packets-none');
  assert.ok(!existsSync(`${rig.directory}/bare/capture.pcapng`));
  assert.deepEqual(serious(page), []);
});

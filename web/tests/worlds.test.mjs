import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { called, Rig, root, test } from './support.mjs';

let rig;
const run = (...words) => called(words, { env: rig.env });
before(async () => {
  rig = await Rig.open();
});
after(async () => {
  await run('down', 'page-world');
  await rig.close();
});

test('without a world the page shows how to start one', async () => {
  const page = await rig.page('/worlds');
  await page.getByText('No world is up').waitFor();
  assert.deepEqual(page.errors, []);
});

test('a world starts, programs run, counters and rates change', async () => {
  const page = await rig.page('/worlds');
  const up = await run('up', join(root, 'labs/live/one-switch-100g.yaml'), '--name', 'page-world');
  assert.equal(up.status, 0, up.stderr);
  await page.getByRole('link', { name: 'page-world' }).click();
  assert.match(page.url(), /\/worlds\/page-world$/);
  await page.getByText('No program is running.').waitFor();
  const server = run('exec', '--world', 'page-world', 'h0', '--', 'ib_write_bw', '-F', '-x', '3', '-n', '100000');
  await page.getByRole('cell', { name: 'ib_write_bw' }).waitFor();
  const client = run('exec', '--world', 'page-world', 'h1', '--', 'ib_write_bw', '-F', '-x', '3', '-n', '100000', 'h0');
  // The column "Tx rate" while the port sends, with the utilisation as a bar.
  const sends = page.getByRole('row', { name: /^h1:p0/ }).first().getByRole('cell').nth(3);
  await sends.filter({ hasText: /^[1-9].* Gb\/s$/ }).waitFor();
  await rig.shot(page, 'worlds-busy');
  await Promise.all([server, client]);
  const sent = page.getByRole('row', { name: /^h1:p0/ }).first();
  await sent.getByText(/GB|MB/).first().waitFor();
  await page.getByLabel('Filter of counters').fill('h1 tx_packets_phy');
  await page.getByText(/^1 of /).waitFor();
  await rig.shot(page, 'worlds');
  assert.deepEqual(page.errors, []);
  const dark = await rig.page('/worlds/page-world', { dark: true });
  await dark.getByRole('heading', { name: 'Queues' }).waitFor();
  await rig.shot(dark, 'worlds-dark');
  assert.deepEqual(dark.errors, []);
});

test('rates are not negative after a world is started again under its name', async () => {
  const page = await rig.page('/worlds', { fresh: true });
  await page.addInitScript(() => {
    window.EventSource = class extends EventTarget {
      constructor() {
        super();
        window.stream = this;
      }
      close() {}
    };
  });
  let [now_ps, bytes] = [10e12, 1000];
  await page.route('**/api/worlds/again', (route) => route.fulfill({ json: {
    name: 'again', lab: 'x', clock: 'virtual', now_ps, behind_ps: 0, deterministic: true, queues: [], programs: [], captures: [],
    fabric: { nodes: [], links: [{ a: 'h0:p0', b: 'h1:p0', rate_bps: 100e9, length_m: 1 }], queues: [] },
    counters: { h0: { 'h0:p0': { port: { tx_bytes_phy: bytes } } } },
  } }));
  await page.goto(`${rig.url}/worlds/again`);
  const rate = page.getByRole('row', { name: /^h0:p0/ }).first().getByRole('cell').nth(3);
  await rate.waitFor();
  const next = (now, value) => {
    [now_ps, bytes] = [now, value];
    return page.evaluate(() => window.stream.dispatchEvent(new MessageEvent('world', { data: '{}' })));
  };
  await next(11e12, 1e9);
  await rate.filter({ hasText: /^8\.00 Gb\/s/ }).waitFor();
  await next(1e12, 500);
  await rate.filter({ hasNotText: 'Gb/s' }).waitFor();
  assert.doesNotMatch(await page.textContent('main'), /[-−]\d/);
});

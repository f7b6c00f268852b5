import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { call, called, frames, newContext, root, screenshots, test } from './support.mjs';

let directory;
before(async () => {
  directory = mkdtempSync(join(tmpdir(), `weft-report-${process.pid}-`));
  const evil = '# </script><script>window.taken = 1</script><!-- <script>\n';
  writeFileSync(`${directory}/lab.yaml`, evil + readFileSync(join(root, 'labs/fabric/incast-ecn.yaml'), 'utf8'));
  await call('run', `${directory}/lab.yaml`, '--set', 'sample=auto', '--capture', 'h0:p0', '--out', `${directory}/run`);
  assert.equal(await call('report', `${directory}/run`), readFileSync(`${directory}/run/report.md`, 'utf8'));
  const said = JSON.parse(await call('report', `${directory}/run`, '--html', '--out', `${directory}/report.html`, '--json'));
  assert.equal(said.size_B, statSync(`${directory}/report.html`).size);
  assert.ok(said.size_B < 8e6, `${said.size_B} B`);
  // The page that was built separately, as in support.mjs.
  if (process.env.WEFT_PAGE) {
    const html = readFileSync(`${directory}/report.html`, 'utf8');
    const tag = '<script type="module">';
    const start = html.lastIndexOf(tag) + tag.length;
    const code = readFileSync(join(process.env.WEFT_PAGE, 'app.js'), 'utf8').replace(/<(\/script|script|!--)/g, '\\x3C$1');
    writeFileSync(`${directory}/report.html`, html.slice(0, start) + code + html.slice(html.indexOf('</script>', start)));
  }
});
after(() => rmSync(directory, { recursive: true, force: true }));

async function open(dark, hash = '') {
  const context = await newContext({ viewport: { width: 1400, height: 900 }, colorScheme: dark ? 'dark' : 'light', offline: true });
  const page = await context.newPage();
  page.errors = [];
  page.asked = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && page.errors.push(message.text()));
  page.on('pageerror', (error) => page.errors.push(String(error)));
  page.on('request', (request) => /^(file|data):/.test(request.url()) || page.asked.push(request.url()));
  await page.goto(`file://${directory}/report.html${hash}`);
  return page;
}
const shot = (page, name) => {
  mkdirSync(screenshots, { recursive: true });
  return page.screenshot({ path: join(screenshots, `${name}.png`) });
};

test('all views of a run open from a file, without a server', async () => {
  const page = await open(false);
  await page.locator('h1', { hasText: '16 of 16 flows' }).waitFor();
  await shot(page, 'report');
  await page.getByRole('link', { name: 'Fabric', exact: true }).first().click();
  await page.locator('canvas').first().waitFor();
  await page.getByRole('link', { name: 'Time', exact: true }).first().click();
  await page.locator('.uplot').first().waitFor();
  await frames(page);
  await shot(page, 'report-time');
  await page.getByRole('link', { name: 'Flows', exact: true }).first().click();
  await page.locator('.rows .row').first().waitFor();
  assert.match(page.url(), /report\.html#\/run\/run\/flows/);
  await page.locator('.rows .row').first().click();
  assert.match(page.url(), /flows=incast\/\d+/);
  await page.getByRole('link', { name: 'Packets', exact: true }).first().click();
  await page.getByText(/WRITE/).first().waitFor();
  await shot(page, 'report-packets');
  await page.getByRole('link', { name: 'Findings', exact: true }).first().click();
  await page.waitForURL(/#\/run\/run\/findings/);
  await frames(page);
  await page.getByRole('link', { name: 'Jobs', exact: true }).first().click();
  await page.waitForURL(/#\/run\/run\/jobs/);
  await frames(page);
  assert.doesNotMatch(await page.textContent('main'), /is not in this report/);
  assert.equal(await page.evaluate(() => window.taken), undefined);
  assert.deepEqual(page.asked, []);
  assert.deepEqual(page.errors, []);
});

test('the address after the # holds the view', async () => {
  const page = await open(true, '#/run/run/flows?flows=incast/3');
  await page.getByRole('row', { selected: true }).waitFor();
  await shot(page, 'report-flows-dark');
  assert.deepEqual(page.asked, []);
  assert.deepEqual(page.errors, []);
});

test('a directory that is not a run is rejected', async () => {
  const done = await called(['report', directory, '--html']);
  assert.equal(done.status, 2);
  assert.match(done.stderr, /is a directory of runs, not a run\n  name one of the runs in it/);
});

test('a report has its name, and the packets around its events', async () => {
  const page = await open(false);
  await page.locator('header .run', { hasText: /^run$/ }).waitFor();
  assert.match(await page.locator('.command code').textContent(), new RegExp(`^weft run ${directory}/run/lab\\.yaml`));
  await page.getByRole('link', { name: 'Packets', exact: true }).first().click();
  await page.getByText(/^1,\d+ of [\d,]+ packets|^2,000 of/).waitFor();
  const [rows, last] = await page.evaluate(() => [window.WEFT_REPORT['/api/runs/run/packets'].packets].map((list) => [list.length, list.at(-1).number])[0]);
  assert.ok(last > rows, `the last of ${rows} is packet ${last}`);
  await page.locator('input[type=search]').fill('port==h0:p0');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('alert').getByText('filters of a report are plain words').waitFor();
  const other = await open(false, '#/run/run/packets?packet=999999999');
  await other.getByText('is not in this report', { exact: false }).waitFor();
  assert.deepEqual([...page.errors, ...other.errors], []);
});

test('rates in a report are those of the run', async () => {
  const page = await open(false, '#/run/run/time?at=1300000000');
  const row = page.getByRole('region', { name: 'Rate sent per switch port' }).getByRole('row', { name: /leaf0:swp1\b/ });
  const cell = row.locator('td.number').filter({ hasText: /b\/s$/ });
  await cell.waitFor();
  const [, value, unit] = (await cell.textContent()).match(/^([\d.]+) ([GMkT]?)b\/s$/);
  assert.equal(unit, 'G');
  assert.ok(Number(value) >= 80 && Number(value) <= 101, `${value} Gb/s`);
  assert.deepEqual(page.errors, []);
});

test('a report in a sandboxed frame works: it has no storage and no address', async () => {
  const context = await newContext({ viewport: { width: 1400, height: 900 }, offline: true });
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.evaluate((html) => {
    const frame = Object.assign(document.createElement('iframe'), { sandbox: 'allow-scripts', srcdoc: html, style: 'width: 1300px; height: 800px' });
    document.body.append(frame);
  }, readFileSync(`${directory}/report.html`, 'utf8'));
  const inside = page.frameLocator('iframe');
  await inside.locator('h1', { hasText: '16 of 16 flows' }).waitFor();
  await inside.getByRole('link', { name: 'Flows', exact: true }).first().click();
  await inside.locator('.rows .row').first().click();
  await inside.getByRole('row', { selected: true }).waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

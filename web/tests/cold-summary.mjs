// A cold Summary, measured: a new server, a new browser, the Summary of one run. Prints each request of data with its
// bytes over the wire and its time, and when headline and strip were drawn. Not a test: the times are this machine's.
// Usage: WEFT=build/weft node web/tests/cold-summary.mjs DIRECTORY_OF_RUNS RUN
import { spawn } from 'node:child_process';
import { chromium } from 'playwright-core';
const weft = process.env.WEFT ?? 'build/weft';

const [directory, run] = process.argv.slice(2);
const server = spawn(weft, ['serve', directory, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
const url = await new Promise((found) => {
  let text = '';
  server.stdout.on('data', (piece) => {
    text += piece;
    const match = text.match(/http:\/\/\S+?(?=\/?\s)/);
    if (match) found(match[0]);
  });
});
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const page = await browser.newPage();
  const wire = await page.context().newCDPSession(page);
  await wire.send('Network.enable');
  const asked = new Map();
  const rows = [];
  wire.on('Network.requestWillBeSent', ({ requestId, request, timestamp }) => asked.set(requestId, { path: request.url.slice(url.length), timestamp }));
  wire.on('Network.loadingFinished', ({ requestId, timestamp, encodedDataLength }) => {
    const of = asked.get(requestId);
    if (of) rows.push({ path: of.path, bytes: encodedDataLength, seconds: timestamp - of.timestamp });
  });
  const start = Date.now();
  await page.goto(`${url}/run/${run}`);
  await page.locator('h1').first().waitFor({ timeout: 120_000 });
  await page.locator('text=Workloads').first().waitFor({ timeout: 120_000 });
  const headline = Date.now() - start;
  await page.locator('.strip canvas').first().waitFor({ timeout: 120_000 });
  const strip = Date.now() - start;
  await page.waitForTimeout(2000);
  for (const row of rows) console.log(`${(row.bytes / 1000).toFixed(1).padStart(9)} kB ${row.seconds.toFixed(2).padStart(6)} s  ${row.path}`);
  const data = rows.filter((row) => row.path.startsWith('/api')).reduce((sum, row) => sum + row.bytes, 0);
  console.log(`data ${(data / 1000).toFixed(1)} kB; headline after ${(headline / 1000).toFixed(2)} s, strip after ${(strip / 1000).toFixed(2)} s`);
  if (process.env.WEFT_SCREENSHOTS) await page.screenshot({ path: `${process.env.WEFT_SCREENSHOTS}/cold-${run}.png` });
} finally {
  await browser.close();
  server.kill('SIGINT');
}

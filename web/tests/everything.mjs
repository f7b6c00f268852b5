// Every view with real runs, for tests that go through all of them.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, runLab, weft } from './support.mjs';

export function prepare(directory) {
  process.env.XDG_RUNTIME_DIR = `${directory}/.worlds`; // none of others
  mkdirSync(process.env.XDG_RUNTIME_DIR);
  const sampled = ['--set', 'sample=auto'];
  runLab(`${directory}/incast`, 'fabric/incast-ecn.yaml', ...sampled, '--capture', 'all', '--snaplen', '96');
  runLab(`${directory}/pauses`, 'fabric/pause-propagation.yaml', ...sampled);
  runLab(`${directory}/cut`, 'fabric/link-cut.yaml', ...sampled);
  runLab(`${directory}/deadlock`, 'fabric/deadlock.yaml', ...sampled);
  runLab(`${directory}/first-light`, 'first-light.yaml', ...sampled);
  runLab(`${directory}/job`, 'ai/healthy-2x4.yaml', ...sampled);
  runLab(`${directory}/a-run-whose-name-is-so-long-that-no-header-has-room-for-all-of-it`, 'first-light.yaml');
  const words = ['sweep', join(root, 'labs/fabric/incast-ecn.yaml'), '--vary', 'fabric.hosts=3,5', '--vary', 'workloads[incast].size=100 kB,200 kB'];
  const done = spawnSync(weft, [...words, '--out', `${directory}/grid`], { encoding: 'utf8' });
  if (done.status !== 0 && done.status !== 1) throw new Error(`weft sweep: ${done.status}\n${done.stderr}`);
}

// Name, address, and a selector or text that exists when the view is drawn.
export const views = [
  ['labs', '/', 'text=incast-ecn'],
  ['lab', '/lab/fabric/incast-ecn.yaml', 'text=17 hosts'],
  ['runs', '/runs', 'text=first-light'],
  ['runs-open', '/runs?open=grid&choose=incast,pauses', 'text=grid~cell'],
  ['summary', '/run/incast', '.strip canvas'],
  ['summary-cut', '/run/cut', '.strip canvas'],
  ['summary-bare', '/run/a-run-whose-name-is-so-long-that-no-header-has-room-for-all-of-it', 'text=No series'],
  ['fabric', '/run/incast/fabric?at=500000000&flows=incast/3,incast/9', '.stage canvas'],
  ['fabric-pauses', '/run/pauses/fabric?at=1200000000', '.stage canvas'],
  ['fabric-deadlock', '/run/deadlock/fabric?at=900000000', '.stage canvas'],
  ['summary-deadlock', '/run/deadlock', '.strip canvas'],
  ['fabric-two', '/run/first-light/fabric?at=1000000000', '.stage canvas'],
  ['fabric-node', '/run/incast/fabric?at=500000000&node=leaf0', 'text=QoS chain'],
  ['time', '/run/incast/time?at=500000000', '.uplot'],
  ['flows', '/run/incast/flows', '.rows .row'],
  ['packets', '/run/incast/packets?packet=400', 'text=Packet 400'],
  ['packets-none', '/run/first-light/packets', 'text=No packets'],
  ['findings', '/run/incast/findings', 'article.finding'],
  ['jobs', '/run/job/jobs', 'canvas'],
  ['compare', '/compare?a=incast&b=pauses', 'text=What differs in the results'],
  ['sweeps', '/sweep', 'text=grid'],
  ['sweep', '/sweep/grid', '.heat'],
  ['worlds', '/worlds', 'text=No world is up'],
];

// The packets view of a run without a capture sends one request that fails; no other request may fail.
export const expected = (error) => /\/packets\?limit=\d+$/.test(error) && error.includes('404');

export async function shown(page, sign) {
  await page.locator(sign).first().waitFor({ timeout: 20_000 });
  await page.evaluate(() => document.fonts.ready);
  await quiet(page);
}

// All data has arrived, none was requested for 160 ms (views wait up to 120 ms before a request), and it is drawn.
export async function quiet(page) {
  for (let rested = 0; rested < 4; ) {
    await page.waitForTimeout(40);
    rested = page.asked.size === 0 ? rested + 1 : 0;
  }
  await frames(page);
}
export const frames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

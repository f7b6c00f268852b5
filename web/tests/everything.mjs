// Every view with real runs, for tests that go through all of them.
import { join } from 'node:path';
import { call, keptRun, once, root, settled } from './support.mjs';

export async function prepare(directory) {
  const sampled = ['--set', 'sample=auto'];
  await keptRun(`${directory}/incast`, 'fabric/incast-ecn.yaml', ...sampled, '--capture', 'all', '--snaplen', '96');
  await keptRun(`${directory}/pauses`, 'fabric/pause-propagation.yaml', ...sampled);
  await keptRun(`${directory}/cut`, 'fabric/link-cut.yaml', ...sampled);
  await keptRun(`${directory}/deadlock`, 'fabric/deadlock.yaml', ...sampled);
  await keptRun(`${directory}/first-light`, 'first-light.yaml', ...sampled);
  await keptRun(`${directory}/job`, 'ai/healthy-2x4.yaml', ...sampled);
  await keptRun(`${directory}/a-run-whose-name-is-so-long-that-no-header-has-room-for-all-of-it`, 'first-light.yaml');
  const words = ['sweep', join(root, 'labs/fabric/incast-ecn.yaml'), '--vary', 'fabric.hosts=3,5', '--vary', 'workloads[incast].size=100 kB,200 kB'];
  await once('grid', `${directory}/grid`, (own) => call(...words, '--out', own));
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
  await page.locator(sign).first().waitFor();
  await page.evaluate(() => document.fonts.ready);
  await settled(page);
}

// Views with Chromium's simulation of colour vision deficiencies: screenshots for review, and checks that symbols still
// differ from their surroundings.
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { prepare, shown } from './everything.mjs';
import { frames, Rig, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(prepare);
});
after(() => rig?.close());

const views = [
  ['fabric', '/run/incast/fabric?at=500000000&flows=incast/3,incast/9,incast/1,incast/12', '.stage canvas'],
  ['cut', '/run/cut/fabric?at=1200000000', '.stage canvas'],
  ['time', '/run/incast/time?at=500000000', '.uplot'],
  ['flows', '/run/incast/flows?flows=incast/3,incast/9,incast/1', '.rows .row'],
  ['jobs', '/run/job/jobs', 'canvas'],
  ['sweep', '/sweep/grid', '.heat'],
];
describe('colour vision', { concurrency: 3 }, () => {
  for (const [name, path, sign] of views) {
    for (const dark of [false, true]) {
      test(`${name} with every kind of colour vision (${dark ? 'dark' : 'light'})`, async () => {
        const page = await rig.page(path, { dark, width: 1280, height: 800 });
        await shown(page, sign);
        const session = await page.context().newCDPSession(page);
        const seen = new Map();
        for (const type of ['none', 'protanopia', 'deuteranopia', 'tritanopia', 'achromatopsia']) {
          await session.send('Emulation.setEmulatedVisionDeficiency', { type });
          await frames(page);
          seen.set(type, (await rig.shot(page, `vision-${name}-${type}-${dark ? 'dark' : 'light'}`)).toString('base64'));
        }
        await session.detach();
        assert.equal(new Set(seen.values()).size, 5, 'the emulation does nothing');
        assert.deepEqual(page.errors, []);
      });
    }
  }
});

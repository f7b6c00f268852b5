// The address holds the view: a reload shows the same picture, Back and Forward restore earlier views, the window can be
// resized, and invalid parameters are reported and ignored.
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { expected, prepare, shown, views } from './everything.mjs';
import { parameter } from './fabrics.mjs';
import { Rig, settled, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(prepare);
});
after(() => rig?.close());

async function picture(page) {
  await settled(page);
  return page.screenshot();
}

// The number of pixels that differ between two pictures. A few differ at antialiased edges.
async function different(page, a, b) {
  if (a.equals(b)) return 0;
  return page.evaluate(async (both) => {
    const [x, y] = await Promise.all(both.map(async (data) => {
      const image = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]));
      const c = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height }).getContext('2d');
      c.drawImage(image, 0, 0);
      return c.getImageData(0, 0, image.width, image.height).data;
    }));
    if (x.length !== y.length) return Infinity;
    let count = 0;
    for (let i = 0; i < x.length; i += 4) if (x[i] !== y[i] || x[i + 1] !== y[i + 1] || x[i + 2] !== y[i + 2]) ++count;
    return count;
  }, [a, b].map((picture) => picture.toString('base64')));
}
async function same(page, first, what) {
  const n = await different(page, first, await picture(page));
  assert.ok(n <= 200, `${what}: ${n} pixels differ`);
}

describe('address', { concurrency: 3 }, () => {
  for (const [name, path, sign] of views) {
    test(`${name}: a reload shows the same picture`, async () => {
      const page = await rig.page(path, { width: 1280, height: 800 });
      await shown(page, sign);
      const first = await picture(page);
      const address = page.url();
      await page.reload();
      await shown(page, sign);
      assert.equal(page.url(), address);
      await same(page, first, 'loaded again');
      assert.deepEqual(page.errors.filter((error) => !expected(error)), []);
    });
  }

  test('Back and Forward restore earlier views', async () => {
    const page = await rig.page('/run/incast', { width: 1280, height: 800 });
    await shown(page, '.strip canvas');
    await page.keyboard.press('2');
    await shown(page, '.stage canvas');
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    await settled(page);
    const at = parameter(page, 'at');
    const fabric = await picture(page);
    await page.keyboard.press('4');
    await shown(page, '.rows .row');
    await page.keyboard.press('6');
    await shown(page, 'article.finding');
    await page.goBack();
    await shown(page, '.rows .row');
    await page.goBack();
    await shown(page, '.stage canvas');
    assert.equal(parameter(page, 'at'), at);
    assert.match(await page.title(), /incast: Fabric/);
    await same(page, fabric, 'the fabric after Back');
    await page.goBack();
    await shown(page, '.strip canvas');
    await page.goForward();
    await shown(page, '.stage canvas');
    assert.equal(parameter(page, 'at'), at);
    assert.deepEqual(page.errors, []);
  });

  for (const [path, canvas] of [['/run/pauses/fabric?at=1200000000', '.stage canvas'], ['/run/incast', '.strip canvas'], ['/run/incast/time?at=500000000', '.uplot canvas']]) {
    test(`${path}: a resized window is redrawn, and its old size shows the same picture as before`, async () => {
      const page = await rig.page(path, { width: 1280, height: 800 });
      await shown(page, canvas);
      const size = () => page.locator(canvas).first().evaluate((c) => [c.width, c.getBoundingClientRect().width]);
      const [first, [width]] = [await picture(page), await size()];
      await page.setViewportSize({ width: 1000, height: 700 });
      await settled(page);
      const [narrow, box] = await size();
      assert.ok(narrow < width - 100 && Math.abs(narrow - box) <= 2, `${path}: ${narrow} pixels for ${box}`);
      await page.setViewportSize({ width: 1280, height: 800 });
      await settled(page);
      await same(page, first, `${path} after narrow and wide`);
      assert.deepEqual(page.errors, []);
    });
  }

  test('invalid parameters in the address are reported and ignored', async () => {
    const odd = async (path, sign, ...texts) => {
      const page = await rig.page(path);
      await shown(page, sign);
      for (const text of texts) await page.getByText(text, { exact: false }).first().waitFor();
      return page;
    };
    const page = await odd('/run/incast/fabric?at=xyz&from=900000000&to=3&see=9-1&node=nobody&flows=incast/3,q', '.stage canvas',
      'at=xyz is not a time in picoseconds', 'to=3 is not after from=900000000', 'node=nobody is not a node', 'see=9-1', 'has a flow that is not in the run: q');
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await settled(page);
    assert.equal(parameter(page, 'node'), null);
    assert.equal(await page.getByRole('button', { name: 'Remove', exact: true }).count(), 0);
    assert.deepEqual(page.errors, []);
    await odd('/run/incast/nonsense', '.strip canvas', 'There is no page /run/incast/nonsense');
    await odd('/run/incast/packets?packet=99999999', '.list .row', 'packet=99999999 is not in the capture');
    await odd('/run/incast/fabric?at=99999999999999', '.stage canvas', 'is outside the run');
    const hidden = await odd('/run/incast/findings?hide=%E0%A4%A,none', 'article.finding');
    assert.deepEqual(hidden.errors, []);
  });

  for (const [path, text] of [
    ['/run/nobody', /nobody/], ['/run/nobody/fabric', /nobody/], ['/run/nobody/time', /nobody/], ['/run/nobody/flows', /nobody/], ['/run/nobody/packets', /nobody/],
    ['/run/nobody/findings', /nobody/], ['/run/nobody/jobs', /nobody/], ['/sweep/nobody', /nobody/], ['/worlds/nobody', /nobody/], ['/lab/nobody.yaml', /nobody/],
    ['/compare?a=nobody&b=none', /nobody|none/], ['/run/%3Cscript%3E', /script/],
  ]) {
    test(`${path}: what does not exist is reported by name`, async () => {
      const page = await rig.page(path);
      await page.waitForFunction((wanted) => new RegExp(wanted).test(document.querySelector('main').innerText), text.source)
        .catch(async () => assert.fail(`${path} says ${await page.locator('main').innerText()}`));
      assert.deepEqual(page.errors.filter((error) => !/40[04]/.test(error)), [], path);
    });
  }
});

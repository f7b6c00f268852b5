// Every view without a mouse: Tab reaches every control with a visible focus, Enter and Space activate it, Escape closes
// panels, arrows move in lists, and keys typed into a field have no other effect.
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { prepare, shown, views } from './everything.mjs';
import { parameter } from './fabrics.mjs';
import { Rig, settled, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(prepare);
});
after(() => rig?.close());
async function open(path, sign, options) {
  const page = await rig.page(path, options);
  await shown(page, sign);
  return page;
}
const focus = (page) => page.evaluate(() => {
  const e = document.activeElement;
  return e === document.body ? '' : `${e.getAttribute('role') ?? e.tagName.toLowerCase()} ${e.getAttribute('aria-label') ?? e.textContent.trim().slice(0, 50)}`;
});

describe('keyboard', { concurrency: 3 }, () => {
  for (const [name, path, sign] of views) {
    test(`${name}: Tab reaches and leaves every control, each has a name and a visible focus`, async () => {
      const page = await open(path, sign);
      // Every clickable element, except rows and fields of lists, where the list handles the keys.
      const wanted = await page.evaluate(() => {
        const found = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [role=slider], [role=grid], [tabindex="0"]')]
          .filter((e) => !e.disabled && e.getClientRects().length > 0 && getComputedStyle(e).visibility === 'visible' && e.tabIndex >= 0 && !e.closest('.skip'))
          .filter((e) => e.type !== 'radio' || e.checked); // of a group Tab reaches the one that is chosen, arrows the others
        found.forEach((e, i) => (e.dataset.control = i));
        return found.length;
      });
      const unnamed = await page.evaluate(() => [...document.querySelectorAll('[data-control]')].filter((e) => {
        const label = e.labels?.length ? e.labels[0].textContent : '';
        return !(e.getAttribute('aria-label') || e.textContent.trim() || label.trim() || e.getAttribute('title') || e.getAttribute('placeholder'));
      }).map((e) => e.outerHTML.slice(0, 120)));
      assert.deepEqual(unnamed, []);
      // The first few hundred elements of a kind are enough.
      const [seen, weak] = [new Set(), []];
      await page.evaluate(() => {
        window.focused = [];
        document.addEventListener('focusin', ({ target: e }) => {
          const style = getComputedStyle(e.closest('.editor') ?? e);
          const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
          window.focused.push({ control: e.dataset.control ?? '', ring, what: e.outerHTML.slice(0, 100) });
        });
      });
      const hasEditor = (await page.locator('.editor textarea').count()) > 0; // left with Escape and Tab; elsewhere Escape would close a panel
      const inEditor = () => page.evaluate(() => document.activeElement.tagName === 'TEXTAREA');
      for (let i = 0; i < Math.min(wanted + 6, 260); ++i) {
        if (hasEditor && (await inEditor())) await page.keyboard.press('Escape');
        await page.keyboard.press('Tab');
      }
      for (const at of await page.evaluate(() => window.focused)) {
        if (!at.ring && !at.what.includes('class="skip')) weak.push(at.what);
        if (at.control !== '') seen.add(at.control);
      }
      assert.deepEqual([...new Set(weak)], [], 'no focus ring');
      const missed = await page.evaluate((known) => [...document.querySelectorAll('[data-control]')].filter((e) => !known.includes(e.dataset.control)).map((e) => e.outerHTML.slice(0, 100)), [...seen]);
      assert.ok(seen.size >= Math.min(wanted, 240), `${seen.size} of ${wanted}; not reached: ${missed.slice(0, 5).join(' | ')}`);
    });
  }

  test('keys select the views of a run, ? opens the legend, and Escape closes only the legend', async () => {
    const page = await open('/run/incast/fabric?node=leaf0', 'text=QoS chain');
    await page.keyboard.press('?');
    const legend = page.getByRole('complementary', { name: 'Legend' });
    await legend.waitFor();
    assert.match(await focus(page), /Legend/);
    await page.keyboard.press('Escape');
    await legend.waitFor({ state: 'detached' });
    assert.equal(parameter(page, 'node'), 'leaf0');
    await page.keyboard.press('Escape');
    await settled(page);
    assert.equal(parameter(page, 'node'), null);
    for (const [key, view] of [['1', ''], ['2', '/fabric'], ['3', '/time'], ['4', '/flows'], ['5', '/packets'], ['6', '/findings'], ['7', '/jobs']]) {
      await page.keyboard.press(key);
      assert.equal(new URL(page.url()).pathname, `/run/incast${view}`);
    }
  });

  test('keys typed into a field have no other effect', async () => {
    const page = await open('/run/incast/fabric?at=500000000', '.stage canvas');
    await page.getByRole('combobox', { name: 'Open a node' }).focus();
    await page.keyboard.type('?3 wasd0');
    await page.keyboard.press('ArrowRight');
    await settled(page);
    assert.equal(new URL(page.url()).pathname, '/run/incast/fabric');
    assert.equal(parameter(page, 'at'), '500000000');
    assert.equal(await page.getByRole('complementary', { name: 'Legend' }).count(), 0);
    assert.equal(await page.getByRole('combobox', { name: 'Open a node' }).inputValue(), '?3 wasd0');
  });

  test('a node is opened by name and flows are chosen with the keyboard', async () => {
    const page = await open('/run/pauses/fabric?at=1200000000', '.stage canvas');
    await page.getByRole('combobox', { name: 'Open a node' }).focus();
    await page.keyboard.type('edge5');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'Node edge5' }).waitFor();
    await page.getByRole('button', { name: 'Flows', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('searchbox', { name: 'Find flows' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await settled(page);
    assert.match(parameter(page, 'flows') ?? '', /^incast\//);
    await page.keyboard.press('Escape');
    await page.getByRole('searchbox', { name: 'Find flows' }).waitFor({ state: 'detached' });
    assert.match(await focus(page), /Flows/);
    assert.equal(parameter(page, 'node'), 'edge5', 'Escape closed the list alone');
  });

  test('arrows move in lists: runs, findings, packets', async () => {
    const page = await open('/runs', 'text=first-light');
    await page.keyboard.press('ArrowDown');
    const first = await focus(page);
    await page.keyboard.press('ArrowDown');
    const second = await focus(page);
    assert.ok(first && second && first !== second, `${first}, ${second}`);
    await page.keyboard.press('ArrowUp');
    assert.equal(await focus(page), first);
    await page.goto(`${rig.url}/run/incast/findings`);
    await shown(page, 'article.finding');
    await page.keyboard.press('ArrowDown');
    assert.match(await focus(page), /^article (error|warning|note)/);
    await page.keyboard.press('Tab');
    assert.match(await focus(page), /^(a|button) /);
    await page.goto(`${rig.url}/run/incast/packets`);
    await shown(page, '.list .row');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.waitForURL(/packet=2/);
    assert.equal(await page.getByRole('row', { selected: true }).count(), 1);
  });

  test('the strip of the summary is a slider: arrows move it, Enter opens Time', async () => {
    const page = await open('/run/incast', '.strip canvas');
    const strip = page.getByRole('slider', { name: 'The run over time' });
    await strip.focus();
    for (let i = 0; i < 3; ++i) await page.keyboard.press('Shift+ArrowRight');
    await settled(page);
    assert.ok(Number(await strip.getAttribute('aria-valuenow')) > 0);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/time\?.*at=\d+/);
  });
});

test('with reduced motion, play shows single pictures', async () => {
  const frames = async (still) => {
    const page = await open('/run/incast/fabric?at=0', '.stage canvas', { still });
    await page.evaluate(() => performance.clearMeasures('fabric frame'));
    await page.keyboard.press('Home');
    await settled(page);
    await page.evaluate(() => performance.clearMeasures('fabric frame'));
    await page.keyboard.press(' ');
    await page.waitForTimeout(1600);
    await page.keyboard.press(' ');
    const n = await page.evaluate(() => performance.getEntriesByName('fabric frame').length);
    await settled(page);
    assert.ok(Number(parameter(page, 'at')) > 0, 'it plays');
    return n;
  };
  const [film, pictures] = [await frames(false), await frames(true)];
  assert.ok(pictures >= 1 && pictures <= 6, `${pictures} pictures in 1.6 s`);
  assert.ok(film > pictures, `${film} frames, ${pictures} pictures`);
});

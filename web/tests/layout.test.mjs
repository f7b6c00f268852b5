// Measures the layout of every view in three sizes, light and dark: no horizontal scrollbar of the page, no text that is
// cut and cannot be read elsewhere, no overlapping text, no message in the console.
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { expected, prepare, shown, views } from './everything.mjs';
import { frames, Rig, settled, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(prepare);
});
after(() => rig?.close());

function defects() {
  const out = [];
  const page = document.documentElement;
  if (page.scrollWidth > innerWidth + 1) out.push(`the page is ${page.scrollWidth} wide, the window ${innerWidth}`);
  const main = document.querySelector('main');
  if (main.scrollWidth > main.clientWidth + 1) out.push(`the view is ${main.scrollWidth} wide, its room ${main.clientWidth}`);

  const name = (element) => `<${element.tagName.toLowerCase()} class="${element.className?.baseVal ?? element.className ?? ''}">`;
  const clips = (style) => /hidden|clip|auto|scroll/.test(style.overflowX + style.overflowY);
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.nodeValue.trim() || element.closest('script, style, option, datalist, aside[aria-label="Legend"], .editor, .tip, .hidden, .skip')) continue;
    const style = getComputedStyle(element);
    if (style.visibility !== 'visible' || style.opacity === '0') continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      let [x0, y0, x1, y1] = [rect.left, rect.top, rect.right, rect.bottom];
      for (let up = element; up && up !== document.body; up = up.parentElement) {
        if (!clips(getComputedStyle(up))) continue;
        const box = up.getBoundingClientRect();
        [x0, y0, x1, y1] = [Math.max(x0, box.left), Math.max(y0, box.top), Math.min(x1, box.right), Math.min(y1, box.bottom)];
      }
      if (x1 - x0 > 1 && y1 - y0 > 1) texts.push({ x0, y0, x1, y1, node, element, text: node.nodeValue.trim().slice(0, 40) });
    }
  }
  texts.sort((a, b) => a.y0 - b.y0);
  for (let i = 0; i < texts.length; ++i) {
    for (let k = i + 1; k < texts.length && texts[k].y0 < texts[i].y1; ++k) {
      const [a, b] = [texts[i], texts[k]];
      if (a.node === b.node) continue; // cut with three dots: the whole and the rest
      const [w, h] = [Math.min(a.x1, b.x1) - Math.max(a.x0, b.x0), Math.min(a.y1, b.y1) - Math.max(a.y0, b.y0)];
      if (w > 2 && h > 4) out.push(`"${a.text}" ${name(a.element)} and "${b.text}" ${name(b.element)} overlap by ${w.toFixed(0)} x ${h.toFixed(0)}`);
    }
  }
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('[aria-hidden="true"], .hidden, .editor, [title]') || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.nodeValue.trim());
    if (!hasText) continue;
    if (/hidden|clip/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1) out.push(`${name(element)} cuts "${element.textContent.trim().slice(0, 60)}"`);
    if (/hidden|clip/.test(style.overflowY) && element.scrollHeight > element.clientHeight + 3) out.push(`${name(element)} cuts lines of "${element.textContent.trim().slice(0, 60)}"`);
  }
  // Texts written by canvases that report them.
  for (const canvas of document.querySelectorAll('canvas')) {
    const labels = canvas.weft?.labels() ?? [];
    const size = canvas.getBoundingClientRect();
    for (const [i, a] of labels.entries()) {
      if (a.x < -1 || a.y < -2 || a.x + a.w > size.width + 1 || a.y + a.h > size.height + 2) out.push(`"${a.text}" is cut at the edge of the canvas`);
      for (const b of labels.slice(i + 1)) {
        const [w, h] = [Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x), Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y)];
        if (w > 1 && h > 2) out.push(`"${a.text}" and "${b.text}" overlap on the canvas`);
      }
    }
  }
  return out.slice(0, 12);
}

describe('layout', { concurrency: 3 }, () => {
  for (const [name, path, sign] of views) {
    test(`${name} has no layout defect`, async () => {
      const page = await rig.page(path, { width: 1280, height: 800 });
      await shown(page, sign);
      const found = [];
      for (const [width, height] of [[1280, 800], [1920, 1080], [1024, 700]]) {
        await page.setViewportSize({ width, height });
        await settled(page);
        for (const scheme of ['light', 'dark']) {
          await page.emulateMedia({ colorScheme: scheme });
          await frames(page);
          for (const defect of await page.evaluate(defects)) found.push(`${width}x${height} ${scheme}: ${defect}`);
          // All are measured; screenshots are kept once for each size, and at 1280 in both themes.
          if (width === 1280 || (width === 1920) === (scheme === 'light')) await rig.shot(page, `layout-${name}-${width}-${scheme}`);
        }
      }
      assert.deepEqual(found, []);
      assert.deepEqual(page.errors.filter((error) => !expected(error)), []);
    });
  }
});

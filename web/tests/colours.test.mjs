// Checks of the page's colours by computation: contrast in both themes, lines that are distinguishable with any kind of
// colour vision, and a utilisation scale with monotonic lightness for all of them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { contrast, deficiencies, distance, mixed, oklab } from './colour.mjs';
import { root } from './support.mjs';

const css = readFileSync(join(root, 'web/src/theme.css'), 'utf8');
const palette = JSON.parse(readFileSync(join(root, 'web/src/lib/palette.json'), 'utf8'));
const block = (start) => Object.fromEntries([...css.slice(css.indexOf(start)).split('}')[0].matchAll(/(--[\w-]+):\s*([^;]+);/g)].map((m) => [m[1], m[2].replace(/\/\*.*/, '').trim()]));
const base = block(':root {');
const dark = block(":root[data-theme='dark']");
const themes = {
  light: (name) => resolved({ ...base }, name),
  dark: (name) => resolved({ ...base, ...dark }, name),
};
function resolved(all, name) {
  const value = all[name];
  return value.startsWith('var(') ? resolved(all, value.slice(4, -1)) : value;
}

test('the dark theme is the same by button and by system preference', () => {
  assert.deepEqual(block(":root:not([data-theme='light'])"), dark);
});

for (const [theme, get] of Object.entries(themes)) {
  const grounds = ['--paper', '--raised', '--select'];
  test(`${theme}: text has a contrast of 4.5 to 1`, () => {
    for (const text of ['--ink', '--soft', '--accent', '--loss', '--mark-ink', '--pause', '--well']) {
      for (const ground of grounds) assert.ok(contrast(get(text), get(ground)) >= 4.5, `${text} on ${ground}: ${contrast(get(text), get(ground)).toFixed(2)}`);
    }
    assert.ok(contrast(get('--paper'), get('--accent')) >= 4.5, 'the primary button');
  });

  test(`${theme}: signs, lines and controls have a contrast of 3 to 1`, () => {
    const { scale, lines, flows, queue } = palette[theme];
    const signs = { ...Object.fromEntries(['--mark', '--pause', '--loss', '--fault', '--accent', '--edge'].map((name) => [name, get(name)])) };
    for (const [i, colour] of [...scale, ...lines.flat(), ...flows].entries()) signs[`colour ${i} ${colour}`] = colour;
    for (const [name, colour] of Object.entries(signs)) {
      for (const ground of ['--paper', '--raised']) assert.ok(contrast(colour, get(ground)) >= 3, `${name} on ${ground}: ${contrast(colour, get(ground)).toFixed(2)}`);
    }
    // Queues are drawn with an opacity of 0.8.
    assert.ok(contrast(mixed(queue, get('--paper'), 0.8), get('--paper')) >= 3, 'queue');
  });

  // Lines of one dash differ by colour only. Without colour only lightness is left; a difference of 0.05 is visible.
  test(`${theme}: lines of one dash are distinguishable with any colour vision`, () => {
    for (const group of [...palette[theme].lines, palette[theme].flows]) {
      for (const deficiency of Object.keys(deficiencies)) {
        for (const [i, a] of group.entries()) {
          for (const b of group.slice(i + 1)) {
            const [d, least] = [distance(a, b, deficiency), deficiency === 'achromatopsia' ? 0.05 : 0.07];
            assert.ok(d >= least, `${a} and ${b}, ${deficiency}: ${d.toFixed(3)}`);
          }
        }
      }
    }
  });

  test(`${theme}: thresholds of ECN and of PFC, and loss and fault, differ`, () => {
    for (const [a, b] of [['--mark', '--pause'], ['--loss', '--pause'], ['--accent', '--mark']]) {
      for (const deficiency of Object.keys(deficiencies)) {
        if (deficiency === 'achromatopsia') continue; // signs: side of the bar, cross, hatching
        assert.ok(distance(get(a), get(b), deficiency) >= 0.07, `${a} and ${b}, ${deficiency}: ${distance(get(a), get(b), deficiency).toFixed(3)}`);
      }
    }
  });

  test(`${theme}: the lightness of the scale is monotonic with any colour vision`, () => {
    const way = theme === 'dark' ? 1 : -1;
    for (const deficiency of Object.keys(deficiencies)) {
      const lightness = palette[theme].scale.map((colour) => oklab(colour, deficiency)[0]);
      for (let i = 1; i < lightness.length; ++i) {
        assert.ok((lightness[i] - lightness[i - 1]) * way > 0.004, `${deficiency}: ${lightness.map((v) => v.toFixed(3))}`);
      }
      assert.ok(Math.abs(lightness.at(-1) - lightness[0]) > 0.3);
    }
  });
}

// Large fabrics, and helpers of the tests of fabric, time and summary.
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { call, frames, once } from './support.mjs';

// A permutation on a fat tree: k = 8 has 128 hosts, k = 16 has 1,024.
export const runFatTree = (directory, k, size) => once(`fat tree ${k} ${size}`, directory, async (own) => {
  const lab = join(tmpdir(), `weft-fat-tree-${k}-${process.pid}.yaml`);
  writeFileSync(lab, `version: 1
name: permutation-${(k * k * k) / 4}
seed: 1
sample: 2 us
fabric:
  template: fat-tree
  k: ${k}
  switch: sn3700c
  host: {nic: cx5-100g, mtu: 4200 B}
qos: {profile: roce-lossless}
workloads:
  - {name: perm, flows: permutation, hosts: all, size: ${size}}
`);
  await call('run', lab, '--out', own);
  rmSync(lab);
});

export async function drawn(page) {
  await page.waitForFunction(() => performance.getEntriesByName('fabric first draw').length > 0);
  await frames(page);
}

// The number of pixels of a canvas that have a colour of the theme ("--pause"), or one given (#rrggbb).
export function pixels(page, canvas, colour) {
  return page.locator(canvas).first().evaluate((element, name) => {
    const text = name.startsWith('--') ? getComputedStyle(document.documentElement).getPropertyValue(name).trim() : name;
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
    const copy = document.createElement('canvas');
    [copy.width, copy.height] = [element.width, element.height];
    const c = copy.getContext('2d', { willReadFrequently: true });
    c.drawImage(element, 0, 0);
    const { data } = c.getImageData(0, 0, copy.width, copy.height);
    let n = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (Math.abs(data[i] - r) < 12 && Math.abs(data[i + 1] - g) < 12 && Math.abs(data[i + 2] - b) < 12) ++n;
    }
    return n;
  }, colour);
}

export const parameter = (page, name) => new URL(page.url()).searchParams.get(name);

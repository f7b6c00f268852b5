// Checks what the fabric draws: pixels of the canvas at a link and at a queue against the values of the run.
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { drawn, runFatTree } from './fabrics.mjs';
import { contrast } from './colour.mjs';
import { keptRun, Rig, settled, test } from './support.mjs';

let rig;
before(async () => {
  rig = await Rig.open(async (directory) => {
    for (const lab of ['incast-ecn', 'pause-propagation', 'link-cut', 'deadlock']) await keptRun(`${directory}/${lab}`, `fabric/${lab}.yaml`, '--set', 'sample=auto');
    await runFatTree(`${directory}/permutation-1024`, 16, '250 kB');
  });
});
after(() => rig?.close());
async function open(path, options) {
  const page = await rig.page(path, options);
  await drawn(page);
  await settled(page);
  return page;
}

// Along and across the links of ports, from the hook: how wide the line is in the middle, its colour there, and how many
// strokes of hatching are on it.
function sampled(pattern) {
  const canvas = document.querySelector('.stage canvas');
  const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const ratio = canvas.width / canvas.getBoundingClientRect().width;
  const at = (x, y) => {
    const i = (Math.round(y * ratio) * image.width + Math.round(x * ratio)) * 4;
    return [image.data[i], image.data[i + 1], image.data[i + 2]];
  };
  const text = getComputedStyle(document.documentElement).getPropertyValue('--pause').trim();
  const pause = [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
  const paper = at(2, canvas.height / ratio - 3);
  const far = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);
  return canvas.weft.ports().filter((port) => new RegExp(pattern).test(port)).map((port) => {
    const link = canvas.weft.link(port);
    const [[x0, y0], [x1, y1]] = link.points;
    const length = Math.hypot(x1 - x0, y1 - y0);
    const [dx, dy] = [(x1 - x0) / length, (y1 - y0) / length];
    const place = (share, side = 0) => at(x0 + dx * length * share - dy * side, y0 + dy * length * share + dx * side);
    // The strongest pixel near the middle of the line, and how far pixels beside it are at least half as strong.
    let colour = paper;
    for (let side = -1.5; side <= 1.5; side += 0.5) if (far(place(0.9, side), paper) > far(colour, paper)) colour = place(0.9, side);
    let width = 0;
    for (let side = -link.most / 2 - 1; side <= link.most / 2 + 1; side += 0.25) if (far(place(0.9, side), paper) > far(colour, paper) / 2) width += 0.25;
    // Strokes in the colour of pauses, one after the other along the line.
    const strokes = (from, to) => {
      let [n, last] = [0, false];
      for (let p = from * length; p < to * length; p += 0.5) {
        const now = [-1, 0, 1].some((side) => far(place(p / length, side), pause) < 80);
        if (now && !last) ++n;
        last = now;
      }
      return n;
    };
    const hex = '#' + colour.map((v) => v.toString(16).padStart(2, '0')).join('');
    return { port, ...link, width, colour: hex, near: strokes(0.12, 0.34), whole: strokes(0.02, 0.98) };
  });
}

describe('drawing', { concurrency: 3 }, () => {
  for (const dark of [false, true]) {
    test(`width and shade of a line show the utilisation of its link (${dark ? 'dark' : 'light'})`, async () => {
      const page = await open('/run/incast-ecn/fabric?at=500000000', { dark });
      const paper = dark ? '#14171a' : '#ffffff';
      const links = await page.evaluate(sampled, '');
      const calm = links.filter((link) => link.paused === 0).sort((a, b) => a.used - b.used);
      const [idle, busy] = [calm.filter((link) => link.used === 0), calm.filter((link) => link.used > 0.95)];
      const middle = calm.filter((link) => link.used > 0.3 && link.used < 0.7);
      assert.ok(idle.length > 3 && busy.length > 0 && middle.length > 0, `${idle.length} idle, ${middle.length} in the middle, ${busy.length} busy`);
      const mean = (list, f) => list.reduce((sum, link) => sum + f(link), 0) / list.length;
      const [w0, w1, w2] = [idle, middle, busy].map((list) => mean(list, (link) => link.width));
      assert.ok(w0 < w1 && w1 < w2, `widths ${w0}, ${w1}, ${w2}`);
      const [c0, c1, c2] = [idle, middle, busy].map((list) => mean(list, (link) => contrast(link.colour, paper)));
      assert.ok(c0 < c1 && c1 < c2, `contrasts ${c0}, ${c1}, ${c2}`);
      assert.deepEqual(page.errors.filter((error) => !error.includes('getImageData')), []); // of this test
    });

    test(`a link is hatched only while its port is paused (${dark ? 'dark' : 'light'})`, async () => {
      const page = await open('/run/pause-propagation/fabric?at=0', { dark });
      let [paused, calm] = [0, 0];
      for (const at of [1e6, 300e6, 1200e6, 3000e6, 4890e6]) {
        await page.goto(`${rig.url}/run/pause-propagation/fabric?at=${at}`);
        await drawn(page);
        await settled(page);
        for (const link of await page.evaluate(sampled, '^(h\\d+|edge\\d+):')) {
          const { port } = link;
          if (link.paused > 0.35) {
            ++paused;
            assert.ok(link.near >= 3, `${port} at ${at} is paused for ${link.paused} and has ${link.near} strokes`);
          } else if (link.paused === 0) {
            ++calm;
            assert.ok(link.whole <= 2, `${port} at ${at} is not paused and has ${link.whole} strokes`);
          }
        }
      }
      assert.ok(paused >= 6 && calm > 100, `${paused} paused, ${calm} not`);
    });
  }

  test('the bar of a queue has the height of its bytes, above ECN max if it is longer', async () => {
    const page = await open('/run/incast-ecn/fabric?at=0');
    const bar = () => page.evaluate(() => {
      const canvas = document.querySelector('.stage canvas');
      const q = canvas.weft.queue('leaf0:swp1');
      const ratio = canvas.width / canvas.getBoundingClientRect().width;
      const { data } = canvas.getContext('2d').getImageData(Math.round((q.x + q.w / 2) * ratio), 0, 1, canvas.height);
      let height = 0;
      for (let y = 0; y < q.h; ++y) {
        const [r, g, b] = data.subarray(4 * Math.round((q.up ? q.y - 1 - y : q.y + 1 + y) * ratio));
        if (g > r + 40 && g > b + 10) height = y + 1;
      }
      return { ...q, height };
    });
    const heights = [];
    for (const at of [0, 30e6, 60e6, 500e6, 2000e6, 2600e6]) {
      await page.goto(`${rig.url}/run/incast-ecn/fabric?at=${at}`);
      await drawn(page);
      await settled(page);
      const q = await bar();
      const wanted = q.h * Math.sqrt(Math.min(1, q.bytes / q.most));
      assert.ok(Math.abs(q.height - wanted) <= 2.5, `at ${at}: ${q.height} pixels for ${q.bytes} B, ${wanted} expected`);
      const threshold = q.h * Math.sqrt(q.ecn_max_B / q.most);
      if (Math.abs(q.height - threshold) > 3) assert.equal(q.height > threshold, q.bytes > q.ecn_max_B);
      heights.push(q.height);
    }
    assert.ok(heights[3] > heights[1] && heights[5] < heights[3], heights.join());
  });

  test('the bar of an ingress group is above its limit while its port pauses the peer', async () => {
    const page = await rig.page('/labs');
    const { events } = await (await page.request.get(`${rig.url}/api/runs/pause-propagation/events?kinds=pause&limit=50000`)).json();
    const { groups } = await (await page.request.get(`${rig.url}/api/runs/pause-propagation/fabric`)).json();
    const longest = events.filter((e) => groups.some((g) => g.port === e.port)).sort((a, b) => b.last_ps - b.time_ps - a.last_ps + a.time_ps)[0];
    const shown = async (at) => {
      await page.goto(`${rig.url}/run/pause-propagation/fabric?at=${at}`);
      await drawn(page);
      await settled(page);
      return page.evaluate((port) => {
        const canvas = document.querySelector('.stage canvas');
        const q = canvas.weft.queue(port);
        const ratio = canvas.width / canvas.getBoundingClientRect().width;
        const { data } = canvas.getContext('2d').getImageData(Math.round((q.x + q.w + 2.5) * ratio), 0, 1, canvas.height);
        let violet = 0;
        for (let y = 0; y < q.h; ++y) {
          const [r, g, b] = data.subarray(4 * Math.round((q.up ? q.y - 1 - y : q.y + 1 + y) * ratio));
          if (b > g + 30 && r > g) ++violet;
        }
        return { group: q.group, violet, h: q.h };
      }, longest.port);
    };
    const start = await shown(0);
    assert.equal(start.group, 0);
    const paused = await shown(Math.round((longest.time_ps + longest.last_ps) / 2));
    assert.ok(paused.group > 0.7, JSON.stringify(paused));
    assert.ok(paused.violet > start.violet + 5, JSON.stringify([start, paused]));
  });

  test('a link between nodes that are not neighbours goes around the nodes between them', async () => {
    const page = await open('/run/deadlock/fabric?at=900000000');
    const { points, labels } = await page.evaluate(() => {
      const { weft } = document.querySelector('.stage canvas');
      const around = weft.ports().map((port) => weft.link(port).points).filter((way) => way.length > 2);
      return { points: around, labels: weft.labels() };
    });
    assert.equal(points.length, 2);
    const sw1 = labels.find((label) => label.text === 'sw1');
    for (const way of points) assert.ok(way[1][1] < sw1.y - 10 && way[2][1] < sw1.y - 10);
    await rig.shot(page, 'fabric-deadlock');
  });
});

// The time between pictures, including painting by the browser.
test('1,024 hosts: frames while the cursor is dragged', async (t) => {
  for (const dark of [false, true]) {
    const page = await open('/run/permutation-1024/fabric?at=20000000', { dark });
    await settled(page);
    const strip = await page.locator('.strip canvas').boundingBox();
    await page.evaluate(() => {
      performance.clearMeasures('fabric frame');
      window.frames1024 = [];
      const tick = (now) => {
        window.frames1024.push(now);
        window.going = requestAnimationFrame(tick);
      };
      window.going = requestAnimationFrame(tick);
    });
    await page.mouse.move(strip.x + 20, strip.y + 30);
    await page.mouse.down();
    for (let i = 0; i < 40; ++i) await page.mouse.move(strip.x + 20 + i * 24, strip.y + 30);
    await page.mouse.up();
    const { times, script } = await page.evaluate(() => {
      cancelAnimationFrame(window.going);
      return { times: window.frames1024, script: performance.getEntriesByName('fabric frame').map((e) => e.duration) };
    });
    const sorted = (list) => [...list].sort((a, b) => a - b);
    const said = (list) => `median ${list[list.length >> 1].toFixed(1)} ms, 90 % within ${list[Math.floor(list.length * 0.9)].toFixed(1)} ms, worst ${list.at(-1).toFixed(1)} ms`;
    t.diagnostic(`${dark ? 'dark' : 'light'}: ${times.length} frames, from one to the next ${said(sorted(times.slice(1).map((time, i) => time - times[i])))}; script ${said(sorted(script))}`);
    assert.ok(times.length > 20 && script.length > 10);
    assert.deepEqual(page.errors, []);
  }
});

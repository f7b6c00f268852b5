// Every suite (*.test.mjs) in one process, with one browser, two at a time. `node --test web/tests/NAME.test.mjs` runs one.
import { readdirSync } from 'node:fs';
import { describe } from 'node:test';
import { join } from 'node:path';
import { root } from './support.mjs';

const suites = readdirSync(join(root, 'web/tests')).filter((file) => file.endsWith('.test.mjs'));
describe('page', { concurrency: 2 }, () => {
  for (const file of suites) describe(file.replace('.test.mjs', ''), { concurrency: 1 }, () => import(`./${file}`));
});

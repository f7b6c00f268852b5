// Numbers as an engineer reads them, by the rules of src/base/figures.h: 98.0 Gb/s, 1.41 us, 14.5 MB, 43 %.
// tests/data/figures.txt has values with their text for both.

type Scale = readonly (readonly [number, string])[];

// A half is rounded up, as in figures.cc.
function fixed(size: number, decimals: number): string {
  const power = 10 ** decimals;
  return (Math.floor(size * power + 0.5) / power).toFixed(decimals);
}

// What rounds to 1000 of a unit is 1 of the next, what rounds to 10.00 is 10.0.
const carry = (digits: number) => 1 - 0.5 / 10 ** digits;

function significant(size: number, digits: number): string {
  let decimals = digits - 1;
  for (let limit = 10; decimals > 0 && size >= limit * carry(digits); limit *= 10) --decimals;
  return fixed(size, decimals);
}

function scaled(value: number, scale: Scale, digits: number, whole = true): string {
  const size = Math.abs(value);
  let at = 0;
  while (at + 1 < scale.length && size >= scale[at + 1][0] * carry(digits)) ++at;
  const number = size / scale[at][0];
  const text = at === 0 && (whole || number === 0) ? fixed(number, 0) : significant(number, digits);
  return `${value < 0 ? '-' : ''}${text} ${scale[at][1]}`;
}

export function rate(bps: number, digits = 3): string {
  return scaled(bps, [[1, 'b/s'], [1e3, 'kb/s'], [1e6, 'Mb/s'], [1e9, 'Gb/s'], [1e12, 'Tb/s']], digits);
}

// Of a port or link: exact.
export function lineRate(bps: number): string {
  return bps < 1e6 ? `${bps / 1e3} kb/s` : bps < 1e9 ? `${bps / 1e6} Mb/s` : `${bps / 1e9} Gb/s`;
}

export function size(bytes: number, digits = 3): string {
  return scaled(bytes, [[1, 'B'], [1e3, 'kB'], [1e6, 'MB'], [1e9, 'GB'], [1e12, 'TB']], digits);
}

export function byteRate(bytesPerSecond: number, digits = 3): string {
  return `${size(bytesPerSecond, digits)}/s`;
}

const times: Scale = [[1, 'ps'], [1e3, 'ns'], [1e6, 'us'], [1e9, 'ms'], [1e12, 's']];
export function time(ps: number, digits = 3): string {
  return ps === 0 ? '0 us' : scaled(ps, times, digits);
}

// A time of a run: 865.818 ms, 1.500 s. In a narrow span it has the digits that tell its times apart, down to a
// nanosecond.
export function moment(ps: number, span_ps: number): string {
  if (ps === 0) return '0 us';
  const size = Math.abs(ps);
  let at = 1;
  while (at + 1 < times.length && size >= times[at + 1][0]) ++at;
  const [factor, unit] = times[at];
  const most = 3 * (at - 1); // digits of a nanosecond
  let decimals = Math.min(3, most);
  while (decimals < most && factor / 10 ** decimals > Math.max(1, span_ps) / 1e3) ++decimals;
  return `${ps < 0 ? '-' : ''}${fixed(size / factor, decimals)} ${unit}`;
}

// A time at an axis: all of them in a unit that fits the span that is shown.
export function tick(ps: number, span_ps: number): string {
  const [factor, unit] = span_ps < 1e6 ? [1e3, 'ns'] : span_ps < 2e9 ? [1e6, 'us'] : span_ps < 2e12 ? [1e9, 'ms'] : [1e12, 's'];
  const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.max(1e-9, span_ps / factor)))));
  return `${(ps / factor).toFixed(digits)} ${unit}`;
}

// Of a message, exact, in the shortest whole unit: 64 KiB, 60 GB.
export function messageSize(bytes: number): string {
  const wholes = (base: number, units: string[]) => {
    let number = bytes;
    let at = 0;
    for (; at + 1 < units.length && number > 0 && number % base === 0; ++at) number /= base;
    return [String(number), units[at]];
  };
  const binary = wholes(1024, ['B', 'KiB', 'MiB', 'GiB']);
  const decimal = wholes(1000, ['B', 'kB', 'MB', 'GB', 'TB']);
  return (decimal[0].length < binary[0].length ? decimal : binary).join(' ');
}
export function count(n: number): string {
  return n.toLocaleString('en-US');
}

// One decimal, of small ones one significant digit; `whole`: none from 10 % on, unless 100 % would be wrong.
function percentOf(share: number, whole: boolean): string {
  const p = 100 * share;
  let decimals = whole && (p === 0 || p >= 99.995 || (p >= 9.95 && p < 99.5)) ? 0 : 1;
  if (whole && p >= 99.905 && p < 99.995) decimals = 2;
  for (let step = 0.095; p > 0 && p < step && decimals < 9; step /= 10) ++decimals;
  return fixed(p, decimals);
}

export function percent(share: number): string {
  return `${share < 0 ? '-' : ''}${percentOf(Math.abs(share), true)} %`;
}

// A value of a time series in its unit: "B", "b/s", "ps", "share", "1/s", "1".
export function value(v: number, unit: string): string {
  if (unit === 'B') return size(v);
  if (unit === 'bps' || unit === 'b/s') return rate(v);
  if (unit === 'ps') return time(v);
  if (unit === 'share') return percent(v);
  if (unit === '1/s') return scaled(v, [[1, '/s'], [1e3, 'k/s'], [1e6, 'M/s'], [1e9, 'G/s']], 3, false);
  return count(Math.round(v));
}

const factors: Record<string, [number, (v: number, digits?: number) => string]> = {
  ps: [1, time], ns: [1e3, time], us: [1e6, time], ms: [1e9, time], s: [1e12, time],
  B: [1, size], bytes: [1, size], kB: [1e3, size], MB: [1e6, size],
  bps: [1, rate], Gbps: [1e9, rate], Mbps: [1e6, rate], Bps: [1, byteRate],
};
// A result in the unit that its name ends with: 1412.3 with "us" is 1.41 ms.
export function figure(v: number, unit: string, digits = 3): string {
  const known = factors[unit];
  if (known) return known[1](v * known[0], digits);
  if (Number.isInteger(v)) return count(v) + (unit ? ` ${unit}` : '');
  const text = Math.abs(v) >= 1e6 || Math.abs(v) < 1e-3 ? v.toPrecision(digits) : String(+v.toPrecision(digits + 1));
  return text + (unit ? ` ${unit}` : '');
}

// The number of digits needed to distinguish these values, at most ten.
export function digitsFor(values: number[], unit: string): number {
  const different = new Set(values).size;
  for (let digits = 3; digits < 10; ++digits) if (new Set(values.map((v) => figure(v, unit, digits))).size === different) return digits;
  return 10;
}

// A change relative to A: "+12.3 %", "x 14.3".
export function change(share: number): string {
  if (Math.abs(share) >= 9.995) return `x ${significant(1 + share, 3)}`;
  return `${share < 0 ? '-' : '+'}${percentOf(Math.abs(share), false)} %`;
}

// Numbers as an engineer reads them: 98.0 Gb/s, 1.41 us, 14.5 MB. SI prefixes, three figures.

function scaled(value: number, units: [number, string][], digits = 3): string {
  const size = Math.abs(value);
  let [factor, unit] = units[0];
  for (const [f, u] of units) if (size >= f) [factor, unit] = [f, u];
  const number = value / factor;
  if (number === 0) return unit === 'ps' ? '0 us' : `0 ${unit}`; // zero is shown in microseconds
  const whole = Math.max(1, Math.floor(Math.log10(Math.abs(number))) + 1);
  return `${number.toFixed(Math.max(0, digits - whole))} ${unit}`;
}

export function rate(bps: number, digits = 3): string {
  return scaled(bps, [[1, 'b/s'], [1e3, 'kb/s'], [1e6, 'Mb/s'], [1e9, 'Gb/s'], [1e12, 'Tb/s']], digits);
}

export function size(bytes: number, digits = 3): string {
  return scaled(bytes, [[1, 'B'], [1e3, 'kB'], [1e6, 'MB'], [1e9, 'GB'], [1e12, 'TB']], digits);
}

export function time(ps: number, digits = 3): string {
  return scaled(ps, [[1, 'ps'], [1e3, 'ns'], [1e6, 'us'], [1e9, 'ms'], [1e12, 's']], digits);
}

// A time of a run: 865.818 ms, 1.500 s. In a narrow span it has the digits that tell its times apart, down to a
// nanosecond.
export function moment(ps: number, span_ps: number): string {
  if (ps === 0) return '0 us';
  const [factor, unit] = ps < 1e6 ? [1e3, 'ns'] : ps < 1e9 ? [1e6, 'us'] : ps < 1e12 ? [1e9, 'ms'] : [1e12, 's'];
  const most = Math.round(Math.log10(factor / 1e3)); // digits of a nanosecond
  const wanted = Math.ceil(Math.log10((factor * 1e3) / Math.max(1, span_ps)));
  return `${(ps / factor).toFixed(Math.min(most, Math.max(3, wanted)))} ${unit}`;
}

// A time at an axis: all of them in a unit that fits the span that is shown.
export function tick(ps: number, span_ps: number): string {
  const [factor, unit] = span_ps < 1e6 ? [1e3, 'ns'] : span_ps < 2e9 ? [1e6, 'us'] : span_ps < 2e12 ? [1e9, 'ms'] : [1e12, 's'];
  const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.max(1e-9, span_ps / factor)))));
  return `${(ps / factor).toFixed(digits)} ${unit}`;
}

// As the options of nccl-tests write it (-b 8 -e 1G): powers of two.
export function messageSize(bytes: number): string {
  for (const [unit, n] of [['G', 2 ** 30], ['M', 2 ** 20], ['K', 2 ** 10]] as const) if (bytes >= n && bytes % n === 0) return `${bytes / n}${unit}`;
  return count(bytes);
}
export function count(n: number): string {
  return n.toLocaleString('en-US');
}

export function percent(share: number): string {
  const p = share * 100;
  return `${p >= 99.95 || p === 0 ? p.toFixed(0) : p >= 10 ? p.toFixed(1) : p.toFixed(2)} %`;
}

// A value of a time series in its unit: "B", "b/s", "ps", "share", "1/s", "1".
export function value(v: number, unit: string): string {
  if (unit === 'B') return size(v);
  if (unit === 'bps' || unit === 'b/s') return rate(v);
  if (unit === 'ps') return time(v);
  if (unit === 'share') return percent(v);
  if (unit === '1/s') return scaled(v, [[1, '/s'], [1e3, 'k/s'], [1e6, 'M/s'], [1e9, 'G/s']]);
  return count(Math.round(v));
}

const factors: Record<string, [number, (v: number, digits?: number) => string]> = {
  ps: [1, time], ns: [1e3, time], us: [1e6, time], ms: [1e9, time], s: [1e12, time],
  B: [1, size], bytes: [1, size], kB: [1e3, size], MB: [1e6, size],
  bps: [1, rate], Gbps: [1e9, rate], Mbps: [1e6, rate], Bps: [1, (v, digits) => size(v, digits) + '/s'],
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

// A change relative to A: "+12.3 %", "x 14".
export function change(share: number): string {
  if (Math.abs(share) >= 9.995) return `× ${+(1 + share).toPrecision(3)}`;
  const p = share * 100;
  return `${p < 0 ? '−' : '+'}${Math.abs(p) < 0.05 ? Math.abs(p).toPrecision(1) : Math.abs(p).toFixed(1)} %`;
}

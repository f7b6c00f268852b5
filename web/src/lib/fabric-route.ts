// The path of one direction of a strand, as points from sender to receiver: a straight line, or up, across and down around
// nodes between its ends. It is on the right-hand side in its direction, so that both directions are visible.
import type { Strand } from './fabric-scene';

export type Point = [number, number];

export function route(strand: Strand, side: number, extra = 0.5): Point[] {
  const by = strand.most / 2 + extra;
  const { x0, y0, x1, y1, bend } = strand;
  if (bend !== undefined) {
    return side === 1
      ? [[x0 + by, y0], [x0 + by, bend + by], [x1 - by, bend + by], [x1 - by, y1]]
      : [[x1 + by, y1], [x1 + by, bend - by], [x0 - by, bend - by], [x0 - by, y0]];
  }
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [ox, oy] = [(-(y1 - y0) / length) * by, ((x1 - x0) / length) * by];
  return side === 1 ? [[x0 + ox, y0 + oy], [x1 + ox, y1 + oy]] : [[x1 - ox, y1 - oy], [x0 - ox, y0 - oy]];
}

export function lengthOf(points: Point[]): number {
  let sum = 0;
  for (let i = 1; i < points.length; ++i) sum += Math.hypot(points[i][0] - points[i - 1][0], points[i][1] - points[i - 1][1]);
  return sum;
}

// The first `pixels` of a path.
export function head(points: Point[], pixels: number): Point[] {
  const out: Point[] = [points[0]];
  for (let i = 1; i < points.length && pixels > 0; ++i) {
    const [a, b] = [points[i - 1], points[i]];
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
    const share = Math.min(1, pixels / (length || 1));
    out.push([a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share]);
    pixels -= length;
  }
  return out;
}

// Position and direction of a path after `pixels`.
export function along(points: Point[], pixels: number): { x: number; y: number; dx: number; dy: number } {
  for (let i = 1; i < points.length; ++i) {
    const [a, b] = [points[i - 1], points[i]];
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
    const [dx, dy] = [(b[0] - a[0]) / length, (b[1] - a[1]) / length];
    if (pixels <= length || i === points.length - 1) return { x: a[0] + dx * Math.min(pixels, length), y: a[1] + dy * Math.min(pixels, length), dx, dy };
    pixels -= length;
  }
  return { x: points[0][0], y: points[0][1], dx: 1, dy: 0 };
}

// The distance of a point from a path.
export function far(points: Point[], x: number, y: number): number {
  let best = Infinity;
  for (let i = 1; i < points.length; ++i) {
    const [a, b] = [points[i - 1], points[i]];
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    const share = Math.min(1, Math.max(0, ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy || 1)));
    best = Math.min(best, Math.hypot(x - a[0] - share * dx, y - a[1] - share * dy));
  }
  return best;
}

// Content of the fabric's canvas, for tests (`canvas.weft`): its labels, and position and values of the link and queue of
// a port.
import { groupAt, queueAt, valuesOf, type Label, type Painter } from './fabric-paint';
import { route, type Point } from './fabric-route';

export interface Shown {
  labels: () => Label[];
  ports: () => string[];
  link: (port: string) => { points: Point[]; most: number; used: number; paused: number } | null;
  queue: (port: string) => { x: number; y: number; w: number; h: number; up: boolean; bytes: number; most: number; ecn_max_B: number | null; group: number | null } | null;
}

export function shown(painter: () => Painter | null, bin: () => number): Shown {
  return {
    labels: () => [...(painter()?.labels.still ?? []), ...(painter()?.labels.now ?? [])],
    ports: () => [...(painter()?.scene.places.keys() ?? [])],
    link: (port) => {
      const p = painter();
      const place = p?.scene.places.get(port);
      if (!p || !place) return null;
      const strand = p.scene.strands[place.strand];
      const { used, paused } = valuesOf([port], p.moments, bin());
      return { points: route(strand, place.up ? 1 : -1), most: strand.most, used, paused };
    },
    queue: (port) => {
      const p = painter();
      const q = p?.scene.queues.find((each) => each.port === port);
      if (!p || !q) return null;
      return { x: q.x, y: q.y, w: q.w, h: q.h, up: q.up, bytes: queueAt(port, p.moments, bin()), most: p.mostQueue, ecn_max_B: p.queueOf.get(port)?.ecn_max_B ?? null, group: p.groupOf.has(port) ? groupAt(port, p.moments, bin()) : null };
    },
  };
}

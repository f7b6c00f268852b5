// Flows along their paths: each in its colour and dash, with its name at the sender.
import { flowStyle, type Context, type Theme } from './draw';
import { font, overlaps, write, type Painter } from './fabric-paint';
import { route, type Point } from './fabric-route';

export function paintFlows(c: Context, t: Theme, p: Painter, flows: { id: string; path: string[] }[]) {
  for (const [i, flow] of flows.entries()) {
    const style = flowStyle(i, t);
    const way: Point[] = [];
    for (const port of flow.path) {
      const place = p.scene.places.get(port);
      if (!place) continue;
      const strand = p.scene.strands[place.strand];
      const points: Point[] = strand.cell
        ? [[(strand.x0 + strand.x1) / 2, (strand.y0 + strand.y1) / 2]]
        : route(strand, place.up ? 1 : -1, 2.5 + strand.most / 2 + (i % 4) * 2.5);
      // If a flow leaves a switch on the side where it entered, each flow has its own line inside the switch.
      const last = way.at(-1);
      if (last && way.length > 1 && Math.abs(last[1] - points[0][1]) < 1) {
        const y = last[1] + Math.sign(last[1] - way[way.length - 2][1]) * (4 + (i % 4) * 4);
        way.push([last[0], y], [points[0][0], y]);
      }
      way.push(...points);
    }
    if (way.length === 0) continue;
    c.beginPath();
    for (const [k, [x, y]] of way.entries()) k === 0 ? c.moveTo(x, y) : c.lineTo(x, y);
    c.lineJoin = 'round';
    c.setLineDash([]);
    c.strokeStyle = t.paper;
    c.lineWidth = 4.5;
    c.stroke();
    c.setLineDash(style.dash);
    c.strokeStyle = style.colour;
    c.lineWidth = 2.2;
    c.stroke();
    c.setLineDash([]);
    c.font = font(t, 11, 600);
    c.textAlign = 'left';
    const width = c.measureText(flow.id).width;
    const box = { text: flow.id, x: Math.min(way[0][0] + 5, p.scene.width - width - 4), y: way[0][1] - 20, w: width, h: 12 };
    // Above the names that are already drawn.
    for (let k = 0; k < 12 && p.labels.now.some((other) => overlaps(other, box)); ++k) box.y -= 14;
    c.fillStyle = t.paper;
    c.fillRect(box.x - 2, box.y - 1, width + 4, 14);
    c.fillStyle = t.ink;
    write(c, p.labels.now, flow.id, box.x, box.y + 6);
  }
}

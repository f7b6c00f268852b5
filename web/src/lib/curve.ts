// Lines of one plot differ by dash as well as by colour, in the plot and in its table.
import { lineStyle, type Theme } from './draw';

const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3], [14, 4], [4, 2, 1, 2], [1, 4], [6, 2, 2, 2, 2, 2]];
export function curveStyle(index: number, t: Theme): { colour: string; dash: string } {
  return { colour: lineStyle(index, t).colour, dash: dashes[index % dashes.length].join(' ') };
}

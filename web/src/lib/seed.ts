// Seeds have 64 bits, more than a JavaScript number holds exactly: the page keeps them as strings of digits.
const most = (1n << 64n) - 1n;

// The error, or an empty string. An empty text means the seed of the lab.
export function seedProblem(text: string): string {
  if (text.trim() === '') return '';
  if (!/^\d{1,20}$/.test(text.trim()) || BigInt(text.trim()) > most) return `a seed is a whole number from 0 to ${most}`;
  return '';
}
export const seedField = (text: string) => (text.trim() === '' ? {} : { seed: text.trim() });

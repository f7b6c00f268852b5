// Seeds have 64 bits, more than a number of JavaScript holds exactly: they are texts of digits everywhere in the page.
const most = (1n << 64n) - 1n;

// Empty, or what is wrong with it. An empty text is the lab's own seed.
export function seedProblem(text: string): string {
  if (text.trim() === '') return '';
  if (!/^\d{1,20}$/.test(text.trim()) || BigInt(text.trim()) > most) return `a seed is a whole number from 0 to ${most}`;
  return '';
}
export const seedField = (text: string) => (text.trim() === '' ? {} : { seed: text.trim() });

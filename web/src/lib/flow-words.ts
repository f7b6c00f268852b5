// A flow has two spellings: incast.10 in addresses and tables of the page, incast/10 in reports and weft explain.
const slashed = (id: string) => id.replace('.', '/');

// What a search for a flow looks through: both spellings, and what else is known of it.
export function flowWords(id: string, ...others: string[]): string {
  return `${id} ${slashed(id)} ${others.join(' ')}`.toLowerCase();
}

// As weft explain --flow takes it and prints it.
export const explainName = slashed;

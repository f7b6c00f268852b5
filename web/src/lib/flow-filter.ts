// The packets of a flow: all that its queue pairs exchange (docs/api.md, filters).
export const flowFilter = (id: string) => `flow=="${id}"`;

// Of any of these flows, and what the filter says.
export function withFlows(filter: string, flows: string[]): string {
  const any = flows.map(flowFilter).join(' or ');
  if (any === '') return filter;
  return filter.trim() === '' ? any : `(${filter}) and (${any})`;
}

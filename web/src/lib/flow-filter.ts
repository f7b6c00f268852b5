// The filter for the packets of a flow: all packets of its queue pairs (docs/api.md, filters).
export const flowFilter = (id: string) => `flow=="${id}"`;

// The packets of any of these flows that also match the filter.
export function withFlows(filter: string, flows: string[]): string {
  const any = flows.map(flowFilter).join(' or ');
  if (any === '') return filter;
  return filter.trim() === '' ? any : `(${filter}) and (${any})`;
}

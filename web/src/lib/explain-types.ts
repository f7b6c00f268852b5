// Answer of GET /api/runs/ID/explain, as far as the page reads it (docs/explain.md).
export interface ExplainedFlow {
  flow: string;
  from: string;
  to: string;
  state?: string;
  queue_pairs: number;
  first_ps: number;
  last_ps: number;
  goodput_Gbps?: number;
  fct_ps?: number;
  slowdown?: number;
  packets?: number;
  sent_again?: number;
  no_work: number;
  wire: number;
  bottleneck: string;
  share: number;
  because: string;
  root?: string;
  shares: Record<string, number>;
  path: string[];
}
export interface ExplainedStep {
  time_ps: number;
  what: string;
  where: string;
  text: string;
  packet?: number;
}
export interface ExplainedIncident {
  kind: string;
  root: string;
  title: string;
  first_ps: number;
  last_ps: number;
  steps: ExplainedStep[];
  victims: string[];
}
export interface Explained {
  flows: ExplainedFlow[];
  incidents: ExplainedIncident[];
  notes: string[];
}

// Made from src/serve/api/api_rows.h: WEFT_WRITE=1 serve_test --gtest_filter='ApiTypes.*' writes this file.
export interface FabricNode {
  name: string;
  kind: 'host' | 'switch' | 'forwarder';
  model: string;
  tier: number; // 0: hosts
  pool_B: number | null | undefined; // of a switch: the shared pool
  headroom_pool_B: number | null | undefined; // where groups share one
}
export interface FabricLink {
  a: string;
  b: string;
  rate_bps: number;
  length_m: number | null;
}
export interface FabricQueue {
  port: string;
  class: number; // the queue that packets leave by
  ecn_min_B: number;
  ecn_max_B: number;
}
export interface FabricGroup {
  port: string;
  class: number; // the priority group that packets come in by
  xoff_B: number; // of one that fills the pool alone
  xon_B: number;
  headroom_B: number | null;
}
export interface SeriesEntry {
  id: string;
  node: string;
  port: string;
  class: number;
  metric: string;
  unit: string;
  most: number;
  last: number;
}
export interface NodeDrop {
  time_ps: number;
  in_port: string;
  out_port: string;
  queue: number;
  reason: string;
  occupancy_B: number;
  source: string;
  destination: string;
  qp: number;
  psn: number;
}
// Columns of equal length.
export interface Flows {
  id: string[];
  name: string[]; // of a graph
  workload: string[];
  source: string[];
  destination: string[];
  size_B: (number | null)[];
  start_ps: (number | null)[];
  fct_ps: (number | null)[];
  goodput_bps: (number | null)[];
  slowdown: (number | null)[];
  latency_p50_ps: (number | null)[]; // of single messages
  latency_p99_ps: (number | null)[];
  retransmitted: number[]; // packets
  cnps: number[]; // received
  state: string[];
  bottleneck: string[];
}
export interface JobStepTime {
  from_ps: number;
  to_ps: number;
}
export interface JobRank {
  rank: number;
  host: string;
  gpu: number;
  compute_ps: number;
  slowed_ps: number;
  exposed_ps: number;
  receive_ps: number;
  late_ps: number;
  ports: string[];
}
export interface RooflineEntry {
  name: string;
  where: string;
  Bps: number;
}
export interface BusBandwidth {
  collective: string;
  groups: string;
  size_B: number;
  count: number;
  busbw_Bps: number;
  least_Bps: number;
  roofline_Bps: number | null;
  roofline: RooflineEntry[];
  choice: string;
}
export interface JobDelay {
  who: string;
  reason: string;
  lost_us: number; // in a step
}

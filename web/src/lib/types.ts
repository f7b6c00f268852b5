// The types of the API (docs/api.md). Times are picoseconds from the start of the run, sizes bytes, rates bits per second.
import type { BusBandwidth, FabricGroup, FabricLink, FabricNode, FabricQueue, JobDelay, JobRank, JobStepTime } from './rows';
export type { FabricNode, Flows, SeriesEntry } from './rows';

export interface Problem {
  message: string;
  remedy?: string;
  file?: string;
  line?: number;
  column?: number;
}

export interface RunEntry {
  id: string;
  lab: string;
  seed: number; // inexact above 2^53: show seed_text
  seed_text: string;
  set: string[];
  changes: { path: string; ready: string | null; value: string | null }[] | null; // to the ready lab of that name
  end_ps: number;
  state: 'done' | 'cut off' | 'interrupted' | 'damaged' | 'running';
  met: number;
  expectations: number;
  headline: string;
  study: 'seeds' | 'sweep' | null;
  changed_s: number;
}
export interface Expectation {
  text: string;
  met: boolean;
  value: string;
}
export interface Run extends RunEntry {
  why: string[];
  expect: Expectation[];
  workloads: { name: string; kind: string; from_ps: number; to_ps: number; summary: string }[];
  files: { name: string; size_B: number }[];
  has: { series: boolean; packets: boolean; flows: boolean; jobs: boolean; switches: boolean };
  sample_interval_ps: number;
  links: { text: string; view: string; parameters: Record<string, string> }[];
}
export interface Fabric {
  nodes: FabricNode[];
  links: FabricLink[];
  queues: FabricQueue[]; // of switch ports
  groups: FabricGroup[];
}
// The ports by which flows leave, in the end and until routes changed.
export interface Paths {
  paths: Record<string, string[]>;
  before: Record<string, { until_ps: number; path: string[] }[]>;
}
export const pathAt = (p: Paths, id: string, at: number): string[] =>
  p.before[id]?.find((each) => at < each.until_ps)?.path ?? p.paths[id];

export interface Activity {
  bins: number;
  from_ps: number;
  to_ps: number;
  ports: string[];
  most_queue_B: number[];
  used: string; // base64, [port][bin], two bytes each
  paused: string;
  queue: string;
  group: string; // 200: the limit at which the port asks for XOFF
}
// The activity of all links together.
export interface ActivityTotal {
  bins: number;
  from_ps: number;
  to_ps: number;
  hosts: number;
  busy_directions: number;
  received_bps: number[];
  paused_directions: number[];
}
export interface SeriesData {
  id: string;
  unit: string;
  t_ps: number[];
  min: number[];
  max: number[];
}
export interface RunEvent {
  id: string;
  time_ps: number;
  last_ps: number;
  count: number;
  kind: string;
  port: string;
  text: string;
  flow: string | null;
  packet: number | null;
}
export interface Events {
  events: RunEvent[];
  left_out: number;
  not_recorded: number; // of the whole run: the event logs of ports were full
  kinds: Record<string, number>;
}
export interface Distribution {
  count: number;
  min: number;
  mean: number;
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
  cdf: { x: number[]; share: number[] };
}
export interface FlowSummary {
  workload: string;
  count: number;
  jain: number | null;
  fct: Distribution | null;
  latency: Distribution | null; // of single messages
  no_latency: string | null; // the reason why there is none
}
export interface Packet {
  number: number;
  time_ps: number;
  port: string;
  direction: 'in' | 'out' | '';
  source: string;
  destination: string;
  protocol: string;
  length_B: number;
  info: string;
  psn: number | null;
  qp: number | null;
  flags: string[];
  comment: string;
}
export interface PacketPage {
  packets: Packet[];
  first: number; // offset of the first that was looked at
  next: number | null;
  total: number;
  problem: string; // of the file: cut, or wrong from somewhere on
}
export interface PacketField {
  name: string;
  filter: string; // Wireshark's; '' where it has none
  value: string;
  offset: number;
  length: number;
  note?: string;
}
export interface PacketDetail extends Packet {
  layers: { name: string; offset: number; length: number; fields: PacketField[] }[];
  bytes: string;
  original_B: number;
  speed_bps: number;
  total: number;
  message: { first: number; last: number } | null;
}
export interface Finding {
  severity: 'error' | 'warning' | 'note';
  from: 'expect' | 'analyze' | 'explain' | 'run';
  kind: string;
  title: string;
  evidence: { text: string; time_ps: number | null; packet: number | null; port: string | null }[];
  cause: string;
  remedy: string[];
}
export interface Findings {
  findings: Finding[];
  looked_at?: string[];
}
// Columns of equal length. `kind` is an index into the job's `kinds`.
export interface Job {
  workload: string;
  kind: 'job' | 'nccl';
  from_ps: number;
  to_ps: number;
  ranks: number;
  steps: JobStepTime[];
  kinds: string[]; // compute, communication, exposed, wait
  tracks: { rank: number; host: string; name: string }[];
  names: string[];
  slices: { track: number[]; kind: number[]; name: number[]; from_ps: number[]; to_ps: number[] };
  states: { rank: number[]; kind: number[]; from_ps: number[]; to_ps: number[] };
  left_out: number;
  note: string;
  rank: JobRank[];
  busbw: BusBandwidth[];
  stragglers: JobDelay[];
}
export interface Lab {
  path: string;
  name: string;
  group: string;
  title: string;
  lesson: string;
  programs: boolean;
}
export interface Knob {
  path: string;
  group: string;
  title: string;
  kind: 'number' | 'size' | 'time' | 'length' | 'choice' | 'nic' | 'switch' | 'text';
  value: string; // in the file; empty: not set
  in_force: string;
  choices: string[];
  help: string;
}
export interface CatalogEntry {
  kind: string;
  name: string;
  description: string;
}
export interface LabCheck {
  ok: boolean;
  errors: Problem[];
  warnings: Problem[];
  name: string;
  programs: boolean;
  hosts?: number;
  switches?: number;
  knobs: Knob[];
}
export interface Task {
  id: number;
  kind: 'run' | 'sweep';
  state: 'waits' | 'runs' | 'done' | 'failed' | 'cancelled';
  run: string;
  progress: { now_ps: number; workload: string; wall_s: number; done: number; of: number };
  output: string;
  status: number | null;
}
export interface ComparedRun {
  directory: string;
  lab: string;
  seed: number;
  seed_text: string;
  set: string[];
  met: number;
  expectations: number;
  interrupted: boolean;
}
export interface Comparison {
  same: boolean;
  a: ComparedRun;
  b: ComparedRun;
  compared: number;
  lab: { path: string; a: string | null; b: string | null; line_a: number | null; line_b: number | null }[];
  results: { name: string; group: 'workload' | 'fabric' | 'hosts' | 'port'; unit: string; a: number | null; b: number | null; change: number | null }[];
}
export interface Sweep {
  id: string;
  lab: string;
  set: string[];
  seed?: number;
  seed_text?: string;
  vary: { path: string; values: string[] }[];
  metrics: { name: string; unit: string }[];
  cells: { at: number[]; run: string; state: string; met?: boolean; problem?: string; values: (number | null)[] }[];
}
export interface World {
  name: string;
  lab: string;
  clock: 'virtual' | 'wall';
  now_ps: number;
  nodes: number;
  programs: number;
}
export interface WorldDetail {
  name: string;
  lab: string;
  clock: 'virtual' | 'wall';
  now_ps: number;
  behind_ps: number;
  deterministic: boolean;
  fabric: Fabric;
  counters: Record<string, Record<string, Record<string, Record<string, number>>>>; // node, port, group, name
  queues: { port: string; class: number; queue_B: number; max_queue_B: number; ecn_marked: number }[];
  programs: { node: string; pid: number; threads: number; qps: number; command: string }[];
  captures: Record<string, unknown>[];
}
export interface Status {
  version: string;
  directory: string;
  opens: { view: 'run' | 'lab'; run: string | null; lab: string | null; text?: string } | null;
  allow_programs: boolean;
  limits: { tasks: number; waiting: number; time_s: number; memory_B: number };
}

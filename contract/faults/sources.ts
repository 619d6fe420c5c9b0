/**
 * The sources of faults, with their traits. Intake, workflows, policy, settings, command line and documents read this table: a new source is a line
 * here and the detector or watch that reports it.
 */

import type { Action } from './action.ts';
import type { Blame } from './blame.ts';

export interface SourceTraits {
  /** What it observes, for people. */
  readonly observes: string;
  /** The role that may report its faults. The intake refuses every source that is not an agent's. */
  readonly reporter: 'agent' | 'controller' | 'worker';
  /** Form of its codes. */
  readonly codes: RegExp;
  /** What a fault of it is about: a node and every job on it, the pod that failed, or a job as a whole. */
  readonly about: 'node' | 'pod' | 'job';
  /** Its faults have a position in the kernel log, from which their ids are made: a repeated report is the same fault. */
  readonly hasPosition?: true;
  /** A tenant's workload decides what it reports: quarantines for it alone have a limit of their own. */
  readonly byTenant?: true;
  /** Budget category where neither the fault's action nor its code says more. */
  readonly blame: Blame;
  /** Actions of its codes, where the code alone decides; a code without an action only warns. The kernel's catalogue is one of its own. */
  readonly actions?: Readonly<Record<string, Action>>;
  /** What may be reported shortly after it: an incident waits that long. */
  readonly mayPrecede?: string;
  /** Strongest response to its faults, whatever their action. */
  readonly atMost?: 'record' | 'warn';
}

export const faultSources = {
  kernel: {
    observes: 'lines of drivers in the kernel log of a node',
    reporter: 'agent',
    codes: /^(xid|sxid|kernel)\/[\w-]{1,40}$/,
    about: 'node',
    hasPosition: true,
    blame: 'unknown',
  },
  link: {
    observes: 'RDMA links of a node (InfiniBand, RoCE)',
    reporter: 'agent',
    codes: /^link\/[\w-]{1,40}$/,
    about: 'node',
    // Cables, transceivers, switches and cards are repaired by people. A link that flaps is up again, so nothing is done about it.
    actions: { 'link/down': 'contact-support', 'link/gone': 'contact-support' },
    blame: 'hardware',
  },
  pod: {
    observes: 'containers and pods that end',
    reporter: 'controller',
    codes: /^pod\/[\w-]{1,40}$/,
    about: 'pod',
    blame: 'unknown',
    mayPrecede: 'a fault of its node',
  },
  node: {
    observes: 'the Node object',
    reporter: 'controller',
    codes: /^node\/[\w-]{1,40}$/,
    about: 'node',
    blame: 'platform',
  },
  preflight: {
    observes: 'the verdict of a preflight',
    reporter: 'worker',
    codes: /^preflight\/[\w-]{1,40}$/,
    about: 'node',
    byTenant: true,
    blame: 'hardware',
    mayPrecede: 'another node of the same verdict',
  },
  progress: {
    observes: 'training that makes no progress',
    reporter: 'controller',
    codes: /^progress\/[\w-]{1,40}$/,
    about: 'job',
    blame: 'unknown',
  },
  log: {
    observes: 'logs of containers',
    reporter: 'worker',
    codes: /^log\/[\w-]{1,40}$/,
    about: 'job',
    byTenant: true,
    blame: 'unknown',
    // Whoever runs a container writes its log.
    atMost: 'warn',
  },
  operator: {
    observes: 'the request of a person',
    reporter: 'worker',
    codes: /^operator\/[\w-]{1,40}$/,
    about: 'job',
    blame: 'unknown',
  },
} as const satisfies Record<string, SourceTraits>;

export type FaultSource = keyof typeof faultSources;

/** The traits by name, as the interface has them: optional ones included. */
export const traitsOf = (source: FaultSource): SourceTraits => faultSources[source];

export const isFaultSource = (value: unknown): value is FaultSource =>
  typeof value === 'string' && Object.hasOwn(faultSources, value);

/** Names of the sources that a role may report. */
export const sourcesOf = (reporter: SourceTraits['reporter']): readonly FaultSource[] =>
  (Object.keys(faultSources) as FaultSource[]).filter((name) => faultSources[name].reporter === reporter);

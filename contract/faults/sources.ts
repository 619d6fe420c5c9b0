/**
 * The sources of faults, with their traits. Intake, workflows, policy, settings, command line and documents read this table: a new source is a line
 * here and the detector or watch that reports it.
 */

import type { Action } from './action.ts';
import type { Blame } from './blame.ts';

export interface SourceTraits {
  /** What it observes, for people. */
  readonly observes: string;
  /** What must be there before it observes anything, for people. */
  readonly needs: string;
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
  /** Codes of faults that stand in objects which a release does not read: their ids are recorded on the node, so that they do not count again. */
  readonly recordedAtRelease?: RegExp;
  /** A fault of it without an action leads to an Event and to nothing else. */
  readonly onlyReportsWithoutAction?: true;
  /** Strongest response to its faults, whatever their action. */
  readonly atMost?: 'record' | 'warn';
}

export const faultSources = {
  kernel: {
    observes: 'lines of drivers in the kernel log of a node',
    needs:
      'the agent on the node, which reads `/dev/kmsg`; on by default. Or [Loki](../loki.md), which the controller polls',
    reporter: 'agent',
    codes: /^(xid|sxid|kernel)\/[\w-]{1,40}$/,
    about: 'node',
    hasPosition: true,
    blame: 'unknown',
  },
  link: {
    observes: 'RDMA links of a node (InfiniBand, RoCE)',
    needs: "`links.devices` of the agent's settings, and `/sys` of the node mounted by `agent.volumes`; off by default",
    reporter: 'agent',
    codes: /^link\/[\w-]{1,40}$/,
    about: 'node',
    // Cables, transceivers, switches and cards are repaired by people. A link that flaps is up again, so nothing is done about it.
    actions: { 'link/down': 'contact-support', 'link/gone': 'contact-support' },
    blame: 'hardware',
  },
  smi: {
    observes: 'what nvidia-smi and mx-smi print about the GPUs of a node',
    needs: "the program in the agent's container ([checks of a node](../node-checks.md)); off where it is missing",
    reporter: 'agent',
    codes: /^smi\/[\w-]{1,40}$/,
    about: 'node',
    // As for the Xid that says the same. A GPU that is slow, or waits for a reset that may be later, only warns.
    actions: {
      'smi/gpu-lost': 'reboot',
      'smi/gpu-missing': 'reboot',
      'smi/gpu-unavailable': 'reboot',
      'smi/reset-required': 'reset-gpu',
      'smi/reboot-required': 'reboot',
      'smi/rows-failed': 'contact-support',
      'smi/sram-threshold': 'contact-support',
      'smi/too-hot': 'contact-support',
      'smi/ecc-limit': 'contact-support',
    },
    blame: 'hardware',
  },
  disk: {
    observes: 'disks of a node, and file systems that became read-only',
    needs: "`disks` of the agent's settings, and the mount table or `/sys` of the node; off by default",
    reporter: 'agent',
    codes: /^disk\/[\w-]{1,40}$/,
    about: 'node',
    actions: { 'disk/read-only': 'reboot', 'disk/failed': 'contact-support' },
    blame: 'hardware',
  },
  clock: {
    observes: 'the clock of a node',
    needs: "`chronyc` in the agent's container, and the socket of `chronyd`; off where it is missing",
    reporter: 'agent',
    codes: /^clock\/[\w-]{1,40}$/,
    about: 'node',
    blame: 'platform',
  },
  script: {
    observes: "a site's own checks of a node",
    needs: "`scripts.directory` of the agent's settings; off by default",
    reporter: 'agent',
    codes: /^script\/[\w-]{1,40}$/,
    about: 'node',
    // The script gives the action with its answer; without one its faults only warn.
    blame: 'unknown',
  },
  pod: {
    observes: 'containers and pods that end',
    needs: 'nothing: the controller watches the pods of opted-in jobs',
    reporter: 'controller',
    codes: /^pod\/[\w-]{1,40}$/,
    about: 'pod',
    blame: 'unknown',
    mayPrecede: 'a fault of its node',
  },
  node: {
    observes: 'the Node object',
    needs: 'nothing: the controller watches nodes with accelerators',
    reporter: 'controller',
    codes: /^node\/[\w-]{1,40}$/,
    about: 'node',
    blame: 'platform',
  },
  condition: {
    observes: 'conditions and labels that others write on the Node object',
    needs:
      'a program that writes the condition, such as node-problem-detector, the EKS node monitoring agent or NVSentinel ([table](node-conditions.md))',
    reporter: 'controller',
    // A condition that names an Xid or SXid gives the fault the code of that number instead.
    codes: /^condition\/[A-Za-z][\w./-]{0,49}$/,
    about: 'node',
    blame: 'unknown',
  },
  allocatable: {
    observes: 'accelerators that a device plugin no longer offers on a node, or reports unhealthy in a pod',
    needs:
      'a device plugin; kubelets report unhealthy devices of pods from Kubernetes 1.36 on, before that by the gate ResourceHealthStatus',
    reporter: 'controller',
    codes: /^allocatable\/[\w-]{1,40}$/,
    about: 'node',
    // The device plugin of NVIDIA withdraws a GPU after a critical Xid only; a reset of it is the least that follows.
    actions: { 'allocatable/missing-devices': 'reset-gpu', 'allocatable/unhealthy-device': 'reset-gpu' },
    // It stands in the status of a pod.
    recordedAtRelease: /^allocatable\/unhealthy-device$/,
    blame: 'hardware',
  },
  'device-plugin': {
    observes: 'faults of chips and nodes in the ConfigMaps of the device plugin and of NodeD of Ascend',
    needs:
      "`nodes.ascend.namespaces` of the controller's settings ([Ascend](../node-conditions.md#ascend)); off by default",
    reporter: 'controller',
    codes: /^ascend\/[\w-]{1,40}$/,
    about: 'node',
    recordedAtRelease: /^ascend\//,
    blame: 'hardware',
  },
  external: {
    observes: 'what other programs and people report about a node',
    needs:
      "a sender in `external.senders` of the controller's settings ([faults that others report](../external-faults.md)), or `kcover fault report`; off by default",
    reporter: 'controller',
    codes: /^external\/[\w.-]{1,48}$/,
    about: 'node',
    blame: 'unknown',
  },
  preflight: {
    observes: 'the verdict of a preflight',
    needs:
      'an init container that tests the node ([preflight](../preflight.md)), and the agent or the intake to collect its report',
    reporter: 'worker',
    codes: /^preflight\/[\w-]{1,40}$/,
    about: 'node',
    byTenant: true,
    blame: 'hardware',
    mayPrecede: 'another node of the same verdict',
  },
  progress: {
    observes: 'training that makes no progress, or makes it more slowly than before',
    needs: 'a trainer that reports its steps ([progress](../progress.md))',
    reporter: 'controller',
    codes: /^progress\/[\w-]{1,40}$/,
    about: 'job',
    blame: 'unknown',
  },
  log: {
    observes: 'logs of containers',
    needs: 'nothing for the evidence of a stop; `kcover classify --log` for a log at hand',
    reporter: 'worker',
    codes: /^log\/[\w-]{1,40}$/,
    about: 'job',
    byTenant: true,
    blame: 'unknown',
    // The program in a container writes its log.
    atMost: 'warn',
  },
  'pod-log': {
    observes: 'lines of pods of opted-in jobs that a query of Loki selects',
    needs: "`loki.podQueries` of the controller's settings ([lines of pods](../loki.md#lines-of-pods)); off by default",
    reporter: 'controller',
    // The name of the query.
    codes: /^pod-log\/[a-z0-9][a-z0-9-]{0,39}$/,
    about: 'pod',
    byTenant: true,
    onlyReportsWithoutAction: true,
    blame: 'unknown',
    mayPrecede: 'a fault of its node',
  },
  operator: {
    observes: 'the request of a person',
    needs: 'the right to send signals or updates in Temporal, or `kcover recover`',
    reporter: 'worker',
    codes: /^operator\/[\w-]{1,40}$/,
    about: 'job',
    blame: 'unknown',
  },
} as const satisfies Record<string, SourceTraits>;

export type FaultSource = keyof typeof faultSources;

export const faultSourceNames = Object.keys(faultSources) as [FaultSource, ...FaultSource[]];

/** The traits by name, as the interface has them: optional ones included. */
export const traitsOf = (source: FaultSource): SourceTraits => faultSources[source];

export const isFaultSource = (value: unknown): value is FaultSource =>
  typeof value === 'string' && Object.hasOwn(faultSources, value);

/** Names of the sources that a role may report. */
export const sourcesOf = (reporter: SourceTraits['reporter']): readonly FaultSource[] =>
  faultSourceNames.filter((name) => faultSources[name].reporter === reporter);

/** Names of the sources whose faults are about it. */
export const sourcesAbout = (about: SourceTraits['about']): readonly FaultSource[] =>
  faultSourceNames.filter((name) => faultSources[name].about === about);

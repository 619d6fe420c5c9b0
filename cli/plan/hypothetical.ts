/** Hypothetical faults for a plan, created by the same code as the faults of agents and watchers. */

import type { V1ContainerStatus, V1PodStatus } from '@kubernetes/client-node';
import { KcoverError } from '../../contract/errors.ts';
import { type FaultSource, faultSourceNames, traitsOf } from '../../contract/faults/sources.ts';
import {
  type Fault,
  nodeNotReady,
  preflightFaults,
  recoveryRequested,
  trainingHangs,
} from '../../contract/faults/faults.ts';
import type { AttemptPod, JobRef } from '../../contract/job/jobs.ts';
import { lookUp } from '../../faults/kernel/catalogue.ts';
import { kernelFault } from '../../faults/kernel/from-kernel.ts';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';
import { podFailures } from '../../kube/pods/failures.ts';

/** A fault code from the command line, with the objects that it is about. */
export interface HypotheticalFault {
  readonly code: string;
  readonly node: string | undefined;
  readonly pod: string | undefined;
  readonly job: JobRef;
  readonly pods: readonly AttemptPod[];
  /** RFC 3339. */
  readonly at: string;
  /** User who runs the command: a requested recovery is in this name. */
  readonly by: string;
}

/** Throws `usage` for an unknown code, or when the node or pod is missing. */
export function hypotheticalFault(wanted: HypotheticalFault): Fault {
  const { code, job, by } = wanted;
  if (podStatuses[code] !== undefined) return onPod(wanted, podStatuses[code]);
  const source = faultSourceNames.find((name) => traitsOf(name).codes.test(code));
  if (source !== undefined && traitsOf(source).about === 'node') return onNode(wanted, source);
  if (code === trainingHangs) return { ...seen(wanted, 'progress', 'training stands still'), job: job.uid };
  if (code === recoveryRequested) return seen(wanted, 'operator', `${by} asked: kcover recover`);
  const known = [...Object.keys(kernelLines), ...Object.keys(podStatuses), ...Object.keys(messages)];
  throw new KcoverError('usage', `${code} is no fault that kcover knows`, {
    remedy: `xid/79, sxid/20034, ${[...known, trainingHangs, recoveryRequested].join(', ')}`,
  });
}

function onNode(wanted: HypotheticalFault, source: FaultSource): Fault {
  const { code } = wanted;
  const { observes, actions, hasPosition } = traitsOf(source);
  if (hasPosition) return inKernelLog(wanted);
  const action = actions?.[code];
  const fault = { ...seen(wanted, source, messages[code] ?? observes), node: nodeOf(wanted) };
  return action === undefined ? fault : { ...fault, action };
}

/** Messages of faults that are about a node; those of other codes say what their source observes. */
const messages: Readonly<Record<string, string>> = {
  [nodeNotReady]: 'its kubelet no longer answers',
  ...Object.fromEntries(Object.values(preflightFaults).map((code) => [code, 'a preflight found it'])),
};

/** Driver lines for faults without an Xid or SXid number. */
const kernelLines: Readonly<Record<string, string>> = {
  'kernel/gpu-off-bus': 'NVRM: GPU at PCI:0000:5d:00 has fallen off the bus.',
  'kernel/peermem': 'nvidia-peermem nv_get_p2p_free_callback:1 ERROR detected invalid context, skipping',
};

function inKernelLog(wanted: HypotheticalFault): Fault {
  const { code, at } = wanted;
  const [kind, number] = code.split('/');
  const words =
    lookUp(kind === 'sxid' ? 'sxid' : 'xid', Number(number))?.name ?? 'of which the catalogue knows nothing';
  const line =
    kernelLines[code] ??
    (kind === 'sxid'
      ? `nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): ${number}, ${words}`
      : `NVRM: Xid (PCI:0000:5d:00): ${number}, ${words}`);
  const fault = kernelFault({
    line,
    position: { bootId: 'hypothetical', sequence: 1 },
    node: nodeOf(wanted),
    seenAt: at,
    evidence: [],
  });
  if (fault === undefined || fault.code !== code)
    throw new KcoverError('usage', `${code} cannot be assumed: no driver writes it`, { remedy: '--fault xid/79' });
  return fault;
}

/** A container that ended. */
const ended = (reason: string, exitCode: number): V1ContainerStatus[] => [
  {
    name: 'trainer',
    image: '',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode, reason } },
  },
];

/** A pod status for each code of a pod failure. */
const podStatuses: Readonly<Record<string, V1PodStatus>> = {
  'pod/exit': { containerStatuses: ended('Error', 1) },
  'pod/oom-killed': { containerStatuses: ended('OOMKilled', 137) },
  'pod/cannot-run': { containerStatuses: ended('StartError', 128) },
  'pod/init-exit': { phase: 'Failed', initContainerStatuses: ended('Error', 1) },
  'pod/evicted': { phase: 'Failed', reason: 'Evicted' },
  'pod/disruption': { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] },
  'pod/failed': { phase: 'Failed', reason: 'NodeLost' },
};

function onPod(wanted: HypotheticalFault, status: V1PodStatus): Fault {
  const pod = wanted.pods.find(({ name }) => name === wanted.pod);
  if (pod === undefined) {
    const which = wanted.pod === undefined ? `${wanted.code} needs --pod` : `the job has no pod ${wanted.pod}`;
    throw new KcoverError('usage', which, { remedy: `--pod ${wanted.pods[0]?.name ?? 'NAME'}` });
  }
  const metadata = { name: pod.name, uid: pod.uid, creationTimestamp: new Date(wanted.at) };
  const spec = { containers: [], ...(pod.node !== undefined && { nodeName: pod.node }) };
  const [fault] = podFailures({ metadata, spec, status }, jobKinds[wanted.job.kind]);
  if (fault?.code !== wanted.code) throw new Error(`${wanted.code} was read as ${fault?.code ?? 'nothing'}`);
  return { ...fault, seenAt: wanted.at };
}

function nodeOf({ code, node, pod, pods }: HypotheticalFault): string {
  const found = node ?? pods.find(({ name }) => name === pod)?.node;
  if (found !== undefined) return found;
  throw new KcoverError('usage', `${code} needs --node`, {
    remedy: `--node ${pods.find((one) => one.node !== undefined)?.node ?? 'NAME'}`,
  });
}

const seen = ({ code, at }: HypotheticalFault, source: Fault['source'], message: string): Fault => ({
  id: `hypothetical/${code}`,
  source,
  code,
  message,
  seenAt: at,
});

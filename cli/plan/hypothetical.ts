/** Hypothetical faults for a plan, created by the same code as the faults of agents and watchers. */

import type { V1ContainerStatus, V1PodStatus } from '@kubernetes/client-node';
import { KcoverError } from '../../contract/errors.ts';
import { sourcesOf, traitsOf } from '../../contract/faults/sources.ts';
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
  const { code } = wanted;
  if (/^(x|sx)id\/\d+$/.test(code) || kernelLines[code] !== undefined) return onNode(wanted);
  if (podStatuses[code] !== undefined) return onPod(wanted, podStatuses[code]);
  if (code === nodeNotReady) return { ...seen(wanted, 'node', 'its kubelet no longer answers'), node: nodeOf(wanted) };
  if (preflightCodes.includes(code))
    return { ...seen(wanted, 'preflight', 'a preflight found it'), node: nodeOf(wanted) };
  const [source] = sourcesOf('agent').filter((name) => traitsOf(name).codes.test(code) && !traitsOf(name).hasPosition);
  if (source !== undefined) return ofAgent(wanted, source);
  if (code === trainingHangs) return { ...seen(wanted, 'progress', 'training stands still'), job: wanted.job.uid };
  if (code === askedFor) return seen(wanted, 'operator', `${wanted.by} asked: kcover recover`);
  throw new KcoverError('usage', `${code} is no fault that kcover knows`, {
    remedy: `xid/79, sxid/20034, ${[...Object.keys(kernelLines), ...Object.keys(podStatuses), nodeNotReady, ...preflightCodes, trainingHangs, askedFor].join(', ')}`,
  });
}

function ofAgent(wanted: HypotheticalFault, source: Fault['source']): Fault {
  const { observes, actions } = traitsOf(source);
  const action = actions?.[wanted.code];
  return { ...seen(wanted, source, observes), node: nodeOf(wanted), ...(action !== undefined && { action }) };
}

const askedFor = recoveryRequested;
const preflightCodes: readonly string[] = Object.values(preflightFaults);

/** Driver lines for faults without an Xid or SXid number. */
const kernelLines: Readonly<Record<string, string>> = {
  'kernel/gpu-off-bus': 'NVRM: GPU at PCI:0000:5d:00 has fallen off the bus.',
  'kernel/peermem': 'nvidia-peermem nv_get_p2p_free_callback:1 ERROR detected invalid context, skipping',
};

function onNode(wanted: HypotheticalFault): Fault {
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

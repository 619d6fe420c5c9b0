/** Reads and edits Node objects without losing concurrent changes. */

import type { V1Node, V1Taint } from '@kubernetes/client-node';
import { setTimeout as sleep } from 'node:timers/promises';
import { KcoverError } from '../../contract/errors.ts';
import { parseHistory } from '../../contract/node/history.schema.ts';
import type { KernelPosition } from '../../contract/faults/faults.ts';
import { annotations } from '../../contract/ids.ts';
import type { NodeView } from '../../contract/node/nodes.ts';
import type { Amounts } from '../../contract/recovery/placement.ts';
import { isAccelerator } from '../../faults/devices/accelerator.ts';
import type { Kube } from '../client/connection.ts';
import { isConflict, isNotFound } from '../client/errors.ts';
import { amountsOf } from '../pods/requests.ts';
import { objectPath } from '../client/request-url.ts';
import { patchObject, readObject } from '../client/requests.ts';
import { timeOrEpoch } from '../client/time.ts';

const path = (name: string): string => objectPath('/api/v1/nodes', name);

/** The taint of a quarantine, from settings. */
export interface QuarantineTaint {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect: 'NoSchedule' | 'NoExecute' | 'PreferNoSchedule';
}

/** The taint with our key and effect, set by kcover or by another client. */
export const quarantineTaint = (node: V1Node, taint: QuarantineTaint): V1Taint | undefined =>
  node.spec?.taints?.find((each) => each.key === taint.key && each.effect === taint.effect);

/** The Node object as kcover sees it; pure. The taint is ours when our annotation is present. */
export function nodeView(node: V1Node, taint: QuarantineTaint): NodeView {
  const { metadata, status } = node;
  const found = quarantineTaint(node, taint);
  const incident = metadata?.annotations?.[annotations.quarantineIncident];
  const judged = parseJudged(metadata?.annotations?.[annotations.judged]);
  return {
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    systemUuid: status?.nodeInfo?.systemUUID ?? '',
    ready: readinessOf(node).ready,
    cordoned: node.spec?.unschedulable === true,
    ...(found && {
      taint: { value: found.value ?? '', ours: incident !== undefined, ...(incident !== undefined && { incident }) },
    }),
    ...(judged && { judged }),
  };
}

/** What rules over time counted before a release; not part of the view, because an attempt has many nodes. */
export function historyOf({ metadata }: V1Node): Pick<NodeView, 'history'> {
  const history = parseHistory(metadata?.annotations?.[annotations.faultHistory], Date.now());
  return history ? { history } : {};
}

/** The Ready condition of a Node object. */
export interface Readiness {
  readonly ready: boolean;
  /** RFC 3339: when it last changed; creation of the object where there is no condition. */
  readonly transition: string;
  readonly because: string;
}

export function readinessOf({ metadata, status }: V1Node): Readiness {
  const condition = status?.conditions?.find((each) => each.type === 'Ready');
  return {
    ready: condition?.status === 'True',
    transition: timeOrEpoch(condition?.lastTransitionTime ?? metadata?.creationTimestamp),
    because:
      [condition?.reason, condition?.message].filter(Boolean).join(': ') || 'its kubelet has never reported it ready',
  };
}

export const formatJudged = ({ bootId, sequence }: KernelPosition): string => `${bootId}/${sequence}`;

function parseJudged(text: string | undefined): KernelPosition | undefined {
  const [, bootId, sequence] = /^([^/]+)\/(\d+)$/.exec(text ?? '') ?? [];
  return bootId === undefined ? undefined : { bootId, sequence: Number(sequence) };
}

/** The node; undefined when it is gone. */
export const readNode = (kube: Kube, name: string): Promise<V1Node | undefined> =>
  readObject<V1Node>(kube, path(name), `read node ${name}`);

/** What to change; fields left out stay as they are. `taints` is the whole list. */
export interface NodeEdit {
  readonly taints?: readonly V1Taint[];
  readonly unschedulable?: boolean;
  readonly annotations?: Readonly<Record<string, string | null>>;
}

/** Every annotation that kcover writes on a Node object. */
export const annotationsOfNodes = [
  annotations.quarantineIncident,
  annotations.quarantineReason,
  annotations.quarantineCordoned,
  annotations.quarantinePreflight,
  annotations.judged,
  annotations.judgedState,
  annotations.faultHistory,
  annotations.standbyNodeTaken,
] as const;

const tries = 10;

/**
 * Reads, lets `edit` decide, and writes with the version that was read; repeats after a conflict. Returns the resulting node.
 * Throws `node.gone` when the node, or this UID of it, does not exist.
 */
export async function editNode(
  kube: Kube,
  name: string,
  uid: string,
  edit: (node: V1Node) => NodeEdit | undefined,
): Promise<V1Node> {
  for (let attempt = 1; ; attempt++) {
    const node = await readNode(kube, name);
    if (node?.metadata?.uid !== uid)
      throw new KcoverError('node.gone', node ? `node ${name} was replaced` : `node ${name} is gone`);
    const change = edit(node);
    if (!change) return node;
    try {
      return await patchObject<V1Node>(
        kube,
        path(name),
        patchOf(change, uid, node.metadata.resourceVersion),
        `change node ${name}`,
      );
    } catch (error) {
      if (isNotFound(error)) throw new KcoverError('node.gone', `node ${name} is gone`);
      if (!isConflict(error) || attempt >= tries) throw error;
      await sleep(Math.random() * 20 * attempt);
    }
  }
}

function patchOf(edit: NodeEdit, uid: string, resourceVersion: string | undefined): object {
  const spec = {
    ...(edit.taints && { taints: edit.taints }),
    ...(edit.unschedulable !== undefined && { unschedulable: edit.unschedulable || null }),
  };
  return { metadata: { uid, resourceVersion, ...(edit.annotations && { annotations: edit.annotations }) }, spec };
}

/** The accelerators among resources. */
export const acceleratorsIn = (amounts: Amounts): Amounts =>
  Object.fromEntries(Object.entries(amounts).filter(([name]) => isAccelerator(name)));

/** All accelerators of the node: a broken one disappears from `allocatable` first, but still counts. */
export const acceleratorsOf = ({ status }: V1Node): Amounts => acceleratorsIn(amountsOf(status?.capacity));

/** Whether the node has, or had, an accelerator: a broken one disappears from `allocatable` first. */
export const hasAccelerators = (node: V1Node): boolean =>
  [node.status?.capacity, node.status?.allocatable].some((resources) =>
    Object.entries(resources ?? {}).some(([name, amount]) => isAccelerator(name) && amount !== '0'),
  );

/** The changes that a quarantine and a release make to a Node object. Pure. */

import type { V1Node, V1Taint } from '@kubernetes/client-node';
import type { QuarantineRequest } from '../../contract/wire/activities.ts';
import { annotations } from '../../contract/ids.ts';
import type { KernelPosition } from '../../contract/faults/faults.ts';
import type { NodeHistory } from '../../contract/node/history.ts';
import type { Quarantined } from '../../contract/node/nodes.ts';
import { oneLine } from '../../contract/text.ts';
import { judgedStateOf } from './judged.ts';
import { annotationsOfNodes, formatJudged, type NodeEdit, type QuarantineTaint, quarantineTaint } from './nodes.ts';

export interface QuarantineSettings {
  readonly taint: QuarantineTaint;
  readonly cordon: boolean;
}

const incidentOf = (node: V1Node): string | undefined => node.metadata?.annotations?.[annotations.quarantineIncident];
const isCordoned = (node: V1Node): boolean => node.spec?.unschedulable === true;
const cordonedByUs = (node: V1Node): boolean => node.metadata?.annotations?.[annotations.quarantineCordoned] === 'true';
/** Removes the preflight annotation of an earlier quarantine. */
const withoutPreflight = (node: V1Node): Record<string, null> =>
  node.metadata?.annotations?.[annotations.quarantinePreflight] === undefined
    ? {}
    : { [annotations.quarantinePreflight]: null };
const isOurs = (taint: QuarantineTaint) => (each: V1Taint) => each.key === taint.key && each.effect === taint.effect;

/** Adds our taint to all others; undefined when there is nothing to write. A taint with our key but without our annotation belongs to another client. */
export function quarantineEdit(
  node: V1Node,
  request: Pick<QuarantineRequest, 'incident' | 'reason' | 'because' | 'preflight'>,
  { taint, cordon }: QuarantineSettings,
): NodeEdit | undefined {
  const found = quarantineTaint(node, taint);
  const before = incidentOf(node);
  if (found && before === undefined) return undefined;
  const cordons = cordon && !isCordoned(node);
  if (found && before === request.incident && !cordons) return undefined;
  const wanted: V1Taint = { key: taint.key, value: taint.value ?? request.reason, effect: taint.effect };
  return {
    taints: [...(node.spec?.taints ?? []).filter((each) => !isOurs(taint)(each)), wanted],
    ...(cordons && { unschedulable: true }),
    annotations: {
      [annotations.quarantineIncident]: request.incident,
      ...(request.preflight
        ? { [annotations.quarantinePreflight]: request.preflight.namespace }
        : withoutPreflight(node)),
      [annotations.quarantineReason]: oneLine(request.because, 1000),
      ...(cordons && { [annotations.quarantineCordoned]: 'true' }),
    },
  };
}

/** The quarantine as read from the node; undefined without the taint. */
export function quarantineFound(node: V1Node, { taint }: QuarantineSettings): Omit<Quarantined, 'at'> | undefined {
  if (!quarantineTaint(node, taint)) return undefined;
  return {
    taint: incidentOf(node) === undefined ? 'other' : 'ours',
    cordonedByUs: isCordoned(node) && cordonedByUs(node),
  };
}

/** Removes the taint, cordon and annotations of this incident, and records what was taken into account and what rules count. Changes of another incident stay. */
export function releaseEdit(
  node: V1Node,
  request: {
    readonly incident: string;
    readonly judged?: KernelPosition | undefined;
    readonly history?: NodeHistory | undefined;
    readonly reported?: readonly string[] | undefined;
  },
  { taint }: QuarantineSettings,
): { readonly ours: boolean; readonly change: NodeEdit | undefined } {
  const before = incidentOf(node);
  const history = request.history?.length ? { [annotations.faultHistory]: JSON.stringify(request.history) } : {};
  const tainted = quarantineTaint(node, taint) !== undefined;
  const position = request.judged && { [annotations.judged]: formatJudged(request.judged) };
  const judged = { ...position, ...judgedStateOf(node, request.reported), ...history };
  // Without our annotation a taint is another client's. Without a taint too, another client has removed both, or none was written.
  if (before === undefined) {
    return { ours: false, change: Object.keys(judged).length > 0 ? { annotations: judged } : undefined };
  }
  if (before !== request.incident) return { ours: false, change: undefined };
  return {
    ours: true,
    change: {
      ...(tainted && { taints: (node.spec?.taints ?? []).filter((each) => !isOurs(taint)(each)) }),
      // A cordon from before ours is known, because the annotation is missing then. One that replaced ours since looks like ours.
      ...(cordonedByUs(node) && isCordoned(node) && { unschedulable: false }),
      annotations: {
        [annotations.quarantineIncident]: null,
        [annotations.quarantineReason]: null,
        [annotations.quarantineCordoned]: null,
        ...withoutPreflight(node),
        ...judged,
      },
    },
  };
}

/** Whether anything that kcover set is on the node. */
export const hasQuarantineAnnotations = ({ metadata }: V1Node): boolean =>
  annotationsOfNodes.some((name) => metadata?.annotations?.[name] !== undefined);

/** Removes everything that kcover set, of any incident: for an uninstall. A taint without our annotation stays. */
export function clearEdit(node: V1Node, quarantine: QuarantineSettings): NodeEdit | undefined {
  if (!hasQuarantineAnnotations(node)) return undefined;
  const incident = incidentOf(node);
  const release = incident === undefined ? undefined : releaseEdit(node, { incident }, quarantine).change;
  const present = annotationsOfNodes.filter((name) => node.metadata?.annotations?.[name] !== undefined);
  return { ...release, annotations: Object.fromEntries(present.map((name) => [name, null])) };
}

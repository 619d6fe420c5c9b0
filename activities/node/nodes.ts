/** Observes nodes, quarantines and releases them. */

import type { V1Node } from '@kubernetes/client-node';
import type { Activities, QuarantineRequest, ReleaseRequest, ReleaseResult } from '../../contract/wire/activities.ts';
import { KcoverError } from '../../contract/errors.ts';
import { editNode, historyOf, nodeView, quarantineTaint, readNode } from '../../kube/nodes/nodes.ts';
import { quarantineEdit, quarantineFound, releaseEdit } from '../../kube/nodes/quarantine.ts';
import type { Dependencies } from '../dependencies.ts';

type Nodes = Pick<Activities, 'observeNode' | 'quarantineNode' | 'releaseNode'>;

export function nodeActivities({ kube, settings, now }: Dependencies): Nodes {
  const { quarantine } = settings;

  async function quarantineNode(request: QuarantineRequest): ReturnType<Nodes['quarantineNode']> {
    await editNode(kube, request.node, request.uid, (node) => quarantineEdit(node, request, quarantine));
    const node = await readBack(request);
    const found = quarantineFound(node, quarantine);
    // A taint removed in between is a conflict like any other: the next try looks again.
    if (!found) throw new KcoverError('kube.conflict', `the taint on ${request.node} was gone when it was read back`);
    return { at: new Date(now()).toISOString(), ...found };
  }

  async function readBack(request: QuarantineRequest): Promise<V1Node> {
    const node = await readNode(kube, request.node);
    if (node?.metadata?.uid !== request.uid) throw new KcoverError('node.gone', `node ${request.node} is gone`);
    return node;
  }

  async function releaseNode(request: ReleaseRequest): ReturnType<Nodes['releaseNode']> {
    let released = false;
    let node: V1Node;
    try {
      node = await editNode(kube, request.node, request.uid, (seen) => {
        const edit = releaseEdit(seen, request, quarantine);
        released = edit.ours;
        return edit.change;
      });
    } catch (error) {
      if (error instanceof KcoverError && error.code === 'node.gone') return { kind: 'gone' };
      throw error;
    }
    if (!released) return { kind: 'not-ours', ...remainingTaintOf(node) };
    return { kind: 'released' };
  }

  /** A taint of our key that kcover may not remove, in words. */
  function remainingTaintOf(node: V1Node): Pick<ReleaseResult, 'remainingTaint'> {
    const taint = quarantineTaint(node, quarantine.taint);
    if (!taint) return {};
    const whose =
      quarantineFound(node, quarantine)?.taint === 'ours'
        ? 'belongs to another incident'
        : 'has no annotation of kcover';
    return {
      remainingTaint: `the taint ${taint.key}=${taint.value ?? ''}:${taint.effect} stays, as it ${whose}: kubectl taint node ${node.metadata?.name} ${taint.key}-`,
    };
  }

  return {
    quarantineNode,
    releaseNode,
    observeNode: async ({ node }) => {
      const found = await readNode(kube, node);
      return found ? { ...nodeView(found, quarantine.taint), ...historyOf(found) } : null;
    },
  };
}

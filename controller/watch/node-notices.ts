/** What the agents are told of their nodes. The Node object says whether a node is quarantined, its workflow what is done with it. */

import type { Logger } from 'pino';
import type { NodeNotice } from '../../contract/node/notice.ts';
import type { QuarantinedPhase } from '../../contract/node/nodes.ts';
import { nodeView, type QuarantineTaint } from '../../kube/nodes/nodes.ts';
import { noticeOf } from '../../policy/node/notice.ts';
import type { Workflows } from '../temporal.ts';
import type { NodesWatch } from './nodes.ts';
import { pause } from './retry-while-leading.ts';

export interface NodeNoticesOptions {
  readonly nodes: Pick<NodesWatch, 'object' | 'quarantines'>;
  readonly taint: QuarantineTaint;
  /** Whether the watch of nodes is up to date: nothing is told otherwise. */
  readonly isReachable: () => boolean;
  readonly workflows: Pick<Workflows, 'quarantinePhases'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly everyMs?: number;
}

/** Undefined while the node is not seen. */
export type NodeNotices = (node: string) => NodeNotice | undefined;

/** Ends with the signal. */
export function openNodeNotices(options: NodeNoticesOptions): NodeNotices {
  const { nodes, taint, isReachable, workflows, log, signal, everyMs = 10_000 } = options;
  let phases: ReadonlyMap<string, QuarantinedPhase> = new Map();

  /** Without an answer there are no phases, because an old one would look like a current one. */
  async function readPhases(): Promise<void> {
    while (!signal.aborted) {
      phases =
        (await (nodes.quarantines().size > 0 ? workflows.quarantinePhases() : undefined)?.catch((error: unknown) => {
          log.debug({ err: error }, 'the phases of quarantines cannot be read now');
          return new Map();
        })) ?? new Map();
      await pause(everyMs, signal);
    }
  }

  readPhases().catch((error: unknown) => log.error({ err: error }, 'defect: phases of quarantines are no longer read'));
  return (node) => {
    const object = isReachable() ? nodes.object(node) : undefined;
    return object && noticeOf(nodeView(object, taint), phases.get(node));
  };
}

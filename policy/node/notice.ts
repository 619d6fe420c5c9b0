/** What the agent of a node is told of it. */

import { quarantineId } from '../../contract/ids.ts';
import type { NodeNotice } from '../../contract/node/notice.ts';
import type { NodeView, QuarantinedPhase } from '../../contract/node/nodes.ts';
import { quarantinedSince } from './watch.ts';

/** `phase`: what the node's workflow shows, which may be older than the Node object. */
export function noticeOf(view: NodeView, phase: QuarantinedPhase | undefined): NodeNotice {
  if (!view.taint) return { state: 'healthy' };
  const { value } = view.taint;
  const since = quarantinedSince(view);
  return {
    state: since === undefined ? 'quarantined' : (phase ?? 'quarantined'),
    ...(value !== '' && { reason: value }),
    // The id is made again: the annotation may have been edited.
    ...(since !== undefined && { since: new Date(since).toISOString(), incident: quarantineId(view.name, since) }),
  };
}

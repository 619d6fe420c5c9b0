/** Whose reports may convict a node. */

import type { CollectedReport, NodeJudgement, NodeShare } from '../../contract/preflight/preflight.ts';

/**
 * Only pods that request all accelerators of a node can have it quarantined. Others may be there by a `nodeName` of their own choice, bypassing
 * scheduler and quota; and other pods on the node may have affected their results.
 */
export function withoutStrangers(
  nodes: readonly NodeJudgement[],
  reports: readonly CollectedReport[],
): NodeJudgement[] {
  const shares = largestShares(reports);
  return nodes.map((judged) => {
    const share = shares.get(judged.node);
    if ((judged.verdict !== 'failed' && judged.verdict !== 'slow') || isWholeNode(share)) return judged;
    return { ...judged, verdict: 'undetermined', because: `${judged.because}, but ${whyNot(share)}` };
  });
}

const isWholeNode = (share: NodeShare | undefined): boolean =>
  share !== undefined && share.asked > 0 && share.asked >= share.of;

const whyNot = (share: NodeShare = { asked: 0, of: 0 }): string =>
  `its pods request ${share.asked} of the ${share.of} accelerators of the node, and only pods that request all of them can convict it`;

/** Pods on one node do not all start at once: a later report includes the earlier pods. */
function largestShares(reports: readonly CollectedReport[]): ReadonlyMap<string, NodeShare> {
  const largest = new Map<string, NodeShare>();
  for (const { report, share } of reports)
    if (share.asked >= (largest.get(report.node)?.asked ?? 0)) largest.set(report.node, share);
  return largest;
}

/** Whose word convicts a node. */

import type { CollectedReport, NodeJudgement, NodeShare } from '../contract/preflight.ts';

/**
 * Only pods that ask for all accelerators of a node can have it taken out. Others may be there by a node name that they chose themselves,
 * past scheduler and quota; and what they measured may be the doing of their neighbours.
 */
export function withoutStrangers(nodes: readonly NodeJudgement[], reports: readonly CollectedReport[]): NodeJudgement[] {
  const shares = largestShares(reports);
  return nodes.map((judged) => {
    const share = shares.get(judged.node);
    if ((judged.verdict !== 'failed' && judged.verdict !== 'slow') || isWholeNode(share)) return judged;
    return { ...judged, verdict: 'undetermined', because: `${judged.because}, but ${whyNot(share)}` };
  });
}

const isWholeNode = (share: NodeShare | undefined): boolean => share !== undefined && share.asked > 0 && share.asked >= share.of;

const whyNot = (share: NodeShare = { asked: 0, of: 0 }): string =>
  `its pods ask for ${share.asked} of the ${share.of} accelerators of the node, and only pods that ask for all of them convict it`;

/** Pods of one node do not all begin at once: the later one sees the earlier. */
function largestShares(reports: readonly CollectedReport[]): ReadonlyMap<string, NodeShare> {
  const largest = new Map<string, NodeShare>();
  for (const { report, share } of reports) if (share.asked >= (largest.get(report.node)?.asked ?? 0)) largest.set(report.node, share);
  return largest;
}

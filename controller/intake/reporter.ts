/** Who may report, and for which node: pure decisions about a reviewed token, its pod, and a batch. */

import { traitsOf } from '../../contract/faults/sources.ts';
import { type Fault, faultLimits } from '../../contract/faults/faults.ts';
import type { Rejection, Report, ReportBatch } from '../../contract/wire/reports.ts';
import { oneLine } from '../../contract/text.ts';
import type { LivePod, ReviewedToken } from '../../kube/client/tokens.ts';

/** Why a request is refused. The text goes to the sender: it holds no secret. */
export interface Refusal {
  readonly kind: 'refused';
  readonly rejection: Rejection;
  readonly because: string;
  /** When to ask again. */
  readonly retryAfterMs?: number;
  /** Logged in place of `because`. */
  readonly internal?: string;
}

export const refused = (rejection: Rejection, because: string, retryAfterMs?: number): Refusal => ({
  kind: 'refused',
  rejection,
  because,
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});

export const notLeading = (): Refusal => refused('not-leading', 'this controller does not lead');

/** The first problem of a body that zod found. */
export function firstIssue(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): string {
  const [issue] = issues;
  return issue ? `${issue.path.map(String).join('.') || 'body'}: ${issue.message}`.slice(0, 200) : 'not a report';
}

/** A token that may belong to an agent: its pod has to be read. `account` is `namespace/name`. */
export interface Claimed {
  readonly kind: 'claimed';
  readonly namespace: string;
  readonly pod: { readonly name: string; readonly uid: string };
  readonly node: string;
}

/** An agent on its node. */
export interface ReporterIdentity {
  readonly kind: 'reporter';
  readonly node: string;
  readonly podUid: string;
}

/** Accepts tokens that are bound to a pod on a node: of one account, the agent's own, or of any if none is named. */
export function decideClaim(review: ReviewedToken, account: string | undefined): Claimed | Refusal {
  if (!review.authenticated) return refused('unauthenticated', 'the token is not valid for this audience');
  const [, namespace = '', name = ''] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(review.user) ?? [];
  if (namespace === '' || (account !== undefined && account !== `${namespace}/${name}`))
    return refused('other-account', `${review.user} may not report`);
  if (!review.pod || review.node === undefined)
    return refused('unauthenticated', 'the token is not bound to a pod on a node');
  return { kind: 'claimed', namespace, pod: review.pod, node: review.node };
}

/** The live pod decides the node: a token outlives its pod by some seconds. */
export function decideReporter(claimed: Claimed, pod: LivePod | undefined): ReporterIdentity | Refusal {
  const title = `${claimed.namespace}/${claimed.pod.name}`;
  if (!pod) return refused('dead-pod', `pod ${title} is gone`);
  if (pod.uid !== claimed.pod.uid) return refused('dead-pod', `pod ${title} was replaced`);
  if (pod.dead) return refused('dead-pod', `pod ${title} is ending`);
  if (pod.node === undefined || pod.node !== claimed.node)
    return refused('other-node', `pod ${title} does not run on ${claimed.node}`);
  return { kind: 'reporter', node: pod.node, podUid: pod.uid };
}

/** An agent reports for its own node only. Undefined when the batch is accepted. */
export function objection(batch: ReportBatch, reporter: ReporterIdentity): Refusal | undefined {
  if (batch.node !== reporter.node)
    return refused('other-node', `the batch is of ${batch.node}, its sender runs on ${reporter.node}`);
  for (const { fault } of batch.reports) {
    const because = whyNotItsId(fault, reporter.node);
    if (because !== undefined) return refused('malformed', because);
  }
  return undefined;
}

/** Two faults with one id count as one, so no node may give the ids of another. */
function whyNotItsId({ id, source, kernel }: Fault, node: string): string | undefined {
  if (!traitsOf(source).hasPosition)
    return id.startsWith(`${source}/${node}/`)
      ? undefined
      : `the id of a fault of ${source} begins with ${source}/${node}/`;
  // Not the batch's boot: a spool may still hold faults from before a reboot.
  const expected = kernel && `${source}/${kernel.bootId}/${kernel.sequence}`;
  return id === expected
    ? undefined
    : `the id of a fault of the ${source} is its position: ${expected ?? `${source}/<boot id>/<sequence>`}`;
}

/** The reports not acknowledged before, in order. Each blames only the sender's node, and its texts are plain lines. */
export const newReports = (batch: ReportBatch, reporter: ReporterIdentity, acknowledged: number): readonly Report[] =>
  batch.reports
    .filter(({ seq }) => seq > acknowledged)
    .map(({ seq, fault }) => ({ seq, fault: { ...inPlainLines(fault), node: reporter.node } }))
    .toSorted((a, b) => a.seq - b.seq);

/** A compromised node may send anything: its text must neither control a terminal nor display differently than it is. */
const inPlainLines = (fault: Fault): Fault => ({
  ...fault,
  message: oneLine(fault.message, faultLimits.message),
  ...(fault.evidence && { evidence: fault.evidence.map((line) => oneLine(line, faultLimits.evidenceLine)) }),
});

/** The number up to which the agent may forget its reports. */
export const acknowledgedBy = (reports: readonly Report[], before: number): number =>
  reports.reduce((most, { seq }) => Math.max(most, seq), before);

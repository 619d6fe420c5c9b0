/** The verdict of a run of preflight reports, and the response to it. */

import { type Fault, preflightFaults } from '../../contract/faults/faults.ts';
import { preflightWorkflowId } from '../../contract/ids.ts';
import type {
  CollectionDecision,
  JudgementRequest,
  NodeJudgement,
  PreflightDecision,
  PreflightRule,
  Workload,
} from '../../contract/preflight/preflight.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { Undated } from '../decision.ts';
import { withoutStrangers } from './share.ts';
import { judgeStatistical } from './statistical.ts';
import { judgeStrict } from './strict.ts';

type PreflightSettings = Pick<WorkerSettings, 'preflight'>;

/** Most nodes and ranks that are listed: a verdict is stored in history. */
const listed = 50;
/** Most faults of one decision, which are stored in history too. */
const faultsAtOnce = 100;

/** How long a run may collect: the same for every size, but recorded as a decision. */
export function decideCollection(
  { size }: { readonly size: number },
  { preflight }: PreflightSettings,
): Undated<CollectionDecision> {
  return {
    inactivityMs: preflight.collection,
    deadlineMs: preflight.deadline,
    because: `${size} reports are expected`,
  };
}

/**
 * The verdict on the collected reports. From a part only broken nodes are reported: slow nodes show only when all ranks have reported. With the
 * strict rule not even at the deadline, because it takes a missing rank for a healthy one. Each node is reported once in a run.
 */
export function decidePreflight(
  request: JudgementRequest,
  settings: Pick<WorkerSettings, 'preflight' | 'mode'>,
): Undated<PreflightDecision> {
  const { preflight } = settings;
  const reports = request.reports.map(({ report }) => report);
  const judge = preflight.rule === 'strict' ? judgeStrict : judgeStatistical;
  const judgement = judge(reports, { size: request.size, threshold: preflight.threshold });
  // A rule may blame an address without a report: its node is unknown and cannot be notified.
  const reported = judgement.nodes.filter(({ rank }) => rank >= 0);
  const known = withoutStrangers(reported, request.reports);
  const of = (verdict: NodeJudgement['verdict']) => known.filter((node) => node.verdict === verdict);
  const isNew = ({ node }: NodeJudgement) => !request.notified.includes(node);
  const [failed, slow] = [of('failed'), showsSlow(request, preflight.rule) ? of('slow') : []];
  const pending = onceEach([...failed, ...slow].filter(isNew));
  const shown = request.evidence === 'part' ? failed.filter(isNew) : failed;
  const reporting = new Set(reports.map(({ rank }) => rank));
  const missing = Array.from({ length: request.size }, (_, rank) => rank).filter((rank) => !reporting.has(rank));
  const why = whyNothing(failed, slow, settings);
  return {
    rule: judgement.rule,
    because: `${because(request, judgement.because, shown, slow)}${acquitted(reported, known)}${why === undefined ? '' : `; no response: ${why}`}`,
    failed: shown.slice(0, listed),
    slow: slow.slice(0, listed),
    undetermined: of('undetermined').slice(0, listed),
    counts: {
      failed: failed.length,
      slow: slow.length,
      healthy: of('healthy').length,
      undetermined: of('undetermined').length,
    },
    confidence: judgement.confidence,
    missing: missing.slice(0, listed),
    faults: pending.slice(0, faultsAtOnce).map((node) => faultOf(node, request)),
    left: Math.max(0, pending.length - faultsAtOnce),
    acts: why === undefined,
  };
}

const showsSlow = ({ evidence }: JudgementRequest, rule: PreflightRule): boolean =>
  evidence === 'complete' || (evidence === 'expired' && rule !== 'strict');

/** Why the settings call for no response to the findings. */
function whyNothing(
  failed: readonly NodeJudgement[],
  slow: readonly NodeJudgement[],
  { mode, preflight }: Pick<WorkerSettings, 'preflight' | 'mode'>,
): string | undefined {
  const found = [...(failed.length > 0 ? (['failed'] as const) : []), ...(slow.length > 0 ? (['slow'] as const) : [])];
  if (found.length === 0) return undefined;
  if (mode === 'observe') return 'mode is observe';
  return found.some((what) => preflight[what] === 'quarantine')
    ? undefined
    : found.map((what) => `preflight.${what} is ${preflight[what]}`).join(', ');
}

/** Two ranks may run on one node. */
const onceEach = (nodes: readonly NodeJudgement[]): NodeJudgement[] =>
  [...new Map(nodes.toReversed().map((one) => [one.node, one])).values()].toReversed();

function because(
  { evidence, reports, size }: JudgementRequest,
  why: string,
  failed: readonly NodeJudgement[],
  slow: readonly NodeJudgement[],
): string {
  const found = [named('broken', failed), named('slow', slow)].filter((text) => text !== undefined);
  const what = found.length === 0 ? 'no broken or slow node' : found.join(', ');
  const how = evidence === 'complete' ? '' : ` from ${reports.length} of ${size} reports`;
  return `${what}${how}: ${why}`;
}

const named = (word: string, nodes: readonly NodeJudgement[]): string | undefined =>
  nodes.length === 0
    ? undefined
    : `${word}: ${nodes
        .slice(0, 5)
        .map(({ node }) => node)
        .join(', ')}${nodes.length > 5 ? ` and ${nodes.length - 5} more` : ''}`;

/**
 * A fault without a job would concern every job on the node. A workload of an unknown kind has no job to restart, and its pods may claim the
 * UID of another owner's job: a value with a slash matches no UID.
 */
const concerned = ({ job, uid }: Workload): string => job?.uid ?? `workload/${uid}`.slice(0, 64);

/** Verdicts that were weakened to `undetermined`, and why. */
function acquitted(before: readonly NodeJudgement[], after: readonly NodeJudgement[]): string {
  const changed = after.filter((node, index) => node !== before[index]);
  const [first] = changed;
  return first === undefined
    ? ''
    : `; ${changed.length === 1 ? first.node : `${first.node} and ${changed.length - 1} more`}: ${first.because}`;
}

/** The id contains the run: sent again it is the same fault, while another run makes a new one. */
function faultOf(judged: NodeJudgement, { workload, run, reports }: JudgementRequest): Fault {
  const from = reports.find(({ report }) => report.node === judged.node);
  const failed = from?.report.failed?.[0];
  const code = judged.verdict === 'failed' && failed !== undefined ? preflightFaults[failed] : preflightFaults.slow;
  return {
    id: `${preflightWorkflowId(workload)}/${run}/${judged.node}`.slice(-200),
    source: 'preflight',
    code,
    message:
      `preflight of ${workload.name} in ${workload.namespace}, run ${run}: ${judged.because} (confidence ${judged.confidence.toFixed(3)})`.slice(
        0,
        500,
      ),
    seenAt: from?.writtenAt ?? new Date(0).toISOString(),
    node: judged.node,
    job: concerned(workload),
    namespace: workload.namespace,
    evidence: judged.pairs.slice(0, 5).map((pair) => pair.slice(0, 500)),
  };
}

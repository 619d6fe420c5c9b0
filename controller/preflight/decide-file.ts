/** Whether a report file counts: its path and its time must match a pod. Pure. */

import type { CollectedReport, NodeShare } from '../../contract/preflight/preflight.ts';
import type { PreflightFile, RefusedReport } from '../../contract/preflight/files.ts';
import type { PreflightPod, TestTime } from '../../kube/pods/preflight-pods.ts';

export type FileDecision =
  | { readonly answer: 'accepted'; readonly pod: PreflightPod; readonly report: CollectedReport }
  | { readonly answer: 'wait'; readonly because: string }
  /** The workflow is notified if a pod identifies it. */
  | { readonly answer: 'refused'; readonly pod?: PreflightPod; readonly refused: RefusedReport };

export interface FileFacts {
  /** Of the file's namespace, workload and rank on the reporter's node, newest first. */
  readonly pods: readonly PreflightPod[];
  /** Whether that is up to date. */
  readonly isUpToDate: boolean;
  /** Whether pods may have gone recently that this leader never saw. */
  readonly fresh: boolean;
  /** How much of the node this pod and others of its workload hold; undefined while the node is not seen. */
  readonly share: (pod: PreflightPod) => NodeShare | undefined;
  /** When the file was sent, RFC 3339, by the node's clock, like the time at which it was written. */
  readonly sentAt: string;
}

/** Container times are whole seconds, ms. */
const slackMs = 1000;
/** How long the API server may take to report a pod, and a kubelet its state, ms. */
const youngMs = 3 * 60_000;

/** `node`: the reporter's own. */
export function decideFile(
  file: PreflightFile,
  node: string,
  { pods, isUpToDate, fresh, share, sentAt }: FileFacts,
): FileDecision {
  const [newest] = pods;
  const refuse = (what: RefusedReport['what'], because: string, pod = newest): FileDecision => {
    const refused = { rank: file.rank, node, what, because, at: new Date(file.writtenAt).toISOString() };
    return { answer: 'refused', refused, ...(pod && { pod }) };
  };
  const forged = 'report' in file ? forgery(file, node) : undefined;
  if (forged) return refuse(forged.what, forged.because);

  // A file that claims to be written in the far future must not wait until then.
  const young = Math.abs(Date.parse(sentAt) - Date.parse(file.writtenAt)) < youngMs;
  if (!newest) {
    if (!isUpToDate || young || fresh) return { answer: 'wait', because: 'its pod is not seen yet' };
    return refuse('no-pod', `no pod of ${file.workload} with rank ${file.rank} runs on ${node}`);
  }
  for (const pod of pods) {
    const when = whenWritten(file.writtenAt, pod);
    if (when === 'testing') return { answer: 'wait', because: 'its pod is still testing' };
    if (when === 'tested')
      return 'report' in file ? take(file, pod, share(pod)) : refuse(file.problem.field, file.problem.because, pod);
  }
  if (!isUpToDate || (young && mayHaveTestedUnseen(file.writtenAt, newest)))
    return { answer: 'wait', because: 'the test of its pod is not seen yet' };
  return refuse('stale', `it was not written while ${newest.name} tested`);
}

/** Whether a file's content contradicts its path. */
function forgery(
  { rank, report }: Extract<PreflightFile, { report: unknown }>,
  node: string,
): Pick<RefusedReport, 'what' | 'because'> | undefined {
  if (report.node !== node) return { what: 'other-node', because: `it names node ${report.node}` };
  if (report.rank !== rank) return { what: 'other-rank', because: `it names rank ${report.rank}` };
  return undefined;
}

function take(
  { report, writtenAt }: Extract<PreflightFile, { report: unknown }>,
  pod: PreflightPod,
  share: NodeShare | undefined,
): FileDecision {
  if (share === undefined) return { answer: 'wait', because: 'its node is not seen yet' };
  const { name, uid, createdAt } = pod;
  return {
    answer: 'accepted',
    pod,
    report: { report, pod: { name, uid, createdAt }, share, writtenAt: new Date(writtenAt).toISOString() },
  };
}

/** A test without an end either still runs, or its pod went before the end was seen. */
function whenWritten(writtenAt: string, { tests, testing }: PreflightPod): 'testing' | 'tested' | 'neither' {
  const spanning = tests.filter((test) => spans(test, writtenAt));
  if (testing && spanning.some(({ until }) => until === undefined)) return 'testing';
  return spanning.length > 0 ? 'tested' : 'neither';
}

function spans({ from, until }: TestTime, at: string): boolean {
  const time = Date.parse(at);
  return time >= Date.parse(from) - slackMs && (until === undefined || time <= Date.parse(until) + slackMs);
}

/** After every known test: the next one may have begun. */
const mayHaveTestedUnseen = (at: string, { tests }: PreflightPod): boolean =>
  tests.every(({ until }) => until !== undefined && Date.parse(at) > Date.parse(until));

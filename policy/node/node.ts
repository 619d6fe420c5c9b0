import type { NodeDecision, NodeFacts } from '../../contract/wire/activities.ts';
import type { PreflightScope } from '../../contract/cluster.ts';
import { type Fault, type KernelPosition, nodeNotReady, preflightFaults } from '../../contract/faults/faults.ts';
import { faultSentence } from '../../contract/faults/sentence.ts';
import { traitsOf } from '../../contract/faults/sources.ts';
import type { Response, WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { Undated } from '../decision.ts';

const strength = { record: 0, warn: 1, restart: 2, quarantine: 3 } as const satisfies Record<Response, number>;

/**
 * The response to new faults of a node. The strongest response wins; in mode `observe` a quarantine is only reported.
 * Source of the actions: NVIDIA's Xid catalogue; retired and unknown codes never act by themselves.
 */
export function decideNode(facts: NodeFacts, settings: WorkerSettings): Undated<NodeDecision> {
  const times = { quietMs: settings.quarantine.quiet, askAgainMs: settings.quarantine.askAgain };
  if (facts.askedBy) {
    return {
      kind: 'quarantine',
      reason: 'operator',
      faults: facts.faults,
      because: `${facts.askedBy.by} asked: ${facts.askedBy.reason}`,
      ...times,
    };
  }
  const counted = facts.faults.filter(
    (fault) => !wasJudged(fault, facts.judged) && !wasJudged(fault, facts.node?.judged),
  );
  const worst = strongest(counted, settings);
  if (worst === undefined)
    return { kind: 'record', faults: [], because: 'every line was taken into account before', ...times };

  const { fault, response } = worst;
  const because = faultSentence(fault);
  if (response === 'quarantine') {
    const kind = settings.mode === 'act' ? 'quarantine' : 'observe';
    const preflight = preflightAlone(counted.filter((each) => responseTo(each, settings) === 'quarantine'));
    return {
      kind,
      reason: taintValue(fault.code),
      faults: counted,
      because,
      ...(preflight && { preflight }),
      ...times,
    };
  }
  if (response === 'restart') return { kind: 'restart', faults: counted, because, ...times };
  if (response === 'warn') {
    const why =
      fault.standing === 'retired'
        ? 'current hardware no longer emits this code'
        : 'no rule acts on this code by itself';
    return {
      kind: 'warn',
      faults: counted,
      because: `${because}; ${why}`,
      remedy: `kcover node quarantine ${fault.node ?? '<node>'} --reason "${fault.code}"`,
      ...times,
    };
  }
  return { kind: 'record', faults: counted, because: `${because}; ${recordedBecause(fault)}`, ...times };
}

/** Set when only a tenant's preflight calls for the quarantine: such quarantines have a limit of their own. */
function preflightAlone(convicting: readonly Fault[]): PreflightScope | undefined {
  if (!convicting.every(({ source }) => traitsOf(source).byTenant === true)) return undefined;
  return { namespace: convicting[0]?.namespace ?? '' };
}

/** The configured response to one fault: by its code, else by its standing, else by its action; no stronger than its source allows. */
export function responseTo(
  fault: Pick<Fault, 'source' | 'code' | 'action' | 'standing'>,
  settings: Pick<WorkerSettings, 'faults' | 'preflight'>,
): Response {
  const response = configuredResponse(fault, settings);
  const { atMost = 'quarantine' } = traitsOf(fault.source);
  return strength[response] > strength[atMost] ? atMost : response;
}

function configuredResponse(
  fault: Pick<Fault, 'code' | 'action' | 'standing'>,
  { faults, preflight }: Pick<WorkerSettings, 'faults' | 'preflight'>,
): Response {
  const own = faults.codes[fault.code];
  if (own !== undefined) return own;
  const ofCode = responsesByCode(faults, preflight)[fault.code];
  if (ofCode !== undefined) return ofCode;
  if (fault.standing === 'retired') return faults.responses.retired;
  if (fault.standing === 'unknown' || fault.action === undefined) return faults.responses.unknown;
  return faults.responses[fault.action];
}

/** Codes with a setting of their own. */
const responsesByCode = (
  { responses }: WorkerSettings['faults'],
  { slow, storage, failed }: WorkerSettings['preflight'],
): Readonly<Record<string, Response>> => ({
  [nodeNotReady]: responses.notReady,
  [preflightFaults.slow]: slow,
  [preflightFaults.storage]: storage,
  [preflightFaults.gpu]: failed,
});

/** True when the line is at or before the last one that was taken into account in the same boot. */
export function wasJudged(fault: Fault, last: KernelPosition | undefined): boolean {
  return (
    fault.kernel !== undefined &&
    last !== undefined &&
    fault.kernel.bootId === last.bootId &&
    fault.kernel.sequence <= last.sequence
  );
}

function strongest(
  faults: readonly Fault[],
  settings: WorkerSettings,
): { fault: Fault; response: Response } | undefined {
  let worst: { fault: Fault; response: Response } | undefined;
  for (const fault of faults) {
    const response = responseTo(fault, settings);
    if (worst === undefined || strength[response] > strength[worst.response]) worst = { fault, response };
  }
  return worst;
}

const recordedBecause = (fault: Fault): string =>
  fault.action === 'restart-app' ? 'only the application must restart' : 'the node needs no action';

/** `xid/79` -> `xid-79`: a taint value is a label value. */
const taintValue = (code: string): string => code.replace(/[^A-Za-z0-9._-]/g, '-').slice(0, 63);

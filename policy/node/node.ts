import type { NodeDecision, NodeFacts } from '../../contract/wire/activities.ts';
import type { PreflightScope } from '../../contract/cluster.ts';
import type { Fault, KernelPosition } from '../../contract/faults/faults.ts';
import { faultSentence } from '../../contract/faults/sentence.ts';
import { traitsOf } from '../../contract/faults/sources.ts';
import type { Effect } from '../../contract/node/history.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { Undated } from '../decision.ts';
import { ladderFor } from './ladder.ts';
import { countedFor, type Judged, judgeFaults, type Verdict } from './judge.ts';
import { strength } from './response.ts';

export { responseTo } from './response.ts';

/**
 * The response to new faults of a node: all effects of all of them, of which the strongest names the decision; in mode `observe` a quarantine is
 * only reported. Source of the actions: NVIDIA's Xid catalogue; retired and unknown codes never stop a job by themselves.
 */
export function decideNode(facts: NodeFacts, settings: WorkerSettings): Undated<NodeDecision> {
  const known = facts.history ?? [];
  const now = facts.now ?? Math.max(0, ...facts.faults.map(({ seenAt }) => Date.parse(seenAt)));
  const { quiet, askAgain } = settings.quarantine;
  const kept = (history: NodeDecision['history'] = known) => ({
    history,
    quietMs: Math.max(quiet, countedFor(history, now, settings)),
    askAgainMs: askAgain,
  });
  if (facts.askedBy) {
    return {
      kind: 'quarantine',
      reason: 'operator',
      faults: facts.faults,
      because: `${facts.askedBy.by} asked: ${facts.askedBy.reason}`,
      ...kept(),
    };
  }
  const counted = facts.faults.filter(
    (fault) => !wasJudged(fault, facts.judged) && !wasJudged(fault, facts.node?.judged),
  );
  const judged = judgeFaults(counted, { history: known, now, again: facts.again === true }, settings);
  const worst = strongest(judged.verdicts);
  if (worst === undefined)
    return { kind: 'record', faults: [], because: 'every line was taken into account before', ...kept() };
  return {
    ...decisionOf(worst, judged, settings),
    faults: counted,
    ...(judged.verdicts.some(({ cancels }) => cancels) && { cancels: true as const }),
    ...kept(judged.history),
  };
}

type Answer = Omit<Undated<NodeDecision>, 'faults' | 'history' | 'quietMs' | 'askAgainMs'>;

function decisionOf(worst: Verdict, { verdicts }: Judged, settings: WorkerSettings): Answer {
  const { fault } = worst;
  const because = becauseOf(worst, verdicts);
  const restarts = verdicts.filter(({ effects }) => effects.includes('restart-job')).map((one) => one.fault.id);
  const withRestarts = restarts.length > 0 && { restarts };
  const asks = !verdicts.some(({ effects }) => effects.includes('quarantine'));
  switch (strongestEffect(worst)) {
    case 'ask':
    case 'quarantine': {
      const convicting = verdicts.filter(({ effects }) => effects.includes(asks ? 'ask' : 'quarantine'));
      const preflight = preflightAlone(convicting.map((one) => one.fault));
      const ladder =
        asks || preflight
          ? undefined
          : ladderFor(
              convicting.map((one) => one.fault),
              settings,
            );
      return {
        kind: settings.mode === 'act' ? 'quarantine' : 'observe',
        reason: taintValue(fault.code),
        because: asks ? `${because}; a person must decide` : because,
        ...(asks && { asks, remedy: remedyOf(fault) }),
        ...(preflight && { preflight }),
        ...(ladder && { ladder }),
        ...withRestarts,
      };
    }
    case 'restart-job':
      return { kind: 'restart', because, ...withRestarts };
    case 'warn': {
      const why =
        fault.standing === 'retired'
          ? 'current hardware no longer emits this code'
          : 'no rule acts on this code by itself';
      return {
        kind: 'warn',
        because: worst.rules.length > 0 ? because : `${because}; ${why}`,
        remedy: remedyOf(fault),
      };
    }
    case undefined:
      return { kind: 'record', because: worst.because.length > 0 ? because : `${because}; ${recordedBecause(worst)}` };
  }
}

/** The sentence of the worst fault, with what the rules say of it and of others, and the codes of the others that nothing is said of. */
function becauseOf(worst: Verdict, verdicts: readonly Verdict[]): string {
  const others = verdicts.filter((one) => one !== worst && one.effects.length > 0);
  const explained = others.filter(({ because }) => because.length > 0);
  const also = [...new Set(explained.map(({ fault, because }) => `${fault.code}: ${because.join('; ')}`))].slice(0, 2);
  const said = new Set([worst, ...explained].map(({ fault }) => fault.code));
  const codes = [...new Set(others.map(({ fault }) => fault.code))].filter((code) => !said.has(code));
  return [faultSentence(worst.fault), ...worst.because, ...also, ...alsoReported(codes)].join('; ');
}

const mostCodes = 3;

const alsoReported = (codes: readonly string[]): readonly string[] =>
  codes.length === 0
    ? []
    : [
        `also ${codes.slice(0, mostCodes).join(', ')}${codes.length > mostCodes ? ` and ${codes.length - mostCodes} more` : ''}`,
      ];

const remedyOf = ({ node, code }: Fault): string => `kcover node quarantine ${node ?? '<node>'} --reason "${code}"`;

/** Set when only a tenant's preflight calls for the quarantine: such quarantines have a limit of their own. */
function preflightAlone(convicting: readonly Fault[]): PreflightScope | undefined {
  if (!convicting.every(({ source }) => traitsOf(source).byTenant === true)) return undefined;
  return { namespace: convicting[0]?.namespace ?? '' };
}

/** True when the line is at or before the last one that was taken into account in the same boot. */
export function wasJudged(fault: Fault, last: KernelPosition | undefined): boolean {
  return (
    fault.kernel !== undefined &&
    last !== undefined &&
    fault.kernel.bootId === last.bootId &&
    fault.kernel.sequence <= last.sequence
  );
}

const strongestEffect = ({ effects }: Verdict): Effect | undefined =>
  effects.toSorted((a, b) => strength[b] - strength[a])[0];

/** The first of the strongest. */
function strongest(verdicts: readonly Verdict[]): Verdict | undefined {
  const weight = (verdict: Verdict): number => Math.max(0, ...verdict.effects.map((effect) => strength[effect]));
  return verdicts.toSorted((a, b) => weight(b) - weight(a))[0];
}

function recordedBecause({ fault, repeated }: Verdict): string {
  if (repeated) return 'the driver repeats itself';
  return fault.action === 'restart-app' ? 'only the application must restart' : 'the node needs no action';
}

/** `xid/79` -> `xid-79`: a taint value is a label value. */
const taintValue = (code: string): string => code.replace(/[^A-Za-z0-9._-]/g, '-').slice(0, 63);

/** Gathers evidence of an attempt until its deadline: first what is cheap, then the logs, failing ranks first. */

import type { V1Pod } from '@kubernetes/client-node';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration } from '../../contract/settings/duration.ts';
import { KcoverError } from '../../contract/errors.ts';
import { evidenceLimits, type EvidenceRequest } from '../../contract/recovery/evidence.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { ObjectEvent } from '../../kube/events/object-events.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { atOnce, type EvidenceCollector, Missed, type Missing } from './collector.ts';
import type { EvidenceSource, FoundEvents } from './source.ts';
import type { RankLogs } from './suspects.ts';
import { jobSummary, type LogOf, logsOf, nodeSummary, podSummary } from './summary.ts';

export interface Gathering {
  readonly request: EvidenceRequest;
  readonly source: EvidenceSource;
  readonly into: EvidenceCollector;
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
  /** Time-out for one log, ms: a dead kubelet never answers. */
  readonly logMs: number;
  /** Compares them. */
  readonly logs: RankLogs;
}

/** Never throws: what cannot be read is recorded as missing. */
export async function gatherEvidence(gathering: Gathering): Promise<void> {
  const { request } = gathering;
  await Promise.all([
    keepKernelLines(gathering),
    gatherJob(gathering),
    gatherRanks(gathering),
    ...request.nodes.map((node) => gatherNode(gathering, node)),
  ]);
}

async function gatherJob(gathering: Gathering): Promise<void> {
  const { request, source, into, signal } = gathering;
  const { job } = request;
  await Promise.all([
    unlessMissing(gathering, ['job', job.name], async () => {
      const object = await persistently(signal, () => source.job());
      if (object?.metadata?.uid !== job.uid) throw new Missed('it is gone');
      await into.document({ file: 'job.json', what: 'job' }, jobSummary(object));
    }),
    unlessMissing(gathering, ['events', jobTitle(job)], async () => {
      const found = await eventsOf(gathering, 'job', jobTitle(job));
      await keepEvents(gathering, 'job_events.json', found.of.get(job.uid));
    }),
  ]);
}

async function gatherNode(gathering: Gathering, name: string): Promise<void> {
  const { request, source, into, signal } = gathering;
  const stem = `node_${plainOr(name, request.nodes.indexOf(name))}`;
  await Promise.all([
    unlessMissing(gathering, ['node', name], async () => {
      const node = await persistently(signal, () => source.node(name));
      if (!node) throw new Missed('it is gone');
      await into.document({ file: `${stem}.json`, what: 'node' }, nodeSummary(node));
    }),
    unlessMissing(gathering, ['events', `node ${name}`], async () => {
      const found = await eventsOf(gathering, { node: name }, `node ${name}`);
      await keepEvents(gathering, `${stem}_events.json`, found.of.get(name));
    }),
  ]);
}

/** No request is needed: the lines came with the faults. */
async function keepKernelLines({ request, into }: Gathering): Promise<void> {
  const nodes = [...Map.groupBy(request.kernel ?? [], ({ node }) => node)].entries();
  for (const [index, [node, entries]] of nodes) {
    const lines = entries.flatMap((entry) => entry.lines);
    const cut = lines.length > evidenceLimits.logLines;
    if (lines.length > 0)
      await into.log({ file: `node_${plainOr(node, index)}_kernel.log`, what: 'kernel' }, `${lines.join('\n')}\n`, cut);
  }
}

/** A pod of the attempt, and the stem of its file names. */
interface Rank {
  readonly name: string;
  readonly stem: string;
  readonly pod: V1Pod;
}

async function gatherRanks(gathering: Gathering): Promise<void> {
  const { request, source, into, signal } = gathering;
  if (request.pods.length === 0) return;
  const events = unlessMissing(gathering, ['events', 'pods'], () => eventsOf(gathering, 'pods', 'pods'));
  const listed = await unlessMissing(gathering, ['pods', 'all pods'], () => persistently(signal, () => source.pods()));
  const byUid = new Map(listed?.map((pod) => [pod.metadata?.uid, pod]));
  const ranks = request.pods.flatMap(({ name, uid }, index): Rank[] => {
    const pod = byUid.get(uid);
    // Logs are read by name: a pod that has taken the name since is not of this attempt.
    if (listed && !pod) into.miss('pod', name, new Missed('gone before they were read'));
    return pod ? [{ name, stem: `pod_${plainOr(name, index)}`, pod }] : [];
  });
  const each = (what: 'pod' | 'events', keep: (rank: Rank) => Promise<void>) =>
    inParallel(ranks, (rank) => unlessMissing(gathering, [what, rank.name], () => keep(rank)), atOnce);
  await each('pod', ({ name, stem, pod }) =>
    into.document({ file: `${stem}.json`, what: 'pod', pod: name }, podSummary(pod)),
  );
  const keepPodEvents = async () => {
    const byPod = await events;
    await each('events', ({ name, stem, pod }) =>
      keepEvents(gathering, `${stem}_events.json`, byPod?.of.get(pod.metadata?.uid ?? ''), { pod: name }),
    );
  };
  await Promise.all([keepPodEvents(), gatherLogs(gathering, ranks)]);
}

interface RankLog extends LogOf {
  readonly rank: Rank;
}

async function gatherLogs(gathering: Gathering, ranks: readonly Rank[]): Promise<void> {
  const wanted = ranks.flatMap((rank) => logsOf(rank.pod).map((log): RankLog => ({ ...log, rank })));
  const kubelets = new Kubelets();
  await inParallel(wanted, (log) => gatherLog(gathering, log, kubelets), atOnce);
}

async function gatherLog(gathering: Gathering, log: RankLog, kubelets: Kubelets): Promise<void> {
  const { rank, container, previous } = log;
  const what = previous ? 'previous-log' : 'log';
  await unlessMissing(gathering, [what, rank.name], async () => {
    const node = rank.pod.spec?.nodeName ?? '';
    if (kubelets.isSilent(node)) throw new Missed(kubelets.words);
    const found = await readWhole(gathering, log).catch((error: unknown) => {
      if (error instanceof TooSlow) kubelets.silent(node, error.message);
      throw error;
    });
    kubelets.markAnswered();
    // Logs that existed when the pods were listed may have been removed, or have gone with their pod.
    if (found === undefined) throw new Missed('there are none');
    gathering.logs.add({ pod: rank.name, ...(node !== '' && { node }) }, found.text, found.cut);
    const name = `${rank.stem}_${plainOr(container, 0)}${previous ? '_previous' : ''}.log`;
    await gathering.into.log({ file: name, what, pod: rank.name, container }, found.text, found.cut);
  });
}

/** Maximum size of one answer. */
const answerBytes = 16 * evidenceLimits.logBytes;

/** A byte limit cuts off the end, which matters most: if it was reached, fewer lines are requested. */
async function readWhole(
  { source, signal, logMs }: Gathering,
  { rank, ...log }: RankLog,
): Promise<{ text: string; cut: boolean } | undefined> {
  for (const lines of [evidenceLimits.logLines, evidenceLimits.logLines / 10, 1]) {
    const late = AbortSignal.timeout(logMs);
    const both = AbortSignal.any([signal, late]);
    const text = await within(both, () =>
      source.log(rank.name, log, { lines, bytes: answerBytes, signal: both }),
    ).catch((error: unknown) => {
      throw late.aborted && !signal.aborted ? new TooSlow(`no answer within ${formatDuration(logMs)}`) : error;
    });
    if (text === undefined) return undefined;
    if (lines === 1 || Buffer.byteLength(text) < answerBytes) return { text, cut: lines < evidenceLimits.logLines };
  }
  return undefined;
}

class TooSlow extends Error {}

/** Kubelets that did not answer are not asked again. None is asked once a full round of concurrent requests had no answer. */
class Kubelets {
  readonly #silent = new Set<string>();
  #anyAnswered = false;
  words = '';

  isSilent(node: string): boolean {
    return this.#silent.has(node) || (!this.#anyAnswered && this.#silent.size >= atOnce);
  }

  silent(node: string, words: string): void {
    this.words = words;
    this.#silent.add(node);
  }

  markAnswered(): void {
    this.#anyAnswered = true;
  }
}

async function eventsOf(
  { source, into, signal }: Gathering,
  of: Parameters<EvidenceSource['events']>[0],
  subject: string,
): Promise<FoundEvents> {
  const found = await persistently(signal, () => source.events(of, signal));
  if (found.more) into.miss('some-events', subject, new Missed('there are too many to read'));
  return found;
}

async function keepEvents(
  { into }: Gathering,
  file: string,
  events: readonly ObjectEvent[] = [],
  of: { readonly pod?: string } = {},
): Promise<void> {
  if (events.length > 0) await into.document({ file, what: 'events', ...of }, events.slice(0, evidenceLimits.events));
}

/** A failure is recorded as missing evidence. */
async function unlessMissing<T>(
  { into, signal }: Gathering,
  [what, subject]: readonly [Missing, string],
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    if (signal.aborted) throw noTime;
    return await work();
  } catch (error) {
    into.miss(what, subject, signal.aborted ? noTime : error);
    return undefined;
  }
}

const noTime = new Missed('no time was left');

const againMs = 300;

/** Retries while the API server does not answer, because everything else depends on it. */
async function persistently<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await within(signal, ask);
    } catch (error) {
      const mayPass =
        error instanceof KcoverError && (error.code === 'kube.unreachable' || error.code === 'kube.throttled');
      if (!mayPass || signal.aborted) throw error;
      await sleep(againMs, undefined, { signal });
    }
  }
}

/** Rejects when the signal aborts, even if the call does not return. */
function within<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  else {
    signal.addEventListener('abort', abort, { once: true });
    call()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort));
  }
  return promise;
}

/**
 * The name as a part of a file name. Kubernetes allows hardly any other names, and none with an underscore, so parts that are
 * joined by underscores stay unambiguous.
 */
const plainOr = (name: string, index: number): string =>
  /^[a-z0-9][a-z0-9.-]{0,119}$/.test(name) ? name : `_${index}`;

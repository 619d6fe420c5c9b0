/** ConfigMaps of one namespace in which MindCluster reports faults of nodes. */

import { createHash } from 'node:crypto';
import type { KubernetesObject } from '@kubernetes/client-node';
import type { Fault } from '../../contract/faults/faults.ts';
import { type AscendReport, readReport, reportNamesOf, subjectOf } from '../../faults/ascend/config-map.ts';
import {
  foldOccurrences,
  isRecorded,
  noOccurrences,
  type Occurrence,
  type Occurrences,
  subjectKey,
} from '../../faults/occurrences.ts';
import type { Unobserved } from '../../faults/finding.ts';
import { foundFault } from '../../faults/found-fault.ts';
import { limitedTo } from '../../kube/client/parallel.ts';
import { timeOrEpoch } from '../../kube/client/time.ts';
import { identityOf } from '../../kube/client/trim.ts';
import { readConfigMap } from '../../kube/config-maps.ts';
import { follow, type WatchContext } from '../watch/follow.ts';
import { retryWhileLeading } from '../watch/retry-while-leading.ts';
import { watchStanding } from '../watch/standing-faults.ts';

/** A node whose ConfigMaps count. */
export interface ReportedNode {
  readonly uid: string;
  /** RFC 3339, the API server's clock, whole seconds. */
  readonly createdAt: string;
  /** Ids of faults that releases of the node have recorded. */
  readonly recorded: readonly string[];
}

export interface ReportsOptions extends WatchContext {
  readonly namespace: string;
  readonly debounceMs: number;
  /** Undefined for a node that does not exist, or has no accelerators. */
  readonly node: (name: string) => ReportedNode | undefined;
  /** False: not now, because its node has too many of them. */
  readonly send: (node: string, fault: Fault) => boolean;
  /** A ConfigMap about the node was read. */
  readonly onReport: (node: string, report: AscendReport) => void;
  readonly onReachability: (isReachable: boolean) => void;
}

export interface Reports {
  /** The Node object has changed, or is gone. */
  lookAgain(node: string): void;
  unobservable(node: string): readonly Unobserved[];
}

/** A ConfigMap as it is kept: with what it says instead of its text. */
type ReportObject = KubernetesObject & { readonly report?: AscendReport; readonly writtenAt?: string };

interface KnownReport {
  readonly node: string;
  readonly isGone: boolean;
  /** RFC 3339, the API server's clock, whole seconds. */
  readonly writtenAt: string;
  readonly occurrences: Occurrences;
  readonly unobservable: readonly Unobserved[];
}

/** Reads at once: all faults that stand are read when a controller begins to lead. */
const mostReads = 16;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function reportObject(object: ReportObject): ReportObject {
  const report = readReport(object, sha256);
  const metadata = identityOf(object);
  return report ? { metadata, report, writtenAt: lastWrite(object) } : { metadata };
}

/** Empty where the object does not say it. */
const lastWrite = ({ metadata }: KubernetesObject): string =>
  (metadata?.managedFields ?? [])
    .map(({ time }) => timeOrEpoch(time))
    .toSorted()
    .at(-1) ?? '';

/** A machine that has the name of an earlier one has nothing to do with what was written about that one. */
const isOfEarlierNode = ({ writtenAt }: KnownReport, { createdAt }: ReportedNode): boolean =>
  writtenAt !== '' && writtenAt < createdAt;

export function watchReports(options: ReportsOptions): Reports {
  const { kube, namespace, debounceMs, node: nodeOf, send, onReport, log, signal } = options;
  const known = new Map<string, KnownReport>();
  const standing = watchStanding({ notify: (name, fault) => void confirm(name, fault), log, signal });
  /** Reads under way: all faults of a ConfigMap are confirmed by one. */
  const reads = new Map<string, Promise<AscendReport | undefined>>();
  const limited = limitedTo(mostReads);

  function see(name: string, report: AscendReport, writtenAt: string): void {
    const [before, node] = [known.get(name), nodeOf(report.node)];
    const isOfNode = before && !(node && isOfEarlierNode(before, node));
    const occurrences = isOfNode ? before.occurrences : noOccurrences;
    known.set(name, {
      node: report.node,
      isGone: false,
      writtenAt,
      // One that cannot be read says nothing, so what it said before stays.
      occurrences: report.isRead ? foldOccurrences(occurrences, report.faults) : occurrences,
      unobservable: report.unobservable,
    });
    show(name);
    onReport(report.node, report);
  }

  /** No fault is over because a person or another program deletes it: what it said stays while there is such a node. */
  function gone(name: string): void {
    const before = known.get(name);
    const subject = subjectOf(name);
    if (!before || !subject) return;
    const unobservable = [{ source: 'device-plugin', ...subject, because: 'its ConfigMap is gone' } as const];
    known.set(name, { ...before, isGone: true, unobservable });
    show(name);
    onReport(before.node, { ...subject, isRead: false, faults: [], unobservable });
  }

  function unobservedIn(name: string): readonly Unobserved[] {
    const [report, subject] = [known.get(name), subjectOf(name)];
    const node = report && nodeOf(report.node);
    if (!report || !subject || !node) return [];
    if (!isOfEarlierNode(report, node)) return report.unobservable;
    const because = 'its ConfigMap was written before the Node object was created';
    return [{ source: 'device-plugin', ...subject, because }];
  }

  function show(name: string): void {
    const report = known.get(name);
    const node = report && nodeOf(report.node);
    if (report && node && !isOfEarlierNode(report, node))
      return standing.see(
        name,
        faultsOf(report, node).map((fault) => ({ fault, debounceMs })),
      );
    standing.forget(name);
    if (report?.isGone) known.delete(name);
  }

  /** A watch may stall unnoticed for a while: the ConfigMap is read before the fault is sent. */
  async function confirm(name: string, fault: Fault): Promise<void> {
    const now = await readAgain(name);
    const report = known.get(name);
    const node = report && nodeOf(report.node);
    if (signal.aborted || !report || !node) return;
    const there = new Set(now?.faults.map(subjectKey));
    const isThere = faultsOf(report, node, there).some(({ id }) => id === fault.id);
    // Otherwise it counts again with the next change.
    if (!isThere || !send(report.node, fault)) standing.forgetFault(name, fault.id);
  }

  function readAgain(name: string): Promise<AscendReport | undefined> {
    const running = reads.get(name);
    if (running) return running;
    const read = retryWhileLeading(`read ConfigMap ${namespace}/${name}`, options, async () => {
      const object = await limited(() => readConfigMap(kube, namespace, name));
      return object && readReport(object, sha256);
    }).finally(() => reads.delete(name));
    reads.set(name, read);
    return read;
  }

  follow<ReportObject>(options, {
    what: `configmaps in ${namespace}`,
    path: `/api/v1/namespaces/${namespace}/configmaps`,
    trim: reportObject,
    onReachability(isReachable) {
      standing.setReachable(isReachable);
      options.onReachability(isReachable);
    },
    onEvent({ type, object }) {
      const name = object.metadata?.name ?? '';
      if (type === 'deleted') gone(name);
      else if (object.report) see(name, object.report, object.writtenAt ?? '');
    },
  });

  return {
    lookAgain(node) {
      for (const name of reportNamesOf(node)) {
        if (known.has(name)) show(name);
      }
    },
    unobservable: (node) => reportNamesOf(node).flatMap(unobservedIn),
  };
}

/** `among`: only what says this. What was recorded at a release does not count again. */
function faultsOf(
  { occurrences }: KnownReport,
  { uid, recorded }: ReportedNode,
  among?: ReadonlySet<string>,
): readonly Fault[] {
  return [...occurrences.standing]
    .filter(([subject]) => among?.has(subject) ?? true)
    .map(([, occurrence]) => faultOf(occurrence, uid))
    .filter(({ id }) => !isRecorded(recorded, id));
}

function faultOf({ finding, key, since }: Occurrence, uid: string): Fault {
  const now = new Date().toISOString();
  // The clock of its node may be ahead.
  return foundFault(finding, {
    id: `${finding.source}/${uid}/${key}`,
    seenAt: since === undefined || since > now ? now : since,
  });
}

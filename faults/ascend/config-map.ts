/**
 * ConfigMaps by which MindCluster reports faults: `mindx-dl-deviceinfo-<node>` of the device plugin, `mindx-dl-nodeinfo-<node>` of NodeD.
 * A ConfigMap whose CheckCode fails is not read, as Volcano does not read it either.
 */

import { oneLine } from '../../contract/text.ts';
import type { Findings, Unobserved } from '../finding.ts';
import { isIntact, type Sha256 } from './check-code.ts';
import { chipFaults } from './chip-fault.ts';
import type { AscendFault } from './fault.ts';
import { type Fields, fieldsOf, parsedJson, textOf } from './fields.ts';
import { type Heartbeat, heartbeatIn } from './heartbeat.ts';
import { nodeFaults } from './node-fault.ts';

/** What one ConfigMap says. */
export interface AscendReport {
  readonly node: string;
  /** Key of the ConfigMap's data. */
  readonly what: string;
  /** False where its content cannot be used: it says nothing then, not even that a fault is over. */
  readonly isRead: boolean;
  readonly faults: readonly AscendFault[];
  readonly unobservable: readonly Unobserved[];
  readonly heartbeat?: Heartbeat;
}

interface ReportKind {
  readonly prefix: string;
  /** Of the ConfigMap's data. */
  readonly key: string;
  /** Member that has the content, beside its CheckCode. */
  readonly content: string;
  readonly faults: (node: string, content: Fields) => readonly AscendFault[];
}

const kinds: readonly ReportKind[] = [
  { prefix: 'mindx-dl-deviceinfo-', key: 'DeviceInfoCfg', content: 'DeviceInfo', faults: chipFaults },
  { prefix: 'mindx-dl-nodeinfo-', key: 'NodeInfo', content: 'NodeInfo', faults: nodeFaults },
];

/** The API server limits an object to less. */
const mostText = 3 * 1024 * 1024;

/** Bound of one ConfigMap: a node has up to 16 chips, which have a few codes each. */
const mostFaults = 128;

/** A ConfigMap, or a list as `kubectl get configmaps -o json` prints it; undefined when the value is neither. Others are left out. */
export function readConfigMaps(value: unknown, sha256: Sha256): Findings | undefined {
  const { items, kind } = fieldsOf(value);
  if (items === undefined && kind !== 'ConfigMap') return undefined;
  const read = (Array.isArray(items) ? items : [value]).flatMap((one) => readReport(one, sha256) ?? []);
  return {
    faults: read.flatMap(({ faults }) => faults.map(({ finding }) => finding)),
    unobservable: read.flatMap(({ unobservable }) => unobservable),
  };
}

const kindOf = (name: string): ReportKind | undefined =>
  kinds.find(({ prefix }) => name.startsWith(prefix) && name.length > prefix.length);

/** Names of the ConfigMaps about a node. */
export const reportNamesOf = (node: string): readonly string[] => kinds.map(({ prefix }) => `${prefix}${node}`);

/** The node that a ConfigMap of this name is about, and the key of its data; undefined for other ConfigMaps. */
export function subjectOf(name: string): { readonly node: string; readonly what: string } | undefined {
  const kind = kindOf(name.slice(0, 300));
  return kind && { node: oneLine(name.slice(kind.prefix.length), 253), what: kind.key };
}

/** Undefined for other ConfigMaps. */
export function readReport(value: unknown, sha256: Sha256): AscendReport | undefined {
  const { metadata, data } = fieldsOf(value);
  const name = textOf(fieldsOf(metadata)['name'], 300);
  const [kind, subject] = [kindOf(name), subjectOf(name)];
  if (kind === undefined || subject === undefined) return undefined;
  const { node, what } = subject;
  const cannot = (because: string): Unobserved => ({ source: 'device-plugin', what, node, because });
  const unread = (because: string): AscendReport => ({
    node,
    what,
    isRead: false,
    faults: [],
    unobservable: [cannot(because)],
  });
  const text = fieldsOf(data)[kind.key];
  if (typeof text !== 'string' || text.length > mostText) return unread(`its ${kind.key} is missing or too large`);
  const parsed = fieldsOf(parsedJson(text));
  const content = parsed[kind.content];
  if (content === undefined) return unread(`its ${kind.key} is no JSON with ${kind.content}`);
  if (!isIntact(content, parsed['CheckCode'], sha256)) return unread('its CheckCode is not that of its content');
  const all = kind.faults(node, fieldsOf(content)).toSorted(byImportance);
  const heartbeat = heartbeatIn(fieldsOf(content));
  return {
    node,
    what,
    isRead: true,
    // A part of a text keeps the whole text in memory, and reports are kept.
    faults: structuredClone(all.slice(0, mostFaults)),
    unobservable: all.length > mostFaults ? [cannot(`it has ${all.length} faults; only ${mostFaults} are read`)] : [],
    ...(heartbeat && { heartbeat }),
  };
}

/** Those that are only recorded come last, so that they displace no other. */
const byImportance = ({ finding: a }: AscendFault, { finding: b }: AscendFault): number =>
  Number(a.action === 'ignore') - Number(b.action === 'ignore');

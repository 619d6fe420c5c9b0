/**
 * ConfigMaps by which MindCluster reports faults: `mindx-dl-deviceinfo-<node>` of the device plugin, `mindx-dl-nodeinfo-<node>` of NodeD.
 * A ConfigMap whose CheckCode fails is not read, as Volcano does not read it either.
 */

import { oneLine } from '../../contract/text.ts';
import type { Finding, Findings, Unobserved } from '../finding.ts';
import { isIntact, type Sha256 } from './check-code.ts';
import { chipFaults } from './chip-fault.ts';
import { type Fields, fieldsOf, parsedJson, textOf } from './fields.ts';
import { nodeFaults } from './node-fault.ts';

interface ReportKind {
  readonly prefix: string;
  /** Of the ConfigMap's data. */
  readonly key: string;
  /** Member that has the content, beside its CheckCode. */
  readonly content: string;
  readonly faults: (node: string, content: Fields) => readonly Finding[];
}

const kinds: readonly ReportKind[] = [
  { prefix: 'mindx-dl-deviceinfo-', key: 'DeviceInfoCfg', content: 'DeviceInfo', faults: chipFaults },
  { prefix: 'mindx-dl-nodeinfo-', key: 'NodeInfo', content: 'NodeInfo', faults: nodeFaults },
];

/** The API server limits an object to less. */
const mostText = 3 * 1024 * 1024;

/** A ConfigMap, or a list as `kubectl get configmaps -o json` prints it; undefined when the value is neither. Others are left out. */
export function readConfigMaps(value: unknown, sha256: Sha256): Findings | undefined {
  const { items, kind } = fieldsOf(value);
  if (items === undefined && kind !== 'ConfigMap') return undefined;
  const read = (Array.isArray(items) ? items : [value]).map((one) => readConfigMap(one, sha256));
  return {
    faults: read.flatMap(({ faults }) => faults),
    unobservable: read.flatMap(({ unobservable }) => unobservable),
  };
}

function readConfigMap(value: unknown, sha256: Sha256): Findings {
  const { metadata, data } = fieldsOf(value);
  const name = textOf(fieldsOf(metadata)['name'], 300);
  const report = kinds.find(({ prefix }) => name.startsWith(prefix) && name.length > prefix.length);
  if (report === undefined) return { faults: [], unobservable: [] };
  const node = oneLine(name.slice(report.prefix.length), 253);
  const text = fieldsOf(data)[report.key];
  const cannot = (because: string): Findings => ({
    faults: [],
    unobservable: [{ source: 'device-plugin', what: report.key, node, because } satisfies Unobserved],
  });
  if (typeof text !== 'string' || text.length > mostText) return cannot(`its ${report.key} is missing or too large`);
  const parsed = fieldsOf(parsedJson(text));
  const content = parsed[report.content];
  if (content === undefined) return cannot(`its ${report.key} is no JSON with ${report.content}`);
  if (!isIntact(content, parsed['CheckCode'], sha256)) return cannot('its CheckCode is not that of its content');
  return { faults: report.faults(node, fieldsOf(content)), unobservable: [] };
}

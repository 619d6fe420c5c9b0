/** Logs of containers on simulated nodes, in the place and the form in which a kubelet and its runtime keep them. */

import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import type { SimulatedNode } from './nodes.ts';

/** What the first container of the pod writes to stdout, a line each. */
export async function writeToLog(
  nodes: readonly SimulatedNode[],
  { metadata, spec }: V1Pod,
  lines: readonly string[],
): Promise<void> {
  const node = nodes.find(({ name }) => name === spec?.nodeName);
  const container = spec?.containers[0]?.name;
  if (node === undefined || container === undefined) throw new Error(`${metadata?.name} is on no simulated node`);
  const pod = `${metadata?.namespace}_${metadata?.name}_${metadata?.uid}`;
  const directory = join(node.hostRoot, 'var', 'log', 'pods', pod, container);
  await mkdir(directory, { recursive: true });
  const at = new Date().toISOString().replace('Z', '123456Z');
  await appendFile(join(directory, '0.log'), lines.map((line) => `${at} stdout F ${line}\n`).join(''));
}

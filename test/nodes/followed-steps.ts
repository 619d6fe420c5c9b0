/** Follows the log of a container on a real node with the agent's own reader, and keeps every step. */

import { readdir } from 'node:fs/promises';
import type { V1Pod } from '@kubernetes/client-node';
import { openContainerLog } from '../../agent/logs/container-log.ts';
import { createLineJoiner } from '../../faults/logs/cri-line.ts';
import { createLogReader } from '../../faults/logs/log-reader.ts';
import type { RealNode } from '../../testbed/real-nodes/real-node.ts';

export interface FollowedSteps {
  look(): Promise<void>;
  /** Every one that was printed, in order. */
  readonly steps: readonly number[];
  /** Lines of the file. */
  readonly lines: number;
  /** Those of them that the runtime cut off. */
  readonly parts: number;
  /** Times in the names of the files that the kubelet has rotated. */
  readonly rotated: ReadonlySet<string>;
  close(): Promise<void>;
}

/** As CRI runtimes write it. */
const criLine = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) (?<tag>[FP]) /;

export function followSteps(node: RealNode, { metadata }: V1Pod, container: string): FollowedSteps {
  const directory = `/var/log/pods/${metadata?.namespace}_${metadata?.name}_${metadata?.uid}/${container}`;
  const log = openContainerLog(node.hostRoot, directory, Buffer.alloc(256 * 1024));
  const joiner = createLineJoiner();
  const reader = createLogReader({ preset: 'auto' });
  const steps: number[] = [];
  const rotated = new Set<string>();
  let lines = 0;
  let parts = 0;

  function take(line: string): void {
    const tag = criLine.exec(line)?.groups?.['tag'];
    if (tag === undefined) throw new Error(`this is no line of a CRI log: ${line.slice(0, 100)}`);
    lines++;
    if (tag === 'P') parts++;
    for (const { text } of joiner.take(line))
      for (const event of reader.take(text)) if (event.kind === 'step') steps.push(event.step);
  }

  return {
    async look() {
      const found = await log.look(8 * 1024 * 1024);
      found.lines.forEach(take);
      for (const file of await readdir(node.fileOf(directory))) {
        const at = /^\d+\.log\.(\d{8}-\d{6})/.exec(file)?.[1];
        if (at !== undefined) rotated.add(at);
      }
    },
    steps,
    get lines() {
      return lines;
    },
    get parts() {
      return parts;
    },
    rotated,
    close: () => log.close(),
  };
}

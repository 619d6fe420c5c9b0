/** Heap that a controller uses for the watched nodes and pods, with full and with trimmed objects. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Command } from 'commander';
import { trimNode, trimPod } from '../kube/client/trim.ts';
import { largeNode, largePod } from './cluster-objects.ts';
import { count } from './count.ts';

const sample = 1500;

/** Bytes of heap for each object parsed from JSON. */
function bytesEach<T>(make: (index: number) => T, keep: (object: T) => T): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  const kept = Array.from({ length: sample }, (_, index) => keep(JSON.parse(JSON.stringify(make(index)))));
  collect();
  return (process.memoryUsage().heapUsed - before) / kept.length;
}

export function memoryCommand(): Command {
  return new Command('memory')
    .description('Heap of a controller for the nodes and pods that it watches')
    .option('--nodes <count>', 'nodes', count(1), 10_000)
    .option('--pods <count>', 'pods of jobs', count(1), 50_000)
    .action(({ nodes, pods }: { nodes: number; pods: number }) => {
      const rows = [
        ['whole', bytesEach(largeNode, (node) => node), bytesEach(largePod, (pod) => pod)],
        ['trimmed', bytesEach(largeNode, trimNode), bytesEach(largePod, trimPod)],
      ] as const;
      for (const [what, node, pod] of rows) {
        const total = (node * nodes + pod * pods) / 2 ** 20;
        console.log(
          `${what}: ${(node / 1024).toFixed(1)} KiB for a node, ${(pod / 1024).toFixed(1)} KiB for a pod, ${total.toFixed(0)} MiB for ${nodes} and ${pods}`,
        );
      }
    });
}

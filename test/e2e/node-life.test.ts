/** The life of a node that breaks, is repaired by hooks and returns, with every role and a server of hooks. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { quarantineTaintKey } from '../../contract/ids.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu, reboot } from '../../testbed/failures.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { grantRepair } from '../../testbed/rights.ts';
import { LiveKcover, quick, xid79 } from '../support/live-kcover.ts';
import { eventually, testServers } from '../support/rig.ts';

let live: LiveKcover;
let hooks: Server;
/** What was asked, in order. */
const asked: { path: string; node: string; operation: string }[] = [];

/** A reset that does not help, and a reboot that boots the machine. */
async function run(path: string, node: SimulatedNode | undefined): Promise<object> {
  if (path === '/reset') return { verdict: 'failed', because: 'the GPU is off the bus' };
  if (node) await reboot(live.cluster.api, node);
  return { verdict: 'passed' };
}

beforeAll(async () => {
  hooks = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      const { node, operation } = JSON.parse(body) as { node: string; operation: string };
      const path = request.url ?? '';
      asked.push({ path, node, operation });
      void run(
        path,
        live.cluster.nodes.find(({ name }) => name === node),
      ).then((answer) => response.end(JSON.stringify({ ...answer, node, operation })));
    });
  });
  await new Promise<void>((listening) => hooks.listen(0, '127.0.0.1', listening));
  const base = `http://127.0.0.1:${(hooks.address() as AddressInfo).port}`;
  const { workflowBundle } = testServers();
  const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  await grantRepair(cluster);
  live = await LiveKcover.start(cluster, {
    workflowBundle,
    workerSettings: {
      ...quick,
      remediation: {
        mode: 'run',
        probation: '1s',
        hooks: {
          reset: { kind: 'http', url: `${base}/reset` },
          reboot: { kind: 'http', url: `${base}/reboot` },
          test: { kind: 'command', command: ['true'] },
        },
        ladders: [
          {
            name: 'gpu',
            codes: ['xid/*'],
            release: 'verified',
            rungs: [
              { hook: 'reset', proof: ['result'] },
              { hook: 'reboot', proof: ['rebooted', 'ready'], verify: 'test' },
            ],
          },
        ],
      },
    },
  });
});
afterEach(() => live?.clear(), 120_000);
afterAll(async () => {
  await live?.close();
  hooks.closeAllConnections();
  await new Promise((closed) => hooks.close(closed));
}, 120_000);

const isOut = async (name: string): Promise<boolean> =>
  ((await live.cluster.api.core.readNode({ name })).spec?.taints ?? []).some(({ key }) => key === quarantineTaintKey);

interface Told {
  readonly outcome: string;
  readonly endedBecause: string | null;
  readonly remediations?: readonly { readonly rung: string; readonly outcome: string }[];
}

describe('a node whose GPU breaks', () => {
  it('is repaired rung by rung, tested, watched and released, and its job runs on elsewhere meanwhile', async () => {
    const job = await live.pytorch();
    const node = job.nodes.at(-1);
    if (!node) throw new Error('the job runs nowhere');
    await breakGpu(node, xid79);
    await eventually(
      () => isOut(node.name),
      (out) => out,
      60_000,
    );
    await eventually(
      () => isOut(node.name),
      (out) => !out,
      120_000,
    );
    expect((await live.settled(job)).map(({ outcome }) => outcome)).toEqual(['restarted']);
    expect(asked.map(({ path, node: named }) => [path, named])).toEqual([
      ['/reset', node.name],
      ['/reboot', node.name],
    ]);
    expect(new Set(asked.map(({ operation }) => operation)).size).toBe(2);
    const { code, stdout } = await live.runCli('node', 'history', node.name, '--output', 'json');
    expect(code).toBe(0);
    const [told] = JSON.parse(stdout) as Told[];
    expect(told).toMatchObject({ outcome: 'released', endedBecause: expect.stringContaining('cured by reboot') });
    expect(told?.remediations?.map(({ rung, outcome }) => [rung, outcome])).toEqual([
      ['reset', 'failed'],
      ['reboot', 'cured'],
    ]);
  });
});

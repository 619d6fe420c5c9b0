/** The life of a node that breaks, is repaired by hooks and returns, with every role and a server of hooks. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { quarantineTaintKey } from '../../contract/ids.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu, reboot } from '../../testbed/failures.ts';
import { type HookServer, startHookServer } from '../../testbed/hook-server.ts';
import { grantRepair } from '../../testbed/rights.ts';
import { LiveKcover, quick, xid79 } from '../support/live-kcover.ts';
import { eventually, testServers } from '../support/rig.ts';

let live: LiveKcover;
let hooks: HookServer;

beforeAll(async () => {
  hooks = await startHookServer();
  const { workflowBundle } = testServers();
  const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  await grantRepair(cluster);
  live = await LiveKcover.start(cluster, {
    workflowBundle,
    workerSettings: {
      ...quick,
      quarantine: { ...quick.quarantine, storm: { nodes: 100 } },
      remediation: {
        mode: 'run',
        probation: '1s',
        // Other tests have broken the same nodes.
        memory: { incidents: 100 },
        hooks: {
          reset: { kind: 'http', url: `${hooks.url}/reset` },
          reboot: { kind: 'http', url: `${hooks.url}/reboot` },
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
  await hooks?.close();
}, 120_000);

const isOut = async (name: string): Promise<boolean> =>
  ((await live.cluster.api.core.readNode({ name })).spec?.taints ?? []).some(({ key }) => key === quarantineTaintKey);

interface Quarantine {
  readonly outcome: string;
  readonly endedBecause: string | null;
  readonly remediations?: readonly { readonly rung: string; readonly outcome: string }[];
}

describe('a node whose GPU breaks', () => {
  it('is repaired rung by rung, tested, watched and released, and its job runs on elsewhere meanwhile', async () => {
    const job = await live.pytorch();
    const node = job.nodes.at(-1);
    if (!node) throw new Error('the job runs nowhere');
    hooks.agree('reset', { worksMs: 0, answer: { verdict: 'failed', because: 'the GPU is off the bus' } });
    hooks.agree('reboot', {
      worksMs: 0,
      act: () => reboot(live.cluster.api, node),
      answer: { verdict: 'passed', because: 'it was quarantine to' },
    });
    await breakGpu(node, xid79);
    await eventually(
      () => isOut(node.name),
      (out) => out,
      60_000,
    );
    // What it waits for is the message of a failure.
    await eventually(
      async () => ((await isOut(node.name)) ? (await live.runCli('node', 'list')).stdout : 'released'),
      (seen) => seen === 'released',
      120_000,
    );
    expect((await live.settled(job)).map(({ outcome }) => outcome)).toEqual(['restarted']);
    expect(hooks.asked.map(({ hook, node: named }) => [hook, named])).toEqual([
      ['reset', node.name],
      ['reboot', node.name],
    ]);
    expect(new Set(hooks.asked.map(({ operation }) => operation)).size).toBe(2);
    const { code, stdout } = await live.runCli('node', 'history', node.name, '--output', 'json');
    expect(code).toBe(0);
    const [quarantine] = JSON.parse(stdout) as Quarantine[];
    expect(quarantine).toMatchObject({ outcome: 'released', endedBecause: expect.stringContaining('cured by reboot') });
    expect(quarantine?.remediations?.map(({ rung, outcome }) => [rung, outcome])).toEqual([
      ['reset', 'failed'],
      ['reboot', 'cured'],
    ]);
  });
});

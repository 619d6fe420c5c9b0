/** Uninstalling kcover: nodes are released by their workflows, and remaining marks are cleared without workers and without Temporal. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { annotations, quarantineTaintKey } from '../../contract/ids.ts';
import { breakGpu } from '../../testbed/failures.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { startTestCluster, type TestCluster } from '../../testbed/test-cluster.ts';
import { kcover } from '../cli/kcover.ts';
import { LiveKcover, quick, xid79 } from '../support/live-kcover.ts';
import { eventually, testServers } from '../support/rig.ts';

const theirs = { key: 'example.com/maintenance', value: 'x', effect: 'NoSchedule' };
const because = ['--reason', 'kcover is uninstalled'];

let cluster: TestCluster;
let live: LiveKcover;
let broken: SimulatedNode;
let chosen: SimulatedNode;

// Servers of its own, because every node is released.
beforeAll(async () => {
  cluster = await startTestCluster({ nodes: 3 });
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(cluster, {
    workflowBundle,
    workerSettings: { ...quick, quarantine: { ...quick.quarantine, cordon: true } },
  });
  [broken, chosen] = cluster.nodes as [SimulatedNode, SimulatedNode];
}, 300_000);
afterAll(async () => {
  await live?.close();
  await cluster?.stop();
});

const nodeNow = (name: string) => cluster.api.core.readNode({ name });
const annotationsOn = async ({ name }: SimulatedNode) =>
  Object.keys((await nodeNow(name)).metadata?.annotations ?? {})
    .filter((key) => key.startsWith('kcover.io/'))
    .toSorted();
const taintsOn = async ({ name }: SimulatedNode) => ((await nodeNow(name)).spec?.taints ?? []).map(({ key }) => key);
const isOut = (node: SimulatedNode) =>
  eventually(
    () => taintsOn(node),
    (keys) => keys.includes(quarantineTaintKey),
    60_000,
  );

async function rowsOf(
  ...args: readonly string[]
): Promise<readonly { readonly node: string; readonly outcome: string }[]> {
  const { code, stdout, stderr } = await live.runCli('node', 'release', ...args, ...because, '--output', 'json');
  if (code !== 0) throw new Error(stderr);
  return (JSON.parse(stdout) as { node: string; outcome: string }[]).map(({ node, outcome }) => ({ node, outcome }));
}

async function quarantineBoth(): Promise<void> {
  await breakGpu(broken, xid79);
  expect(await live.runCli('node', 'quarantine', chosen.name, '--reason', 'fan is loud')).toMatchObject({ code: 0 });
  await Promise.all([broken, chosen].map(isOut));
}

describe('kcover node release of many nodes', () => {
  it('lists what it would release, and changes nothing', async () => {
    await quarantineBoth();
    expect(await rowsOf('--all', '--dry-run')).toEqual(
      [broken, chosen].map(({ name }) => ({ node: name, outcome: 'would be released' })),
    );
    await Promise.all([broken, chosen].map(isOut));
  });

  it('releases all quarantined nodes through their workflows, and keeps the judged marks', async () => {
    expect(await rowsOf('--all')).toEqual([broken, chosen].map(({ name }) => ({ node: name, outcome: 'released' })));
    expect(await Promise.all([broken, chosen].map(taintsOn))).toEqual([[], []]);
    expect(await annotationsOn(broken)).toEqual([
      annotations.faultHistory,
      annotations.judged,
      annotations.judgedState,
    ]);
    expect(await rowsOf('--all')).toEqual([]);
  });

  it('releases by cause, and leaves a node with another cause', async () => {
    await quarantineBoth();
    expect(await rowsOf('--selector', `kubernetes.io/hostname=${broken.name}`, '--dry-run')).toEqual([
      { node: broken.name, outcome: 'would be released' },
    ]);
    expect(await rowsOf('--cause', 'xid/79')).toEqual([{ node: broken.name, outcome: 'released' }]);
    expect(await taintsOn(broken)).toEqual([]);
    expect(await taintsOn(chosen)).toContain(quarantineTaintKey);
    expect(await rowsOf(chosen.name, '--dry-run')).toEqual([{ node: chosen.name, outcome: 'would be released' }]);
  });

  it('clears all marks of kcover from every node after an uninstall, without workers and Temporal, and keeps those of others', async () => {
    expect(await live.runCli('node', 'quarantine', chosen.name, '--reason', 'fan is loud')).toMatchObject({ code: 0 });
    await isOut(chosen);
    const { spec } = await nodeNow(chosen.name);
    expect(spec?.unschedulable).toBe(true);
    const taints = [...(spec?.taints ?? []), theirs];
    await cluster.api.core.replaceNode({
      name: chosen.name,
      body: { ...(await nodeNow(chosen.name)), spec: { ...spec, taints } },
    });
    await live.kcover.stop();

    const environment = { KUBECONFIG: cluster.kubernetes.kubeconfig, TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const { code, stdout } = await kcover(['node', 'release', '--all', '--owner-only', ...because], '', environment);

    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(chosen.name) });
    expect((await Promise.all(cluster.nodes.map(annotationsOn))).flat()).toEqual([]);
    expect(await taintsOn(chosen)).toEqual([theirs.key]);
    expect((await nodeNow(chosen.name)).spec?.unschedulable ?? false).toBe(false);
  });
});

describe('kcover node release', () => {
  it.each([
    ['a name and --all', ['gpu-0', '--all']],
    ['neither', []],
    ['two ways of choosing', ['--cause', 'xid/79', '--selector', 'rack=r7']],
    ['--owner-only without --all', ['gpu-0', '--owner-only']],
  ])('refuses %s', async (_, args) => {
    expect(await kcover(['node', 'release', ...args, ...because])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--all'),
    });
  });
});

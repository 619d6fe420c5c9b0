import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { parse } from 'yaml';
import { clusterUid, connectKube } from '../../kube/client/connection.ts';
import { job, kernelFault } from '../support/builders.ts';
import { eventually, testServers, type TestServers } from '../support/rig.ts';
import { answerOf, serverEnvironment } from './live.ts';

/** One server with two namespaces of Temporal stands for two clusters with a Temporal each. */
const run = randomUUID().slice(0, 8);
const names = { east: `east-${run}`, west: `west-${run}` };
const context = `east,west=western,gone`;

interface Row {
  readonly cluster: string;
  readonly incident?: string;
  readonly error?: { readonly code: string };
}

let connection: Connection;
let directory = '';
let where: Readonly<Record<string, string>> = {};
const clientOf = (namespace: string) => new Client({ connection, namespace });

/** No worker runs it: what is listed of an open incident stands in its first event. */
async function begin(namespace: string, name: string): Promise<string> {
  const workflowId = `recovery/train/${name}/uid-${name}/2026-11-21T07:09:03.117Z`;
  const start = () =>
    clientOf(namespace).workflow.start('recovery', {
      workflowId,
      taskQueue: `none-${run}`,
      args: [{ job: { ...job, name }, faults: [kernelFault({ node: 'gpu-1' })] }],
    });
  // A namespace can be used a moment after it was registered.
  await eventually(
    () => start().catch(() => undefined),
    (handle) => handle !== undefined,
    60_000,
  );
  return workflowId;
}

const serves = (namespace: string, uid: string) =>
  clientOf(namespace).workflow.start('cluster', {
    workflowId: 'cluster',
    taskQueue: `none-${run}`,
    args: [{ clusterUid: uid }],
  });

beforeAll(async () => {
  const { kubeconfig, temporalAddress } = testServers<TestServers & { readonly kubeconfig: string }>();
  connection = await Connection.connect({ address: temporalAddress });
  for (const namespace of Object.values(names))
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
    });
  directory = await mkdtemp(join(tmpdir(), 'kcover-clusters-'));
  const profiles = join(directory, 'temporal.toml');
  const profile = (name: string, address: string, namespace: string) =>
    `[profile.${name}]\naddress = "${address}"\nnamespace = "${namespace}"\n`;
  await writeFile(
    profiles,
    profile('east', temporalAddress, names.east) +
      profile('western', temporalAddress, names.west) +
      profile('gone', '127.0.0.1:1', 'x'),
  );
  const config = parse(await readFile(kubeconfig, 'utf8')) as { contexts: { name: string; context: object }[] };
  const [{ context: first } = { context: {} }] = config.contexts;
  const contexts = ['east', 'west', 'gone'].map((name) => ({ name, context: first }));
  await writeFile(join(directory, 'kubeconfig'), JSON.stringify({ ...config, contexts }));
  where = serverEnvironment({ TEMPORAL_CONFIG_FILE: profiles, KUBECONFIG: join(directory, 'kubeconfig') });
});

afterAll(async () => {
  for (const namespace of Object.values(names))
    for await (const { workflowId } of clientOf(namespace).workflow.list())
      await clientOf(namespace)
        .workflow.getHandle(workflowId)
        .terminate('the test is over')
        .catch(() => undefined);
  await connection.close();
  await rm(directory, { recursive: true });
});

describe('several clusters in one view', () => {
  it('lists the incidents of each, and says which one did not answer', async () => {
    const begun = { east: await begin(names.east, 'llm'), west: await begin(names.west, 'moe') };
    const { code, data } = await eventually(
      () => answerOf<Row[]>(['incidents', '--context', context], where),
      ({ data: rows }) => rows.length === 3,
      60_000,
    );
    expect(data).toEqual([
      expect.objectContaining({ cluster: 'east', incident: begun.east, outcome: 'open' }),
      expect.objectContaining({ cluster: 'west', incident: begun.west, outcome: 'open' }),
      {
        cluster: 'gone',
        error: {
          code: 'temporal.unreachable',
          what: expect.any(String),
          because: expect.any(String),
          try: expect.any(String),
        },
      },
    ]);
    expect(code).toBe(5);
  });

  it('lists no node where the profile belongs to another cluster', async () => {
    const kube = connectKube({ kubeconfig: join(directory, 'kubeconfig'), context: 'east' });
    await serves(names.east, await clusterUid(kube));
    await kube.close();
    await serves(names.west, 'uid-of-another-cluster');
    const { code, data } = await answerOf<Row[]>(['node', 'list', '--context', context], where);
    expect(data.flatMap(({ cluster, error }) => (error ? [[cluster, error.code]] : []))).toEqual([
      ['west', 'cluster.other'],
      ['gone', 'temporal.unreachable'],
    ]);
    expect(code).toBe(5);
  });
});

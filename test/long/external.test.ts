import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, fetch } from 'undici';
import { nodeWorkflowId } from '../../contract/ids.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, quick, shortLease } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

const token = randomUUID();
let live: LiveKcover;
let directory: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'kcover-external-'));
  const tokenFile = join(directory, 'prometheus');
  writeFileSync(tokenFile, token);
  const sender = { name: 'prometheus', tokenFile, codes: ['Gpu*'], actionOf: { GpuLost: 'contact-support' } };
  const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  live = await LiveKcover.start(cluster, {
    workflowBundle: testServers().workflowBundle,
    workerSettings: quick,
    controllerSettings: { ...shortLease, external: { senders: [sender] } },
  });
});
afterEach(() => live?.clear(), 120_000);
afterAll(async () => {
  await live?.close();
  rmSync(directory, { recursive: true });
}, 120_000);

async function post(path: string, body: object, bearer = token): Promise<{ status: number; body: unknown }> {
  const dispatcher = new Agent({ connect: { ca: readFileSync(live.kcover.authority) } });
  const answer = await fetch(`${live.kcover.intakeUrl}${path}`, {
    method: 'POST',
    dispatcher,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
    body: JSON.stringify(body),
  });
  const result = { status: answer.status, body: await answer.json() };
  await dispatcher.close();
  return result;
}

const firing = (node: SimulatedNode, alertname: string, startsAt = new Date().toISOString()) => ({
  version: '4',
  status: 'firing',
  alerts: [
    {
      status: 'firing',
      labels: { alertname, node: node.name },
      annotations: { summary: 'a GPU has been gone for a minute' },
      startsAt,
      endsAt: '0001-01-01T00:00:00Z',
    },
  ],
});

function lastNodeOf(job: LiveJob): SimulatedNode {
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} has no pod on a node`);
  return node;
}

describe('a fault that another program reports', () => {
  it('gets the node quarantined and the whole job restarted elsewhere, once for all repeats', async () => {
    const job = await live.pytorch({ workers: 2 });
    const node = lastNodeOf(job);
    const alert = firing(node, 'GpuLost');
    expect(await post('/v1/external/alertmanager', alert)).toMatchObject({ status: 202, body: { accepted: 1 } });
    expect(await post('/v1/external/alertmanager', alert)).toMatchObject({ status: 202, body: { repeated: 1 } });
    await live.quarantined(node);
    const records = await live.settled(job);
    expect(violations(await live.facts(job))).toEqual([]);
    expect(records).toMatchObject([{ outcome: 'restarted', stops: [{}] }]);
    expect(records[0]?.faults).toMatchObject([
      {
        source: 'external',
        code: 'external/GpuLost',
        node: node.name,
        message: 'prometheus (alertmanager): a GPU has been gone for a minute',
      },
    ]);
  });

  it('without an action only gets a warning, and one that is old or unauthenticated nothing at all', async () => {
    const job = await live.pytorch();
    const node = lastNodeOf(job);
    const before = await live.revisionOf(nodeWorkflowId(node.name));
    expect(await post('/v1/external/alertmanager', firing(node, 'GpuLost'), randomUUID())).toMatchObject({
      status: 401,
    });
    expect(await post('/v1/external/alertmanager', firing(node, 'GpuLost', '2026-01-01T00:00:00Z'))).toMatchObject({
      status: 202,
      body: { accepted: 0, history: 1 },
    });
    expect(await live.revisionOf(nodeWorkflowId(node.name))).toBe(before);
    const report = { source: 'site', node: node.name, code: 'GpuHot', action: 'reboot', state: 'once', text: '95 C' };
    const answer = await post('/v1/external', { ...report, at: new Date().toISOString() });
    expect(answer).toMatchObject({ status: 202, body: { accepted: 1 } });
    const event = await live.event({ name: node.name, uid: node.uid }, 'FaultObserved', /external\/GpuHot/);
    expect([event.type, event.message]).toEqual([
      'Warning',
      expect.stringContaining('asks for reboot, which it may not'),
    ]);
    expect(live.recorder.isQuarantined(node.name)).toBe(false);
    expect(live.records(job)).toEqual([]);
  });
});

describe('a fault that a person reports', () => {
  it('quarantines the node by its action, and nothing is released when somebody says that it is over', async () => {
    const job = await live.pytorch();
    const node = lastNodeOf(job);
    const about = [node.name, '--code', 'gpu-lost', '--device', '0000:5d:00', '--output', 'json'];
    const action = ['--action', 'contact-support'];
    const reported = await live.runCli('fault', 'report', ...about, ...action, '--reason', 'not in lspci');
    expect(JSON.parse(reported.stdout)).toMatchObject({
      node: node.name,
      fault: { code: 'external/gpu-lost', device: '0000:5d:00', action: 'contact-support' },
      phase: 'quarantined',
    });
    expect((await live.settled(job))[0]).toMatchObject({ outcome: 'restarted' });
    // A workflow accepts the alert of its sender, too.
    await post('/v1/external', {
      source: 'site',
      node: node.name,
      code: 'Gpu-lost',
      state: 'recover',
      at: new Date().toISOString(),
      text: 'fine again',
    });
    const cleared = await live.runCli('fault', 'clear', ...about, '--reason', 'reseated');
    expect(JSON.parse(cleared.stdout)).toMatchObject({ phase: 'quarantined', released: false });
    const event = await live.event({ name: node.name, uid: node.uid }, 'FaultObserved', /gpu-lost.*is over: reseated/);
    expect(event.type).toBe('Normal');
    expect(live.recorder.isQuarantined(node.name)).toBe(true);
  });

  it('needs a node that exists and a code, and one that is over needs a node that kcover looks after', async () => {
    const said = (command: string, node: string, code: string) =>
      live.runCli('fault', command, node, '--code', code, '--reason', 'fan is loud');
    const open = await Promise.all(live.cluster.nodes.map(({ name }) => live.isOpen(nodeWorkflowId(name))));
    const unknown = live.cluster.nodes.find((_, index) => open[index] === false)?.name ?? '';
    expect(await said('report', 'gpu-none', 'fan')).toMatchObject({ code: 4 });
    expect(await said('report', unknown, 'fan is loud')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--code has letters'),
    });
    expect(await said('clear', unknown, 'fan')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('kcover knows no fault of this node'),
    });
    expect(await live.isOpen(nodeWorkflowId(unknown))).toBe(false);
  });
});

import { describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { remedyId } from '../../contract/ids.ts';
import type { HookResult, RemedyOutcome, RemedyStatus } from '../../contract/remedy/remedy.ts';
import { nodeView, settings } from '../support/builders.ts';
import type { FakeCluster } from '../support/fake-cluster.ts';
import { useNodeRig } from '../support/node-rig.ts';
import { eventually, type Rig } from '../support/rig.ts';

let cluster: FakeCluster;
let rig: Rig;
let node: string;
const { fault, send, status, released, started } = useNodeRig((current) => ({ cluster, rig, node } = current));

const gpu = {
  name: 'gpu',
  codes: ['xid/*'],
  rungs: [
    { hook: 'reset', attempts: 1, proof: ['result'], verify: 'diag' },
    { hook: 'reboot', attempts: 1, proof: ['rebooted', 'ready'], verify: 'diag' },
  ],
};
const command = { kind: 'command', command: ['/bin/true'] };
const repairing = (more: object = {}, ladder: object = {}) =>
  settings({
    mode: 'act',
    remediation: {
      mode: 'run',
      hooks: { reset: command, reboot: command, diag: command },
      ladders: [{ ...gpu, ...ladder }],
      probation: '50ms',
      ...more,
    },
  });

const by =
  (verdicts: Readonly<Record<string, HookResult['verdict']>>) =>
  ({ hook }: { readonly hook: string }): HookResult => ({
    verdict: verdicts[hook] ?? 'passed',
    because: `${hook} ended`,
  });

/** The repair of the node in its present quarantine. */
async function remedyOf(handle: WorkflowHandle): Promise<WorkflowHandle> {
  const { incident = '' } = await eventually(
    () => status(handle),
    (seen) => seen.remedy !== undefined,
  );
  const workflowId = remedyId(node, incident);
  started.push(workflowId);
  const remedy = rig.client.workflow.getHandle(workflowId);
  await eventually(
    () => phaseOf(remedy).catch(() => 'not started'),
    (seen) => seen !== 'not started',
  );
  return remedy;
}
const phaseOf = async (remedy: WorkflowHandle): Promise<string> => (await remedy.query<RemedyStatus>('status')).phase;
const isIn = (remedy: WorkflowHandle, phase: string) =>
  eventually(
    () => phaseOf(remedy),
    (seen) => seen === phase,
  );
const hooksRun = () => cluster.remedies.hooks.map(({ hook }) => hook);
const outcomeOf = (remedy: WorkflowHandle) => remedy.result() as Promise<RemedyOutcome>;

describe('the repair of a quarantined node', () => {
  it('goes to the next rung when one fails, and releases the node by itself where the settings say so', async () => {
    cluster.settings = repairing({}, { release: 'verified' });
    cluster.remedies.hook = by({ reset: 'failed' });
    const handle = await send(fault());
    const remedy = await remedyOf(handle);
    expect(await outcomeOf(remedy)).toMatchObject({
      outcome: 'cured',
      because: 'cured by reboot: the boot id changed, and the node is ready; diag: diag ended; its probation is over',
      remediations: [
        { rung: 'reset', attempt: 1, outcome: 'failed' },
        { rung: 'reboot', attempt: 1, outcome: 'cured' },
      ],
    });
    expect(await handle.result()).toMatchObject({
      outcome: 'released',
      because: expect.stringMatching(/^kcover: cured by reboot: .*; diag: diag ended; its probation is over$/),
    });
    expect(cluster.nodes.get(node)?.taint).toBeUndefined();
    expect(cluster.remedies.asked).toEqual([
      'permit granted',
      'look',
      'hook reset',
      'permit granted',
      'look',
      'hook reboot',
      'proof',
      'permit granted',
      'look',
      'hook diag',
      'look',
    ]);
    expect(new Set(cluster.remedies.hooks.map(({ operation }) => operation)).size).toBe(3);
    expect(cluster.nodeRecords.at(-1)).toMatchObject({
      remediations: [{ outcome: 'failed' }, { outcome: 'cured' }],
      remedy: { outcome: 'cured' },
      ended: { outcome: 'released' },
    });
    expect(cluster.reasons()).toEqual(expect.arrayContaining(['NodeRemediating', 'NodeRemedyEnded', 'NodeReleased']));
  });

  it('leaves a cured node to a person by default, and names the command', async () => {
    cluster.settings = repairing();
    const handle = await send(fault());
    const remedy = await remedyOf(handle);
    expect(await outcomeOf(remedy)).toMatchObject({ outcome: 'cured' });
    await eventually(
      () => status(handle),
      (seen) => seen.remedy?.outcome === 'cured',
    );
    expect(await status(handle)).toMatchObject({ phase: 'quarantined', waitingFor: `kcover node release ${node}` });
    expect(cluster.announced.findLast(({ reason }) => reason === 'NodeRemedyEnded')?.message).toContain(
      `kcover node release ${node} --reason "..."`,
    );
    expect(await released(handle)).toMatchObject({ outcome: 'released', because: 'ada: replaced the card' });
  });

  it('acts on nothing while it is not permitted, and on a released node never again', async () => {
    cluster.settings = repairing();
    cluster.remedies.permit = { kind: 'refused', because: 'paused by ada: network work', askAgainMs: 60_000 };
    const handle = await send(fault());
    const remedy = await remedyOf(handle);
    await isIn(remedy, 'waiting');
    await eventually(
      () => status(handle),
      (seen) => seen.remedy?.phase === 'waiting',
    );
    expect(await status(handle)).toMatchObject({
      phase: 'quarantined',
      remedy: { because: 'held: paused by ada: network work' },
    });
    const running = Promise.withResolvers<HookResult>();
    cluster.remedies.hook = () => running.promise;
    cluster.remedies.permit = { kind: 'granted' };
    await remedy.signal('recheck');
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'remediating',
    );
    await eventually(hooksRun, (hooks) => hooks.length === 1);
    // The hook is no longer awaited.
    await handle.executeUpdate('release', { args: [{ by: 'ada', reason: 'a false positive' }] });
    expect(await outcomeOf(remedy)).toMatchObject({
      outcome: 'cancelled',
      because: 'released by ada: a false positive',
      remediations: [{ rung: 'reset', outcome: 'unknown' }],
    });
    expect(await handle.result()).toMatchObject({ outcome: 'released', because: 'ada: a false positive' });
    running.resolve({ verdict: 'passed', because: 'too late' });
    expect(hooksRun()).toEqual(['reset']);
  });

  it('does nothing to a node whose taint somebody removed without kcover', async () => {
    cluster.settings = repairing();
    cluster.remedies.permit = { kind: 'refused', because: 'paused', askAgainMs: 60_000 };
    const handle = await send(fault());
    const remedy = await remedyOf(handle);
    await isIn(remedy, 'waiting');
    const { taint: _, ...bare } = cluster.nodes.get(node) ?? nodeView();
    cluster.nodes.set(node, bare);
    cluster.remedies.permit = { kind: 'granted' };
    await remedy.signal('recheck');
    expect(await outcomeOf(remedy)).toMatchObject({
      outcome: 'cancelled',
      because: 'the node is no longer quarantined by kcover',
    });
    expect(hooksRun()).toEqual([]);
    await handle.signal('nodeObserved', { quarantinedByUs: false });
    await handle.result();
  });

  it('takes a hardware fault in probation for a relapse, and goes one rung higher', async () => {
    cluster.settings = repairing({ probation: '1h' });
    const handle = await send(fault());
    const remedy = await remedyOf(handle);
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'probation' && seen.until !== undefined,
    );
    await send(
      fault({
        id: 'kernel/boot-1/101',
        kernel: { bootId: 'boot-1', sequence: 101 },
        seenAt: new Date(Date.now() + 1000).toISOString(),
      }),
    );
    const { remediations } = await eventually(
      () => remedy.query<RemedyStatus>('status'),
      (seen) => seen.phase === 'probation' && seen.remediations.length > 0,
    );
    expect(remediations).toMatchObject([{ rung: 'reset', outcome: 'relapsed' }]);
    expect(hooksRun()).toEqual(['reset', 'diag', 'reboot', 'diag']);
    await released(handle);
    expect(await outcomeOf(remedy)).toMatchObject({ outcome: 'cancelled' });
  });

  it('asks a person when every rung was tried, and never repeats a hook whose result is unknown', async () => {
    cluster.settings = repairing({}, { rungs: [{ ...gpu.rungs[0], attempts: 3 }, gpu.rungs[1]] });
    cluster.remedies.hook = by({ reset: 'unknown', diag: 'failed' });
    const handle = await send(fault());
    const remedy = await remedyOf(handle);
    expect(await outcomeOf(remedy)).toMatchObject({
      outcome: 'exhausted',
      remediations: [
        { rung: 'reset', outcome: 'unknown' },
        { rung: 'reboot', outcome: 'not-verified' },
      ],
    });
    expect(hooksRun()).toEqual(['reset', 'reboot', 'diag']);
    expect(cluster.announced.findLast(({ reason }) => reason === 'NodeRemedyEnded')).toMatchObject({
      type: 'Warning',
      message: expect.stringContaining('a person must repair or replace the machine'),
    });
    await released(handle);
  });

  it('retires a machine that has failed too often, without touching it', async () => {
    cluster.settings = repairing();
    cluster.remedies.earlier = [`node/${node}/2026-11-01T00:00:00.000Z`, 'node/another-name/2026-11-11T00:00:00.000Z'];
    const handle = await send(fault({ device: 'GPU-5d1c3a3e-0000-0000-0000-000000000001' }));
    const remedy = await remedyOf(handle);
    expect(await outcomeOf(remedy)).toMatchObject({ outcome: 'retired', remediations: [] });
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'retired',
    );
    expect(cluster.remedies.asked).toEqual([]);
    expect(cluster.remedies.recalled).toMatchObject([
      { systemUuid: `machine-${node}`, gpus: ['GPU-5d1c3a3e-0000-0000-0000-000000000001'] },
    ]);
    await eventually(
      () => cluster.nodeRecords.at(-1)?.remedy?.outcome,
      (outcome) => outcome === 'retired',
    );
    await handle.executeUpdate('release', { args: [{ by: 'ada', reason: 'replaced' }] });
    await handle.result();
  });

  it('is cancelled when the node object is gone, and when another one of the same machine takes its name', async () => {
    cluster.settings = repairing({ probation: '1h' });
    const handle = await send(fault());
    const remedy = await remedyOf(handle);
    await isIn(remedy, 'probation');
    cluster.nodes.set(node, nodeView({ name: node, uid: 'new-uid', systemUuid: `machine-${node}` }));
    await handle.signal('nodeObserved', { quarantinedByUs: false });
    expect(await outcomeOf(remedy)).toMatchObject({ outcome: 'cancelled' });
    // The machine is quarantined again, and a person repairs it.
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined' && seen.uid === 'new-uid',
    );
    expect((await status(handle)).remedy).toBeUndefined();
    await released(handle);
  });

  it('evicts other workloads first where the settings say so, and does nothing when they stay', async () => {
    cluster.settings = repairing({ drain: '1m' });
    cluster.remedies.drain = () => ({
      outcome: 'blocked',
      because: 'the PodDisruptionBudget db allows no eviction',
      evicted: 0,
      remaining: ['team-a/db-0'],
    });
    const handle = await send(fault());
    const remedy = await remedyOf(handle);
    for (let blocked = 1; blocked <= 6; blocked++) {
      const drains = () => cluster.remedies.asked.filter((one) => one === 'drain').length;
      await eventually(drains, (count) => count === blocked);
      if (blocked < 6) {
        await isIn(remedy, 'waiting');
        await remedy.signal('recheck');
      }
    }
    expect(await outcomeOf(remedy)).toMatchObject({
      outcome: 'exhausted',
      because: expect.stringContaining('the PodDisruptionBudget db'),
    });
    expect(hooksRun()).toEqual([]);
    await released(handle);
  });

  it('is not begun for a quarantine by a person, for a question, or where the settings repair nothing', async () => {
    cluster.settings = repairing();
    const handle = await send();
    await handle.signal('quarantine', { by: 'ada', reason: 'fan is loud' });
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.faults.length === 1,
    );
    expect((await status(handle)).remedy).toBeUndefined();
    await released(handle);
    expect(cluster.remedies.recalled).toEqual([]);
  });

  it('ends when its own workflow is cancelled, and its node knows', async () => {
    cluster.settings = repairing({ probation: '1h' });
    const handle = await send(fault());
    const remedy = await remedyOf(handle);
    await isIn(remedy, 'probation');
    await remedy.cancel();
    expect(await outcomeOf(remedy)).toMatchObject({ outcome: 'cancelled' });
    await eventually(
      () => status(handle),
      (seen) => seen.remedy?.outcome === 'cancelled',
    );
    await released(handle);
  });
});

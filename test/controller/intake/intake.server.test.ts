import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { nodeWorkflowId } from '../../../contract/ids.ts';
import { authenticator } from '../../../controller/intake/authenticate.ts';
import { connectKube, type Kube } from '../../../kube/client/connection.ts';
import { readLivePod, reviewToken } from '../../../kube/client/tokens.ts';
import { ownNamespace } from '../../../kube/permissions.ts';
import { agentAccount, agentAudience, agentNamespace } from '../../../testbed/agents.ts';
import { merge } from '../../../testbed/api.ts';
import { attachTestCluster } from '../../../testbed/attach.ts';
import { readWrites } from '../../../testbed/audit.ts';
import { podToken } from '../../../testbed/tokens.ts';
import { until } from '../../../testbed/until.ts';
import { type HttpAnswer, batch, bootId, kernelFault, LiveController, run } from '../live-controller.ts';

let rig: LiveController;

beforeAll(async () => {
  rig = await LiveController.open();
});
afterAll(() => rig?.close());

describe('the intake', () => {
  it('answers 202 when Temporal has the faults, and a repeat has no effect', async () => {
    const { node } = await rig.agentOf(0);
    const token = await rig.tokenOf(0);
    expect(await rig.post(batch(node, [1, 2]), token)).toMatchObject({
      status: 202,
      body: { accepted: 2, follow: expect.any(Array) },
    });
    const before = await rig.signalsOf(nodeWorkflowId(node));
    expect(before).toEqual(expect.arrayContaining([`kernel/${bootId}/1`, `kernel/${bootId}/2`]));
    expect(await rig.post(batch(node, [1, 2]), token)).toMatchObject({
      status: 202,
      body: { accepted: 2, follow: expect.any(Array) },
    });
    expect(await rig.signalsOf(nodeWorkflowId(node))).toEqual(before);
    expect(await rig.post(batch(node, [2, 3]), token)).toMatchObject({
      status: 202,
      body: { accepted: 3, follow: expect.any(Array) },
    });
    expect(await rig.signalsOf(nodeWorkflowId(node))).toEqual([...before, `kernel/${bootId}/3`]);
  });

  it('accepts a heartbeat without starting anything', async () => {
    const { node } = await rig.agentOf(1);
    expect(await rig.post(batch(node, []), await rig.tokenOf(1))).toMatchObject({
      status: 202,
      body: { accepted: 0, follow: expect.any(Array) },
    });
    expect(await rig.metrics.getSingleMetricAsString('kcover_agents_live')).toMatch(/kcover_agents_live [1-9]/);
  });

  it('overwrites the node that a fault names', async () => {
    const { node } = await rig.agentOf(1);
    const fault = { ...kernelFault(7), node: 'another' };
    expect(
      await rig.post(batch(node, [], { stream: `${run}-liar`, reports: [{ seq: 1, fault }] }), await rig.tokenOf(1)),
    ).toMatchObject({ status: 202 });
    const { events } = await rig.temporal.workflow.getHandle(nodeWorkflowId(node)).fetchHistory();
    const payloads = (events ?? []).flatMap(
      ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.input?.payloads ?? [],
    );
    expect(payloads.map(({ data }) => Buffer.from(data ?? []).toString()).join()).not.toContain('another');
  });

  it.each<[string, number, string, () => Promise<HttpAnswer>]>([
    [
      'refuses a batch of another node',
      403,
      'other-node',
      async () => rig.post(batch((await rig.agentOf(1)).node, [1]), await rig.tokenOf(0)),
    ],
    [
      'refuses a pod of another account',
      403,
      'other-account',
      async () => rig.post(batch((await rig.agentOf(0)).node, [1]), await otherToken()),
    ],
    [
      'does not know a token of another audience',
      401,
      'unauthenticated',
      async () =>
        rig.post(
          batch((await rig.agentOf(0)).node, [1]),
          await rig.tokenOf(0, agentAccount, 'https://kubernetes.default.svc'),
        ),
    ],
    ['rejects a request without a token', 401, 'unauthenticated', () => rig.post(batch('gpu', [1]), undefined)],
    ['rejects a forged token', 401, 'unauthenticated', () => rig.post(batch('gpu', [1]), 'eyJhbGciOiJub25lIn0.e30.')],
    ['refuses what is no batch', 400, 'malformed', async () => rig.post({ schema: 1 }, await rig.tokenOf(0))],
    ['refuses what is no JSON', 400, 'malformed', async () => rig.post('{"schema":', await rig.tokenOf(0))],
    [
      'refuses a fault whose id is not its position in the kernel log',
      400,
      'malformed',
      async () =>
        rig.post(
          batch((await rig.agentOf(0)).node, [], {
            reports: [{ seq: 1, fault: { ...kernelFault(1), id: 'kernel/other/1' } }],
          }),
          await rig.tokenOf(0),
        ),
    ],
    [
      'refuses more than a request may have',
      413,
      'too-large',
      async () => rig.post(JSON.stringify({ filler: 'x'.repeat(1024 * 1024) }), await rig.tokenOf(0)),
    ],
  ])('%s', async (_sentence, status, error, act) => {
    expect(await act()).toEqual({ status, body: { error, because: expect.any(String) } });
    expect(await rig.metrics.getSingleMetricAsString('kcover_intake_rejected_total')).toContain(`reason="${error}"`);
  });

  async function otherToken(): Promise<string> {
    const name = `agent-like-${run}`;
    const { node } = await rig.agentOf(0);
    await rig.api.core.createNamespacedServiceAccount({ namespace: agentNamespace, body: { metadata: { name } } });
    const body = {
      metadata: { name },
      spec: { nodeName: node, serviceAccountName: name, containers: [{ name: 'c', image: 'c' }] },
    };
    const { metadata } = await rig.api.core.createNamespacedPod({ namespace: agentNamespace, body });
    return podToken(rig.api, { namespace: agentNamespace, name, uid: metadata?.uid ?? '' }, name, agentAudience);
  }

  it('refuses the token of a pod that is gone', async () => {
    const { pod, node } = await rig.agentOf(2);
    const token = await rig.tokenOf(2);
    await rig.api.core.deleteNamespacedPod({ ...pod, gracePeriodSeconds: 0 });
    const answer = await rig.post(batch(node, [1]), token);
    expect([401, 403]).toContain(answer.status);
  });

  it('answers 503 as a standby, and takes over when the leader stops', async () => {
    const standby = await rig.start('second');
    try {
      const { node } = await rig.agentOf(0);
      expect(await rig.post(batch(node, [1]), await rig.tokenOf(0), standby)).toMatchObject({
        status: 503,
        body: { error: 'not-leading' },
      });
      await rig.controller.stop();
      await expect(rig.controller.stopped).resolves.toBe('stopped');
      await until('the standby leads', 60_000, async () =>
        standby.leading() ? { found: true } : { missing: 'not yet' },
      );
      expect(await rig.post(batch(node, [4]), await rig.tokenOf(0), standby)).toMatchObject({
        status: 202,
        body: { accepted: 4, follow: expect.any(Array) },
      });
    } finally {
      await standby.stop();
      await rig.startAgain('third');
    }
  });
});

describe('an attack by a client that can reach the intake', () => {
  const { kubernetes } = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  const reviewsSince = async (since: Date) =>
    (await readWrites(kubernetes.auditLog, since)).filter(({ resource }) => resource === 'tokenreviews').length;
  /** The same token with a forged signature. */
  const forged = (token: string, number: number) =>
    `${token.split('.').slice(0, 2).join('.')}.${Buffer.from(`forged ${number}`).toString('base64url')}`;
  let kube: Kube;
  beforeAll(() => {
    kube = connectKube({ kubeconfig: kubernetes.kubeconfig });
  });
  afterAll(() => kube.close());

  /** Like the intake's, with the API server's answers counted. */
  function counted() {
    const count = { inFlight: 0, most: 0, all: 0 };
    const authenticate = authenticator({
      audience: agentAudience,
      account: `${agentNamespace}/${agentAccount}`,
      now: () => performance.now(),
      cacheMs: 0,
      source: {
        async review(token) {
          count.all += 1;
          count.most = Math.max(count.most, (count.inFlight += 1));
          return reviewToken(kube, token, agentAudience).finally(() => (count.inFlight -= 1));
        },
        pod: (namespace, name) => readLivePod(kube, namespace, name),
      },
    });
    return { count, authenticate };
  }

  it('costs the API server nothing where it is no token at all', async () => {
    const since = new Date();
    for (let times = 0; times < 5; times++) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => rig.post(batch('gpu', [1]), `no-token-${times}-${index}`)),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    }
    expect(await reviewsSince(since)).toBe(0);
  });

  it('costs it one review for one token, good or forged, however often that is sent at once', async () => {
    const { count, authenticate } = counted();
    const token = await rig.tokenOf(0);
    const good = await Promise.all(Array.from({ length: 500 }, () => authenticate(`Bearer ${token}`, '10.0.0.1')));
    expect(new Set(good.map(({ kind }) => kind))).toEqual(new Set(['reporter']));
    expect(count.all).toBe(1);
    const bad = await Promise.all(
      Array.from({ length: 2000 }, () => authenticate(`Bearer ${forged(token, 0)}`, '10.0.0.1')),
    );
    expect(new Set(bad.map((answer) => (answer.kind === 'refused' ? answer.rejection : answer.kind)))).toEqual(
      new Set(['unauthenticated']),
    );
    expect(count.all).toBe(2);
  });

  it('has few reviews in flight for 2,000 forged tokens, and still accepts an agent', async () => {
    const { count, authenticate } = counted();
    const token = await rig.tokenOf(0);
    expect(await authenticate(`Bearer ${token}`, '10.0.0.1')).toMatchObject({ kind: 'reporter' });
    const since = new Date();
    const flood = Array.from({ length: 2000 }, (_, index) =>
      authenticate(`Bearer ${forged(token, index)}`, `10.1.0.${index % 200}`),
    );
    expect(await authenticate(`Bearer ${token}`, '10.0.0.1')).toMatchObject({ kind: 'reporter' });
    const rejections = (await Promise.all(flood)).map((answer) =>
      answer.kind === 'refused' ? answer.rejection : answer.kind,
    );
    expect(rejections.filter((rejection) => rejection === 'unauthenticated')).toHaveLength(12);
    expect(rejections.filter((rejection) => rejection === 'too-many')).toHaveLength(1988);
    expect(count.most).toBe(13);
    expect(await reviewsSince(since)).toBe(13);
  });
});

describe('a controller without an election', () => {
  it('leads at once, and writes no Lease and no label', async () => {
    const name = `alone-${run}`;
    const lease = { namespace: ownNamespace, name };
    await rig.api.core.createNamespacedPod({
      namespace: ownNamespace,
      body: { metadata: { name }, spec: { containers: [{ name: 'c', image: 'c' }] } },
    });
    const alone = await rig.start(name, new Registry(), { enabled: false, name });
    try {
      await until('it leads', 60_000, async () => (alone.leading() ? { found: true } : { missing: 'not yet' }));
      const { node } = await rig.agentOf(0);
      expect(await rig.post(batch(node, []), await rig.tokenOf(0), alone)).toMatchObject({ status: 202 });
      await expect(rig.api.coordination.readNamespacedLease(lease)).rejects.toMatchObject({ code: 404 });
      expect((await rig.api.core.readNamespacedPod(lease)).metadata?.labels).toBeUndefined();
    } finally {
      await alone.stop();
      await rig.api.core.deleteNamespacedPod({ ...lease, gracePeriodSeconds: 0 });
    }
    await expect(alone.stopped).resolves.toBe('stopped');
  });
});

describe('a controller', () => {
  it('ends with the Lease, and the intake with it', async () => {
    const { node } = await rig.agentOf(0);
    const token = await rig.tokenOf(0);
    const lease = { name: `kcover-test-${run}`, namespace: ownNamespace };
    await rig.api.coordination.patchNamespacedLease(
      { ...lease, body: { spec: { holderIdentity: 'somebody-else' } } },
      merge,
    );
    await expect(rig.controller.stopped).resolves.toBe('lost-lease');
    expect(rig.controller.leading()).toBe(false);
    await expect(rig.post(batch(node, [9]), token)).rejects.toThrow('fetch failed');
    expect((await rig.api.coordination.readNamespacedLease(lease)).spec?.holderIdentity).toBe('somebody-else');
  });
});

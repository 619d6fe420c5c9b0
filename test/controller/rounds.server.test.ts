import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { labels } from '../../contract/ids.ts';
import { roundsAudience, roundsPath } from '../../contract/preflight/rounds.ts';
import { agentAccount, agentAudience, agentNamespace } from '../../testbed/agents.ts';
import { podToken } from '../../testbed/tokens.ts';
import { LiveController, run } from './live-controller.ts';

let rig: LiveController;
const pods: { namespace: string; name: string; uid: string }[] = [];
const account = `trainer-${run}`;

/** Two pods that test their nodes, of a workload that needs no controller. */
beforeAll(async () => {
  rig = await LiveController.open();
  await rig.api.core.createNamespacedServiceAccount({
    namespace: agentNamespace,
    body: { metadata: { name: account } },
  });
  const lws = (name: string) => `leaderworkerset.sigs.k8s.io/${name}`;
  for (const index of [0, 1]) {
    const name = `rounds-${run}-0-${index}`;
    const worn = {
      [labels.preflight]: 'true',
      [lws('name')]: `rounds-${run}`,
      [lws('group-index')]: '0',
      [lws('group-key')]: run,
      [lws('worker-index')]: `${index}`,
    };
    const container = { name: 'c', image: 'c' };
    const spec = {
      nodeName: (await rig.agentOf(index)).node,
      serviceAccountName: account,
      initContainers: [{ ...container, name: 'preflight' }],
      containers: [container],
    };
    const { metadata } = await rig.api.core.createNamespacedPod({
      namespace: agentNamespace,
      body: { metadata: { name, labels: worn }, spec },
    });
    pods.push({ namespace: agentNamespace, name, uid: metadata?.uid ?? '' });
  }
});
afterAll(async () => {
  for (const { namespace, name } of pods)
    await rig.api.core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 });
  await rig?.close();
});

const tokenOf = (index: number, audience: string = roundsAudience) =>
  podToken(rig.api, pods[index] ?? { namespace: '', name: '', uid: '' }, account, audience);
const asking = (index: number) => ({ schema: 1, size: 2, address: `10.0.0.${index}:29400`, results: [] });

describe('a controller that is asked for rounds', () => {
  it('gives each pod the other, known by its token', async () => {
    const tokens = [await tokenOf(0), await tokenOf(1)];
    const [first, second] = await Promise.all(
      [0, 1].map((index) => rig.post(asking(index), tokens[index], rig.controller, roundsPath)),
    );
    const nodes = [(await rig.agentOf(0)).node, (await rig.agentOf(1)).node];
    expect(first).toEqual({
      status: 200,
      body: { kind: 'round', round: 0, peer: { rank: 1, node: nodes[1], address: '10.0.0.1:29400' }, lead: true },
    });
    expect(second).toEqual({
      status: 200,
      body: { kind: 'round', round: 0, peer: { rank: 0, node: nodes[0], address: '10.0.0.0:29400' }, lead: false },
    });
  });

  it('accepts no token of an agent, and none of a preflight pod where agents report', async () => {
    const agents = await rig.tokenOf(0, agentAccount, agentAudience);
    expect(await rig.post(asking(0), agents, rig.controller, roundsPath)).toMatchObject({
      status: 401,
      body: { error: 'unauthenticated' },
    });
    expect(await rig.post({}, await tokenOf(0))).toMatchObject({ status: 401, body: { error: 'unauthenticated' } });
  });

  it('refuses a pod that tests nothing', async () => {
    const token = await rig.tokenOf(0, agentAccount, roundsAudience);
    expect(await rig.post(asking(0), token, rig.controller, roundsPath)).toMatchObject({
      status: 403,
      body: { error: 'not-testing' },
    });
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLeaderLabel } from '../../../controller/election/leader-label.ts';
import { connectKube, type Kube } from '../../../kube/client/connection.ts';
import { leaderLabels } from '../../../kube/pods/leader-label.ts';
import { attachTestCluster, type AttachedTestCluster } from '../../../testbed/attach.ts';
import { until } from '../../../testbed/until.ts';

const namespace = `releases-${randomUUID().slice(0, 8)}`;
const over = new AbortController();
let cluster: AttachedTestCluster;
let kube: Kube;

beforeAll(async () => {
  cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  kube = connectKube({ kubeconfig: cluster.kubernetes.kubeconfig });
  await cluster.api.core.createNamespace({ body: { metadata: { name: namespace } } });
  for (const name of ['blue-0', 'green-0', 'green-1']) {
    const spec = { containers: [{ name: 'c', image: 'c' }], automountServiceAccountToken: false };
    await until(`pod ${name} is made`, 30_000, () =>
      cluster.api.core.createNamespacedPod({ namespace, body: { metadata: { name }, spec } }).then(
        () => ({ found: true }),
        (error: unknown) => ({ missing: String(error).slice(0, 200) }),
      ),
    );
  }
});
afterAll(async () => {
  over.abort();
  await kube?.close();
  await cluster?.api.core.deleteNamespace({ name: namespace });
});

describe('two of kcover in one namespace', () => {
  it('each keep their own label on the pod that leads, and leave that of the other alone', async () => {
    const looks = new Map<string, number>();
    const leader = (lease: string, pod: string) => {
      const store = leaderLabels(kube, namespace, lease);
      const counted = { ...store, labelled: () => (looks.set(lease, (looks.get(lease) ?? 0) + 1), store.labelled()) };
      openLeaderLabel({
        store: counted,
        pod,
        leading: () => true,
        signal: over.signal,
        pause: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
        onTrouble: () => undefined,
        lookAgainMs: 50,
        retryMs: 50,
      }).add();
      return store;
    };
    const [blue, green] = [leaderLabels(kube, namespace, 'blue'), leaderLabels(kube, namespace, 'green')];
    // An earlier leader of the same release has left it.
    await green.label('green-1');
    leader('blue', 'blue-0');
    leader('green', 'green-0');
    await until('both have looked five times', 60_000, async () =>
      Math.min(looks.get('blue') ?? 0, looks.get('green') ?? 0) >= 5
        ? { found: true }
        : { missing: JSON.stringify([...looks]) },
    );
    expect(await blue.labelled()).toEqual(['blue-0']);
    expect(await green.labelled()).toEqual(['green-0']);
  });
});

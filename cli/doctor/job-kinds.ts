/** Lists the kinds of job that this cluster has, and what each is protected from. */

import type { KubernetesObject } from '@kubernetes/client-node';
import type { Kube } from '../../kube/client/connection.ts';
import { type JobKindEntry, jobKinds } from '../../kube/jobs/kinds/index.ts';
import { readObject } from '../../kube/client/requests.ts';
import { type Finding, look, ok, warn } from './finding.ts';

/** Uses API discovery, which every authenticated user may read. */
export async function examineJobKinds(kube: Kube): Promise<readonly Finding[]> {
  let found: readonly Finding[] = [];
  const failure = await look('kinds of jobs', async () => {
    const entries = Object.values(jobKinds);
    const groups = new Map(
      await Promise.all(
        [...new Set(entries.map(placeOf))].map(async (place) => [place, await servedAt(kube, place)] as const),
      ),
    );
    const installed = entries.filter((entry) => groups.get(placeOf(entry))?.has(entry.plural));
    found = installed.map(({ kind, protection }) => ok(`jobs of kind ${kind}`, protection));
    return found.length > 0
      ? ok('kinds of jobs', '')
      : warn('kinds of jobs', 'the cluster has none that kcover knows', 'install the operator of your jobs');
  });
  return failure.result === 'ok' ? found : [failure];
}

const placeOf = ({ group, version }: JobKindEntry): string => `/apis/${group}/${version}`;

async function servedAt(kube: Kube, path: string): Promise<ReadonlySet<string>> {
  const list: (KubernetesObject & { readonly resources?: readonly { readonly name: string }[] }) | undefined =
    await readObject(kube, path, `ask what there is below ${path}`);
  return new Set((list?.resources ?? []).map(({ name }) => name));
}

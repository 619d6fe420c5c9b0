/** Output of containers, kept beyond the end of their pods. */

import type { V1Pod } from '@kubernetes/client-node';
import { connectKube, openRequest } from '../kube/client/connection.ts';

export interface FollowedLogs {
  /** All lines so far, pod after pod. */
  text(): string;
  stop(): Promise<void>;
}

/** Follows the container of each pod from its beginning, until it ends or this is stopped. */
export function followLogs(kubeconfig: string, pods: readonly V1Pod[]): FollowedLogs {
  const kube = connectKube({ kubeconfig });
  const over = new AbortController();
  const followed = pods.map(({ metadata }) => {
    const path = `/api/v1/namespaces/${metadata?.namespace}/pods/${metadata?.name}/log`;
    const chunks: Uint8Array[] = [];
    const read = async (): Promise<void> => {
      const response = await openRequest(kube, { method: 'GET', path, query: { follow: 'true' }, signal: over.signal });
      for await (const chunk of response.body ?? []) chunks.push(chunk as Uint8Array);
    };
    // A read error is ignored here: a test that misses a line reports that.
    const reading = read().catch(() => undefined);
    return { reading, text: () => Buffer.concat(chunks).toString('utf8') };
  });
  return {
    text: () => followed.map((each) => each.text()).join('\n'),
    stop: async () => {
      over.abort();
      await Promise.all(followed.map(({ reading }) => reading));
      await kube.close();
    },
  };
}

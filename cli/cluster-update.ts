import { setTimeout as sleep } from 'node:timers/promises';
import { clusterWorkflowId } from '../contract/ids.ts';
import type { OperatorRequest } from '../contract/messages.ts';
import { clusterStart } from '../contract/starts.ts';
import { recordedUid } from './cluster-identity.ts';
import type { Session } from './session.ts';
import { statusOf, sendUpdateWithStart } from './workflows.ts';

/** How long the command waits until the pause is kept outside of Temporal too; the pause holds either way. */
const timeoutMs = 3000;

/** An update of the workflow `cluster`, which is started where it does not run: somebody may have terminated it. */
export async function sendClusterUpdate<Result>(session: Session, taskQueue: string, update: string, request: OperatorRequest): Promise<Result> {
  const client = await session.temporal();
  return sendUpdateWithStart<Result>(client, clusterStart((await recordedUid(client)) ?? (await readUid(session)), taskQueue), update, request);
}

/** Only before kcover has ever run with this Temporal namespace, or after its database was lost. */
async function readUid(session: Session): Promise<string> {
  const { clusterUid } = await import('../kube/connection.ts');
  return clusterUid(await session.kube());
}

/** Why the pause is not kept outside of Temporal yet; undefined when it is. */
export async function whyUnstored(session: Session): Promise<string | undefined> {
  const client = await session.temporal();
  const until = Date.now() + timeoutMs;
  for (;;) {
    const seen = await statusOf(client, 'cluster', clusterWorkflowId).then(
      ({ unstored }) => ({ because: unstored }),
      () => ({ because: 'its workflow does not answer' }),
    );
    if (seen.because === undefined || Date.now() > until) return seen.because;
    await sleep(100);
  }
}

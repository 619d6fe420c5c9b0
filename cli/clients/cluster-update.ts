import { setTimeout as sleep } from 'node:timers/promises';
import { clusterWorkflowId } from '../../contract/ids.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import { clusterStart } from '../../contract/wire/starts.ts';
import { recordedUid } from './cluster-identity.ts';
import type { Session } from './session.ts';
import { statusOf, sendUpdateWithStart } from './workflows.ts';

/** How long the command waits until the pause is also stored in the ConfigMap, ms. The pause is in force before that. */
const timeoutMs = 3000;

/** Sends an update to the workflow `cluster`, and starts the workflow if it does not run, for example because it was terminated. */
export async function sendClusterUpdate<Result>(
  session: Session,
  taskQueue: string,
  update: string,
  request: OperatorRequest,
): Promise<Result> {
  const client = await session.temporal();
  return sendUpdateWithStart<Result>(
    client,
    clusterStart((await recordedUid(client)) ?? (await readUid(session)), taskQueue),
    update,
    request,
  );
}

/** Needed only when the workflow has never run in this Temporal namespace, or Temporal's database was lost. */
async function readUid(session: Session): Promise<string> {
  const { clusterUid } = await import('../../kube/client/connection.ts');
  return clusterUid(await session.kube());
}

/** Why the pause is not stored in the ConfigMap yet; undefined when it is. */
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

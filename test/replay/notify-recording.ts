import { randomUUID } from 'node:crypto';
import { toFailure } from '../../activities/job/failures.ts';
import { KcoverError } from '../../contract/errors.ts';
import { notifyWorkflowId } from '../../contract/ids.ts';
import type { NotifyStatus } from '../../contract/notify/notification.ts';
import type { NotifyPayload } from '../../contract/notify/payload.ts';
import { signals } from '../../contract/wire/messages.ts';
import { job } from '../support/builders.ts';
import { eventually } from '../support/rig.ts';
import type { Recording } from './recording.ts';

const payload = (id: string): NotifyPayload => ({
  notification: {
    schema: 1,
    id,
    reason: 'RecoveryStarted',
    severity: 'warning',
    about: 'pytorchjob/llm in train',
    incident: `recovery/${id}`,
    message: 'xid/79',
    at: '2026-11-21T07:09:03.117Z',
    resolves: false,
  },
  object: { kind: 'job', job },
});

/** One that is refused, then several that are sent as one. */
export const notifyRecording: Recording = async ({ rig, cluster }) => {
  const route = `oncall-${randomUUID().slice(0, 8)}`;
  const workflowId = notifyWorkflowId(route);
  cluster.onNotification = async () => {
    throw toFailure(new KcoverError('notify.refused', 'the route answered 404'));
  };
  const handle = await rig.client.workflow.signalWithStart('notify', {
    workflowId,
    taskQueue: rig.taskQueue,
    args: [{ route }],
    signal: signals.notify,
    signalArgs: [payload('a')],
  });
  const status = () => handle.query<NotifyStatus>('status');
  await eventually(status, ({ failed }) => failed === 1);
  cluster.onNotification = async () => undefined;
  for (const id of ['b', 'c', 'd', 'e', 'f']) await handle.signal(signals.notify, payload(id));
  await eventually(status, ({ delivered }) => delivered === 5);
  return { 'notify/refused-then-sent-as-one': workflowId };
};

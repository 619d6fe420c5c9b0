import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { toFailure } from '../../activities/job/failures.ts';
import { KcoverError } from '../../contract/errors.ts';
import type { NotifyPayload } from '../../contract/notify/payload.ts';
import { signals } from '../../contract/wire/messages.ts';
import type { NotifyStatus } from '../../contract/notify/notification.ts';
import { activitiesOf, FakeCluster } from '../support/fake-cluster.ts';
import { job } from '../support/builders.ts';
import { eventually, type Rig, startRig } from '../support/rig.ts';

let rig: Rig;
let cluster: FakeCluster;
let route: string;
let taken: number[];

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
const send = (id: string) =>
  rig.client.workflow.signalWithStart('notify', {
    workflowId: `notify/${route}`,
    taskQueue: rig.taskQueue,
    args: [{ route }],
    signal: signals.notify,
    signalArgs: [payload(id)],
  });
const handle = () => rig.client.workflow.getHandle(`notify/${route}`);
const status = () => handle().query<NotifyStatus>('status');

describe('the workflow of a route', () => {
  beforeAll(async () => {
    rig = await startRig(activitiesOf(() => cluster));
  });
  beforeEach(() => {
    cluster = new FakeCluster();
    route = `oncall-${randomUUID().slice(0, 8)}`;
    taken = [];
    cluster.onNotification = async (_, count) => void taken.push(count);
  });
  afterAll(async () => {
    await rig.close();
  });

  it('sends each notification once, however often its Event is written', async () => {
    await send('a');
    await send('a');
    await send('b');
    await send('a');
    await eventually(status, ({ delivered, waiting }) => delivered === 2 && waiting === 0);
    expect(taken).toEqual([1, 1]);
    rig.replayAtEnd(handle().workflowId);
  });

  it('keeps what a receiver that is down was not sent, and sends it as one when it is back', async () => {
    let isDown = true;
    cluster.onNotification = async (_, count) => {
      if (isDown) throw toFailure(new KcoverError('notify.unreachable', 'route did not answer', { retryAfterMs: 100 }));
      taken.push(count);
    };
    for (const id of Array.from({ length: 60 }, (_, number) => `n${number}`)) await send(id);
    isDown = false;
    await eventually(status, ({ delivered }) => delivered === 60, 60_000);
    // The first was under way; of the others the oldest no longer fitted, and count all the same.
    expect(taken).toEqual([1, 59]);
    expect(cluster.announced).toEqual([]);
    rig.replayAtEnd(handle().workflowId);
  });

  it('gives up what is refused, says so in an Event on the object, and goes on', async () => {
    cluster.onNotification = async () => {
      throw toFailure(new KcoverError('notify.refused', 'route answered 404'));
    };
    await send('a');
    await eventually(status, ({ failed }) => failed === 1);
    await eventually(
      () => cluster.announced,
      (events) => events.length === 1,
    );
    expect(cluster.announced[0]).toMatchObject({ reason: 'NotificationFailed', about: { kind: 'job', job } });
    expect(cluster.announced[0]?.message).toContain('route answered 404');
    cluster.onNotification = async (_, count) => void taken.push(count);
    await send('b');
    await eventually(status, ({ delivered }) => delivered === 1);
    rig.replayAtEnd(handle().workflowId);
  });

  it('does nothing with a signal that is no notification', async () => {
    await send('a');
    await handle().signal(signals.notify, { notification: 'x' });
    await handle().signal(signals.notify);
    await eventually(status, ({ delivered, waiting }) => delivered === 1 && waiting === 0);
  });
});

import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Notification } from '../../../contract/notify/notification.ts';
import type { Announcement } from '../../../contract/wire/activities.ts';
import { bodyOf } from '../../../policy/notify/formats.ts';
import { folded, notificationOf, routesFor } from '../../../policy/notify/notification.ts';
import { job, settings } from '../../support/builders.ts';

const at = Date.parse('2026-11-21T07:09:03.117Z');
const incident = 'recovery/train/llm/job-uid/2026-11-21T07:09:03.117Z';
const event = (reason: Announcement['reason'], more: Partial<Announcement> = {}): Announcement => ({
  about: { kind: 'job', job },
  type: 'Warning',
  reason,
  message: 'xid/79 on gpu-3',
  key: incident,
  ...more,
});
const context = {
  at,
  ui: 'https://temporal.example/namespaces/default',
  digest: (text: string) => createHash('sha256').update(text).digest('hex'),
};
const notification = (...given: Parameters<typeof event>): Notification => {
  const found = notificationOf(event(...given), context);
  if (!found) throw new Error('people are not notified of this');
  return found;
};
const node = { about: { kind: 'node', name: 'gpu-3', uid: 'u' }, key: 'node/gpu-3/2026-11-21T07:09:03.117Z' } as const;

describe('a notification', () => {
  it('carries the decision, what follows, and the command that stops it', () => {
    expect(notification('RecoveryStarted')).toEqual({
      schema: 1,
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      reason: 'RecoveryStarted',
      severity: 'warning',
      about: 'pytorchjob/llm in train',
      namespace: 'train',
      job: 'pytorchjob/llm',
      incident,
      message: 'xid/79 on gpu-3',
      next: 'all pods of the job are stopped together and started again',
      stop: 'kcover pause pytorchjob/llm -n train --reason "..."',
      link: `https://temporal.example/namespaces/default/workflows/${encodeURIComponent(incident)}`,
      at: '2026-11-21T07:09:03.117Z',
      resolves: false,
    });
    expect(notification('NodeQuarantined', node)).toMatchObject({
      about: 'node gpu-3',
      stop: 'kcover node release gpu-3 --reason "..."',
      link: 'https://temporal.example/namespaces/default/workflows/node%2Fgpu-3',
    });
  });

  it('has the same id for the same state of the same incident, and no other', () => {
    expect(notification('RecoveryStarted', { message: 'in other words' }).id).toBe(notification('RecoveryStarted').id);
    expect(notification('JobRecovered').id).not.toBe(notification('RecoveryStarted').id);
    expect(notification('RecoveryStarted', { key: `${incident}9` }).id).not.toBe(notification('RecoveryStarted').id);
  });

  it.each([
    [`${incident}#1/all pods run again`, incident],
    [`${incident}/stuck`, incident],
    [`${node.key}/2 nodes are out and 2 may be`, node.key],
    [`${node.key}/end`, node.key],
    ['job-uid/history', 'job-uid/history'],
  ])('names the incident that the key %s begins with', (key, expected) => {
    expect(notification('RecoveryStarted', { key }).incident).toBe(expected);
  });

  it('is not sent for Events that only say how it goes on', () => {
    expect(notificationOf(event('AttemptStopped'), context)).toBeUndefined();
    expect(notificationOf(event('NotificationFailed'), context)).toBeUndefined();
  });

  it('is not sent for an Event of a storm of which people were notified', () => {
    const storm = 'storm/xid-79/rack=r7/2026-11-21T07:00:00.000Z';
    expect(notificationOf(event('NodeQuarantined', { ...node, storm }), context)).toBeUndefined();
    expect(notification('NodeStorm', { ...node, key: storm }).incident).toBe(storm);
  });
});

describe('the routes of a notification', () => {
  const url = 'http://receiver.example';
  const { notifications } = settings({
    notifications: {
      routes: [
        { name: 'all', format: 'webhook', url, severity: 'info' },
        { name: 'page', format: 'webhook', url, severity: 'critical' },
        { name: 'other', format: 'webhook', url, namespaces: ['other'] },
        { name: 'nodes', format: 'webhook', url, reasons: ['NodeQuarantined'] },
      ],
    },
  });

  it('are those whose severity, reasons and namespaces fit', () => {
    expect(routesFor(notification('RecoveryStarted'), notifications)).toEqual(['all']);
    expect(routesFor(notification('NodeQuarantined', node), notifications)).toEqual(['all', 'other', 'nodes']);
    expect(routesFor(notification('ApprovalAsked'), notifications)).toEqual(['all', 'page']);
  });

  it('are those of owners only where the job names them, and never for nodes', () => {
    const { notifications: offered } = settings({
      notifications: {
        routes: [
          { name: 'team-a', format: 'webhook', url, subscribe: true },
          { name: 'team-b', format: 'webhook', url, subscribe: true, namespaces: ['other'] },
        ],
      },
    });
    expect(routesFor(notification('RecoveryStarted'), offered)).toEqual([]);
    expect(routesFor(notification('RecoveryStarted'), offered, ['team-a', 'team-b', 'none'])).toEqual(['team-a']);
    expect(routesFor(notification('NodeQuarantined', node), offered)).toEqual([]);
  });

  it('are all that may have carried the begin, for an end', () => {
    expect(routesFor(notification('JobRecovered'), notifications)).toEqual(['all', 'page', 'nodes']);
  });

  it.each<[string, object]>([
    ['no address', { name: 'a', format: 'slack' }],
    ['two addresses', { name: 'a', format: 'slack', url, urlFile: '/x' }],
    ['no integration key', { name: 'a', format: 'pagerduty' }],
    ['another protocol', { name: 'a', format: 'webhook', url: 'file:///etc/passwd' }],
    ['a name that is no name', { name: 'a/b', format: 'webhook', url }],
  ])('are refused in the settings with %s', (_, route) => {
    expect(() => settings({ notifications: { routes: [route] } })).toThrow();
  });
});

describe('several notifications', () => {
  it('are sent as one, with the worst severity and how many they are', () => {
    const one = folded([notification('TrainingSlow'), notification('ApprovalAsked')], 7);
    expect(one).toMatchObject({ severity: 'critical', folded: 9, reason: 'Folded', resolves: false });
    expect(one.message).toContain('9 notifications, the last: pytorchjob/llm in train: TrainingSlow');
    expect(folded([notification('JobRecovered')], 0)).toEqual(notification('JobRecovered'));
  });
});

describe('the formats', () => {
  it('webhook: the notification itself', () => {
    expect(bodyOf('webhook', notification('JobRecovered')).body).toEqual(notification('JobRecovered'));
  });

  it('CloudEvents 1.0, structured', () => {
    expect(bodyOf('cloudevents', notification('JobRecovered'))).toMatchObject({
      contentType: 'application/cloudevents+json',
      body: {
        specversion: '1.0',
        source: '/kcover',
        type: 'io.kcover.JobRecovered',
        subject: 'pytorchjob/llm in train',
        time: '2026-11-21T07:09:03.117Z',
        data: { incident },
      },
    });
  });

  it('Alertmanager: the end has the labels of the begin', () => {
    const [begin, end] = ['RecoveryStarted', 'JobRecovered'].map(
      (reason) =>
        (
          bodyOf('alertmanager', notification(reason as 'JobRecovered')).body as { labels: object; endsAt: string }[]
        )[0],
    );
    expect(begin?.labels).toEqual({
      alertname: 'KcoverRecovery',
      incident,
      namespace: 'train',
      job_name: 'pytorchjob/llm',
    });
    expect(end?.labels).toEqual(begin?.labels);
    expect([begin?.endsAt, end?.endsAt]).toEqual(['2026-11-22T07:09:03.117Z', '2026-11-21T07:09:03.117Z']);
  });

  it('Alertmanager and PagerDuty: also with the keys that a recovery gives its Events', () => {
    const events = [
      notification('RecoveryStarted', { key: `${incident}#0/xid/79 on gpu-3` }),
      notification('JobRecovered', { key: `${incident}#1/recovered` }),
    ];
    const labels = events.map((one) => (bodyOf('alertmanager', one).body as { labels: object }[])[0]?.labels);
    expect(labels[0]).toEqual(labels[1]);
    const keys = events.map((one) => (bodyOf('pagerduty', one).body as { dedup_key: string }).dedup_key);
    expect(keys[0]).toBe(keys[1]);
  });

  it('Slack: foreign text is neither markup nor a link', () => {
    const { body } = bodyOf(
      'slack',
      notification('RecoveryStarted', { message: '<https://evil.example|click> *a* `b` & <!channel>' }),
    );
    const { text } = body as { text: string };
    expect(text).not.toMatch(/<(?!https:\/\/temporal\.example)/);
    expect(text).toContain('`kcover pause pytorchjob/llm -n train --reason "..."`');
  });

  it('PagerDuty: one incident from its begin to its end', () => {
    const [begin, end] = ['RecoveryStarted', 'JobRecovered'].map(
      (reason) => bodyOf('pagerduty', notification(reason as 'JobRecovered'), 'key').body as Record<string, unknown>,
    );
    expect(begin).toMatchObject({ routing_key: 'key', event_action: 'trigger', payload: { severity: 'warning' } });
    expect(end).toMatchObject({ event_action: 'resolve', dedup_key: begin?.['dedup_key'] });
  });
});

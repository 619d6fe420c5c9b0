import { describe, expect, it } from '@jest/globals';
import type { Announcement } from '../../../contract/wire/activities.ts';
import { eventOf } from '../../../kube/events/events.ts';
import { job } from '../../support/builders.ts';

const now = Date.parse('2026-11-21T07:09:03.117Z');
const onNode: Announcement = {
  about: { kind: 'node', name: 'gpu-3', uid: 'n3' },
  type: 'Warning',
  reason: 'NodeQuarantined',
  message: 'Xid 79',
  key: 'node/gpu-3/1',
};

describe('an Event', () => {
  it('has the same name for the same content, and another for anything else', () => {
    const name = (more: Partial<Announcement>, at = now) => eventOf({ ...onNode, ...more }, at).metadata.name;
    expect(name({}, now + 60_000)).toBe(name({}));
    expect(name({ message: 'in other words' })).toBe(name({}));
    expect(
      new Set([
        name({}),
        name({ key: 'node/gpu-3/2' }),
        name({ reason: 'NodeReleased' }),
        name({ about: { kind: 'node', name: 'gpu-3', uid: 'n4' } }),
      ]).size,
    ).toBe(4);
  });

  it('of a node lives in default, because nodes have no namespace', () => {
    expect(eventOf(onNode, now)).toMatchObject({
      metadata: { namespace: 'default' },
      involvedObject: { kind: 'Node', name: 'gpu-3', uid: 'n3' },
    });
  });

  it('of a job lives beside it', () => {
    expect(eventOf({ ...onNode, about: { kind: 'job', job } }, now)).toMatchObject({
      metadata: { namespace: 'train' },
      involvedObject: {
        apiVersion: 'kubeflow.org/v1',
        kind: 'PyTorchJob',
        namespace: 'train',
        name: 'llm',
        uid: 'job-uid',
      },
      source: { component: 'kcover' },
      firstTimestamp: '2026-11-21T07:09:03Z',
    });
  });

  it('keeps within what the API server takes', () => {
    expect(eventOf({ ...onNode, message: 'x'.repeat(5000) }, now).message).toHaveLength(1024);
  });
});

import { describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { remainingPods } from '../../../activities/recovery/remaining-pods.ts';

const pod = (uid: string, isGoing = false): V1Pod => ({
  metadata: { name: `llm-${uid}`, uid, ...(isGoing && { deletionTimestamp: new Date(0) }) },
});
const wanted = ['a', 'b', 'c'].map((uid) => ({ name: `llm-${uid}`, uid }));
const uidsLeft = (seen: readonly V1Pod[], requests: number | undefined) =>
  remainingPods(wanted, seen, requests).left.map(({ uid }) => uid);

describe('a stop by deletion that is tried again', () => {
  const replaced = [pod('a'), pod('made-anew'), pod('c')];

  it('has not begun where a pod was replaced and no request was sent', () => {
    expect(remainingPods(wanted, replaced, 0).hasStarted).toBe(false);
  });

  it('has begun where a pod is gone and a request may have been sent', () => {
    expect(remainingPods(wanted, replaced, 1).hasStarted).toBe(true);
  });

  it('has begun where a pod is terminating, though no heartbeat reported a request', () => {
    expect(remainingPods(wanted, [pod('a'), pod('b', true), pod('c')], 0).hasStarted).toBe(true);
  });

  it('has not begun where all are untouched, whatever was sent', () => {
    expect(
      remainingPods(
        wanted,
        wanted.map(({ uid }) => pod(uid)),
        1,
      ).hasStarted,
    ).toBe(false);
  });

  it('deletes wanted pods only, and none that is terminating', () => {
    expect(uidsLeft([pod('a', true), pod('made-anew'), pod('c')], 1)).toEqual(['c']);
  });
});

it('a first attempt of the activity has not begun, even if a pod was deleted by another client', () => {
  expect(remainingPods(wanted, [pod('a'), pod('b', true)], undefined)).toEqual({
    left: [{ name: 'llm-a', uid: 'a' }],
    hasStarted: false,
  });
});

import { describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { timeLeft } from '../../../activities/recovery/overdue-pods.ts';

const now = Date.parse('2026-11-21T07:09:03Z');
/** As the API server returns it: text, and later than the request by the pod's grace period. */
const going = (deletionTimestamp?: string): V1Pod => ({ metadata: { deletionTimestamp } }) as unknown as V1Pod;

describe('the time that a pod has left to end by itself', () => {
  it('is measured by its own grace period and the clock of the API server', () => {
    expect(timeLeft(going('2026-11-21T07:24:03Z'), now)).toBe(15 * 60_000 + 5000);
    expect(timeLeft(going('2026-11-21T07:09:00Z'), now)).toBe(2000);
    expect(timeLeft(going('2026-11-21T07:08:50Z'), now)).toBe(0);
  });

  it('is unlimited while it is not terminating, or the API server does not report its time', () => {
    expect(timeLeft(going(), now)).toBe(Infinity);
    expect(timeLeft(going('2026-11-21T07:08:50Z'), undefined)).toBe(Infinity);
  });
});

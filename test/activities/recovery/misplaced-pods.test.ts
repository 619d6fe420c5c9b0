import { describe, expect, it } from '@jest/globals';
import { misplacedPods } from '../../../activities/recovery/misplaced-pods.ts';

const pod = (uid: string) => ({ name: 'llm-worker-0', uid, node: 'gpu-4' });

describe('a pod that landed on a quarantined node', () => {
  it('is deleted once, however often it is seen', async () => {
    const asked: string[] = [];
    const pods = misplacedPods({ known: [], remove: async ({ uid }) => asked.push(uid), pause: async () => undefined });
    await pods.move([pod('a')]);
    await pods.move([pod('a')]);
    await pods.move([pod('a'), pod('b')]);
    expect(asked).toEqual(['a', 'b']);
    expect([...pods.moved]).toEqual(['a', 'b']);
  });

  it('is deleted again by a later try when the request of the earlier one did not arrive', async () => {
    const first = misplacedPods({
      known: [],
      remove: () => Promise.reject(new Error('no answer')),
      pause: async () => undefined,
    });
    await expect(first.move([pod('a')])).rejects.toThrow('no answer');
    const asked: string[] = [];
    const second = misplacedPods({
      known: first.moved,
      remove: async ({ uid }) => asked.push(uid),
      pause: async () => undefined,
    });
    await second.move([pod('a')]);
    expect(asked).toEqual(['a']);
    expect(second.moved.size).toBe(1);
  });

  it('is deleted again when the request failed, and then no more', async () => {
    const answers = [() => Promise.reject(new Error('no answer')), async () => 'deleted'];
    const asked: string[] = [];
    const remove = ({ uid }: { readonly uid: string }) => {
      asked.push(uid);
      return answers.shift()?.() ?? Promise.resolve();
    };
    const pods = misplacedPods({ known: [], remove, pause: async () => undefined });
    await expect(pods.move([pod('a')])).rejects.toThrow('no answer');
    await pods.move([pod('a')]);
    await pods.move([pod('a')]);
    expect(asked).toEqual(['a', 'a']);
  });

  it('is deleted after longer and longer pauses when its successors land there too', async () => {
    const pauses: number[] = [];
    const pods = misplacedPods({ known: [], remove: async () => undefined, pause: async (ms) => pauses.push(ms) });
    for (let next = 0; next < 9; next++) await pods.move([pod(`pod-${next}`)]);
    expect(pauses).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { openPodTable } from '../../controller/preflight/pod-table.ts';
import type { PreflightPod } from '../../kube/pods/preflight-pods.ts';

const pod = (name: string, rank: number, more: Partial<PreflightPod> = {}): PreflightPod => ({
  uid: `uid-${name}`,
  name,
  namespace: 'train',
  createdAt: '2026-11-21T07:00:00Z',
  node: 'gpu-1',
  workload: { namespace: 'train', name: 'llm', uid: 'w1' },
  rank,
  tests: [],
  testing: true,
  terminating: false,
  accelerators: { 'nvidia.com/gpu': 8 },
  over: false,
  ...more,
});
const place = { namespace: 'train', workload: 'llm', rank: 1, node: 'gpu-1' };

function table(...pods: PreflightPod[]) {
  const clock = { now: 0 };
  const opened = openPodTable(() => clock.now);
  for (const each of pods) opened.put(each);
  const at = (more: Partial<typeof place> = {}) => opened.at({ ...place, ...more }).map(({ name }) => name);
  return { ...opened, clock, at };
}

describe('the pods that test', () => {
  it('are found by namespace, workload, rank and node', () => {
    const { at } = table(pod('a', 1), pod('b', 2), pod('c', 1, { node: 'gpu-2' }));
    expect(at()).toEqual(['a']);
    expect(at({ rank: 2 })).toEqual(['b']);
    expect(at({ node: 'gpu-2' })).toEqual(['c']);
    for (const other of [{ rank: 3 }, { node: 'gpu-3' }, { workload: 'other' }, { namespace: 'other' }])
      expect(at(other)).toEqual([]);
  });

  it('of one rank come the newest first', () => {
    const { at } = table(pod('old', 1), pod('new', 1, { createdAt: '2026-11-21T07:05:00Z' }));
    expect(at()).toEqual(['new', 'old']);
  });

  it('give way to one that was created in the same second when they are terminating', () => {
    expect(table(pod('terminating', 1, { terminating: true }), pod('remaining', 1)).at()).toEqual([
      'remaining',
      'terminating',
    ]);
  });

  it('are as they were last seen', () => {
    const { put, get, at } = table(pod('a', 1, { node: 'gpu-0' }));
    put(pod('a', 1, { testing: false, ended: 0 }));
    expect(get('uid-a')).toMatchObject({ testing: false, ended: 0 });
    expect(at()).toEqual(['a']);
    expect(at({ node: 'gpu-0' })).toEqual([]);
  });

  it('may still have a file a while after they went', () => {
    const { leave, at, get, clock, put } = table(pod('a', 1));
    leave('uid-a');
    expect(at()).toEqual(['a']);
    expect(get('uid-a')).toBeUndefined();
    clock.now = 31 * 60_000;
    put(pod('b', 2));
    leave('uid-b');
    expect(at()).toEqual([]);
    expect(at({ rank: 2 })).toEqual(['b']);
  });

  it('are remembered in limited number once they went', () => {
    const { put, leave, at } = table(pod('first', 1));
    leave('uid-first');
    for (let count = 0; count < 20_000; count++) {
      put(pod(`later-${count}`, 2));
      leave(`uid-later-${count}`);
    }
    expect(at()).toEqual([]);
    expect(at({ rank: 2 })).toHaveLength(20_000);
  });
});

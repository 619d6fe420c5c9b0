import { beforeEach, describe, expect, it } from '@jest/globals';
import type { JobRef } from '../../contract/job/jobs.ts';
import { countWorkers, type Workers } from '../../controller/progress/workers.ts';

const job = (name: string, more: Partial<JobRef> = {}): JobRef => ({
  kind: 'Job',
  namespace: 'train',
  name,
  uid: `uid-${name}`,
  ...more,
});
const set = job('set', { kind: 'JobSet' });

let tops: Map<string, JobRef>;
let workers: Workers;
beforeEach(() => {
  tops = new Map();
  workers = countWorkers((owner) => tops.get(owner.name) ?? owner);
});

describe('the pods that work', () => {
  it('are counted for the owner of the job that controls them, once that is known', () => {
    workers.put(job('child'), 'a', true);
    workers.put(job('alone'), 'x', true);
    tops.set('child', set).set('other', set);
    workers.lookAgain(job('child'));
    workers.lookAgain(job('alone'));
    for (const pod of ['a', 'b']) workers.put(job('child'), pod, true);
    workers.put(job('other'), 'c', true);
    expect([job('child'), set, job('alone')].map(workers.of)).toEqual([0, 3, 1]);
    for (const gone of ['a', 'b', 'never']) workers.put(job('child'), gone, false);
    workers.put(job('other'), 'c', false);
    expect(workers.of(set)).toBe(0);
  });

  it('are not those that go after their job and its owner', () => {
    tops.set('child', set);
    for (const pod of ['a', 'b']) workers.put(job('child'), pod, true);
    tops.clear();
    workers.put(job('child'), 'a', false);
    expect(workers.of(set)).toBe(1);
    workers.put(job('child'), 'b', false);
    expect([set, job('child')].map(workers.of)).toEqual([0, 0]);
  });

  it('are not those of another namespace, or another job, that name its UID', () => {
    const real = job('child');
    for (const [pod, more] of Object.entries({
      a: { namespace: 'other' },
      b: { name: 'another' },
      c: { kind: 'PyTorchJob' } as const,
    }))
      workers.put({ ...real, ...more }, pod, true);
    expect(workers.of(real)).toBe(0);
  });
});

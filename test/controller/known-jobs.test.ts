import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesObject, V1OwnerReference } from '@kubernetes/client-node';
import type { JobKind, JobRef } from '../../contract/job/jobs.ts';
import { openKnownJobs, type KnownJob, type KnownJobs } from '../../controller/watch/known-jobs.ts';
import { jobKinds, ownerJobOf } from '../../kube/jobs/kinds/index.ts';

const ref = (kind: JobKind, more: Partial<JobRef> = {}): JobRef => ({
  kind,
  namespace: 'train',
  name: 'llm',
  uid: `uid-${kind}`,
  ...more,
});
const [child, set, trains] = [ref('Job'), ref('JobSet'), ref('TrainJob')];

/** As the watch reports it. */
function known({ kind, namespace, name, uid }: JobRef, owner?: Omit<JobRef, 'namespace'>): KnownJob {
  const reference: V1OwnerReference[] = owner
    ? [
        {
          apiVersion: jobKinds[owner.kind].apiVersion,
          kind: owner.kind,
          name: owner.name,
          uid: owner.uid,
          controller: true,
        },
      ]
    : [];
  const object: KubernetesObject = { metadata: { namespace, name, uid, ownerReferences: reference } };
  const ownerJob = ownerJobOf(kind, object.metadata);
  return {
    ...jobKinds[kind].view(object, { key: 'k', effect: 'NoSchedule' }),
    wantsRecovery: false,
    ...(ownerJob && { ownerJob }),
  };
}

let jobs: KnownJobs;
beforeEach(() => {
  jobs = openKnownJobs();
});
const top = (job: JobRef): JobRef | undefined => jobs.top(job)?.ref;
const family = (job: JobRef): JobRef[] => jobs.family(job).map((each) => each.ref);

describe('the jobs that are there', () => {
  it('are looked up as their owner, as long as that exists', () => {
    jobs.put(known(child, set));
    expect(top(child)).toEqual(child);
    for (const job of [known(set, trains), known(trains)]) jobs.put(job);
    expect([child, set, trains].map(top)).toEqual([trains, trains, trains]);
    expect([trains, set, child].map(family)).toEqual([[trains, set, child], [set, child], [child]]);
    jobs.remove(trains);
    expect([top(child), top(trains)]).toEqual([set, undefined]);
  });

  it.each<[string, KnownJob[]]>([
    ['itself', [known(child, child), known(set, set), known(trains, trains)]],
    ['its own child', [known(child), known(set, trains), known(trains, set)]],
    [
      'a job of the same kind in a circle',
      [known(set, ref('JobSet', { uid: 'other' })), known(ref('JobSet', { uid: 'other' }), set)],
    ],
  ])('are found, and the search ends, when one claims to be owned by %s', (_, all) => {
    for (const job of all) jobs.put(job);
    for (const job of all) expect(jobs.top(job.ref)).toBeDefined();
    for (const job of all) expect(family(job.ref)).toContainEqual(job.ref);
  });

  it.each<[string, Partial<JobRef>]>([
    ['another namespace', { namespace: 'other' }],
    ['another name', { name: 'other' }],
    ['another kind', { kind: 'PyTorchJob' }],
  ])('are not found by their UID with %s', (_, more) => {
    jobs.put(known(child));
    expect(top({ ...child, ...more })).toBeUndefined();
  });

  it('are not owned by a job of another namespace, or another name, whose UID they name', () => {
    jobs.put(known(set));
    for (const job of [ref('Job', { namespace: 'other', uid: 'a' }), ref('Job', { uid: 'b' })]) {
      const claim = job.uid === 'b' ? { ...set, name: 'other' } : set;
      jobs.put(known(job, claim));
      expect(top(job)).toEqual(job);
    }
    expect(family(set)).toEqual([set]);
  });

  it('are found by name alone where their pods say no more, as whatever has that name now', () => {
    const group = ref('LeaderWorkerSet');
    jobs.put(known(group));
    expect(top({ ...group, uid: '' })).toEqual(group);
    const anew = { ...group, uid: 'anew' };
    jobs.remove(group);
    expect(top({ ...group, uid: '' })).toBeUndefined();
    jobs.put(known(anew));
    expect(top({ ...group, uid: '' })).toEqual(anew);
    expect(top({ ...group, uid: '', namespace: 'other' })).toBeUndefined();
  });
});

import { describe, expect, it } from '@jest/globals';
import { annotations } from '../../contract/ids.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import type { Write } from '../../testbed/audit.ts';
import { completed, type PodLife } from '../support/cluster-recorder.ts';
import { type RunFacts, violations } from '../support/invariants.ts';
import { write } from '../support/writes.ts';

const job = { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job', pods: 1, selector: '' } as const;
const pod = (uid: string, more: Partial<PodLife> = {}): PodLife => ({
  uid,
  namespace: 'train',
  name: 'llm-master-0',
  owner: 'job',
  created: 10,
  node: 'gpu-1',
  ready: true,
  failed: false,
  ...more,
});
const writeOfJob = (more: Partial<Write>) =>
  write({ resource: 'pytorchjobs', namespace: 'train', name: 'llm', ...more });
const suspend = writeOfJob({
  body: {
    metadata: { annotations: { [annotations.suspendedBy]: 'incident#1' } },
    spec: { runPolicy: { suspend: true } },
  },
});
const deletion = (uid: string) => writeOfJob({ verb: 'delete', resource: 'pods', deleted: [uid] });
const record = {
  incident: 'incident',
  outcome: 'restarted',
  faults: [{ id: 'fault' }],
  stops: [
    {
      attempt: 1,
      by: 'suspend',
      at: '2026-11-21T07:00:30.000Z',
      pods: [{ name: 'llm-master-0', uid: 'old', node: 'gpu-0' }],
    },
  ],
} as unknown as IncidentRecord;

const before = { step: 10, at: '2026-11-21T07:00:00.000Z' };

const good: RunFacts = {
  job,
  pods: [pod('old', { gone: 20, ready: false, node: 'gpu-0' }), pod('new', { created: 30 })],
  quarantines: [{ node: 'gpu-0', from: 5 }],
  writes: [suspend],
  records: [record],
  recoveries: ['incident'],
  suspended: false,
  deletedByKubelet: new Set(),
};

describe('the invariants after an incident', () => {
  it('holds after one stop of one attempt', () => {
    expect(violations(good)).toEqual([]);
  });

  it.each<[string, Partial<RunFacts>, RegExp]>([
    ['the same stop took effect twice', { writes: [suspend, suspend] }, /suspended twice/],
    ['a stop was never recorded', { records: [{ ...record, stops: [] }] }, /which no record holds/],
    [
      'a pod of the next attempt was deleted',
      { writes: [suspend, deletion('new')] },
      /deleted pod .* new that no stop had/,
    ],
    ['a pod was deleted twice', { writes: [suspend, deletion('old'), deletion('old')] }, /deleted pod .* old 2 times/],
    ['a pod of the next attempt went', { pods: [...good.pods, pod('lost', { gone: 40 })] }, /went and no stop had it/],
    [
      'a pod runs on a quarantined node',
      { quarantines: [{ node: 'gpu-1', from: 5 }] },
      /runs on gpu-1, which is quarantined/,
    ],
    ['a pod is missing', { pods: [pod('old', { gone: 20 })] }, /0 pods are there/],
    ['the job is still suspended', { suspended: true }, /is suspended/],
    ['an incident has no record', { recoveries: ['incident', 'another'] }, /another has no record/],
    [
      'a job that was made smaller has another size',
      { records: [{ ...record, pods: { before: 3, after: 2 } }] },
      /1 pods are there and 1 ready, of 2/,
    ],
    [
      'it says recovered without a step beyond the last',
      { records: [{ ...record, outcome: 'recovered', progress: { before, after: before } }] },
      /says recovered/,
    ],
    [
      'it says recovered by an older step',
      { records: [{ ...record, outcome: 'recovered', progress: { before, after: { ...before, step: 11 } } }] },
      /says recovered/,
    ],
    [
      'the same fault stopped the job twice',
      { records: [record, { ...record, incident: 'b' }], recoveries: ['incident', 'b'] },
      /answered before/,
    ],
  ])('does not hold when %s', (_, broken, sentence) => {
    expect(violations({ ...good, ...broken }).join('\n')).toMatch(sentence);
  });

  it('allows a second deletion of a pod where the record says that it was by force', () => {
    const writes = [suspend, deletion('old'), deletion('old')];
    const forced = [{ name: 'llm-master-0', uid: 'old' }];
    expect(violations({ ...good, writes, records: [{ ...record, forced }] })).toEqual([]);
    expect(violations({ ...good, writes: [...writes, deletion('old')], records: [{ ...record, forced }] })).not.toEqual(
      [],
    );
  });

  it('holds after a job was made smaller, or training was verified', () => {
    expect(
      violations({ ...good, job: { ...job, pods: 2 }, records: [{ ...record, pods: { before: 2, after: 1 } }] }),
    ).toEqual([]);
    const progress = { before, after: { step: 11, at: '2026-11-21T07:01:00.000Z' } };
    expect(violations({ ...good, records: [{ ...record, outcome: 'recovered', progress }] })).toEqual([]);
  });

  it('accepts the progress of an attempt that trained before a worker saw that the stop by deletion was over', () => {
    const deleted = writeOfJob({ ...deletion('old'), at: new Date('2026-11-21T07:00:10.000Z') });
    const stops = record.stops.map((stop) => ({ ...stop, by: 'pods' as const }));
    const provedAt = (at: string): Partial<RunFacts> => ({
      writes: [deleted],
      records: [{ ...record, outcome: 'recovered', stops, progress: { before, after: { step: 11, at } } }],
    });
    expect(violations({ ...good, ...provedAt('2026-11-21T07:00:20.000Z') })).toEqual([]);
    expect(violations({ ...good, ...provedAt('2026-11-21T07:00:09.000Z') })).not.toEqual([]);
  });

  it('allows a single deletion of a pod that was bound to a quarantined node', () => {
    const strayed = pod('strayed', { created: 25, gone: 28, node: 'gpu-0', ready: false });
    expect(violations({ ...good, pods: [...good.pods, strayed], writes: [suspend, deletion('strayed')] })).toEqual([]);
  });

  it('learns from its delete the node of a pod that came and went while the watch was cut', () => {
    const { node: _, ...unplaced } = pod('strayed', { created: 25, gone: Infinity, ready: false });
    const run = (node: string, more: Partial<RunFacts> = {}): RunFacts => {
      const deleted = writeOfJob({
        ...deletion('strayed'),
        deletedPods: [{ uid: 'strayed', place: 28, node, failed: false }],
      });
      const writes = [suspend, deleted];
      return { ...good, pods: completed([...good.pods, unplaced], writes), writes, ...more };
    };
    expect(violations(run('gpu-0'))).toEqual([]);
    expect(violations(run('gpu-2'))).not.toEqual([]);
    expect(violations(run('gpu-2', { quarantines: [{ node: 'gpu-2', from: 27 }] }))).toEqual([]);
    expect(violations(run('gpu-2', { quarantines: [{ node: 'gpu-2', from: 29 }] }))).not.toEqual([]);
    expect(violations({ ...run('gpu-0'), pods: [...good.pods, unplaced] })).not.toEqual([]);
  });
});

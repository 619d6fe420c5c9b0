import { describe, expect, it } from '@jest/globals';
import { logLimits } from '../../contract/progress/logs.ts';
import { wantedLog } from '../../contract/progress/logs.schema.ts';
import { type LoggingJob, wantedLogs } from '../../controller/progress/wanted-logs.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';

const pod = (rank: number, more: Partial<TrainingPod> = {}): TrainingPod => ({
  name: `llm-${rank}`,
  uid: `uid-${rank}`,
  container: 'pytorch',
  job: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job' },
  workload: 'llm',
  createdAt: '2026-11-21T06:59:00Z',
  place: { rank },
  node: 'gpu-1',
  startedAt: '2026-11-22T22:00:00Z',
  present: true,
  ...more,
});
const rankOf = ({ place }: TrainingPod): number | undefined => ('rank' in place ? place.rank : undefined);
type More = Partial<Omit<LoggingJob, 'view'>> & { readonly view?: Partial<LoggingJob['view']> };
const job =
  ({ view, ...more }: More = {}) =>
  (of: TrainingPod): LoggingJob => ({
    view: { optedIn: true, podsExpected: 4, ...view },
    rank: rankOf(of),
    writesFiles: false,
    isLate: false,
    ...more,
  });
const all = [0, 1, 2, 3].map((rank) => pod(rank));
const ranks = (more?: More, format: 'auto' | 'off' = 'auto') =>
  wantedLogs(all, job(more), { format }).map(({ pod: name }) => name);

describe('the logs that an agent is asked for', () => {
  it('are those of the first and the last rank', () => {
    expect(ranks()).toEqual(['llm-0', 'llm-3']);
    expect(wantedLogs([pod(0)], job(), { format: 'auto' })).toEqual([
      { namespace: 'train', pod: 'llm-0', uid: 'uid-0', container: 'pytorch', format: 'auto' },
    ]);
  });

  it('are those of all ranks once the job is late, the first and the last one before the others', () => {
    expect(ranks({ isLate: true })).toEqual(['llm-0', 'llm-3', 'llm-1', 'llm-2']);
  });

  it.each<[sentence: string, more: More]>([
    ['is not opted in', { view: { optedIn: false } }],
    ['has finished', { view: { finished: { as: 'succeeded', because: 'x' } } }],
    ['writes progress files', { writesFiles: true }],
    ['wants its logs not to be read', { view: { overrides: { logFormat: 'off', ignored: [] } } }],
  ])('are none of a job that %s', (_sentence, more) => {
    expect(ranks({ ...more, isLate: true })).toEqual([]);
  });

  it('are none of a pod that has not started, and none of a job that does not exist', () => {
    const { startedAt: _, ...waiting } = pod(0);
    expect(wantedLogs([waiting], job(), { format: 'auto' })).toEqual([]);
    expect(wantedLogs(all, () => undefined, { format: 'auto' })).toEqual([]);
  });

  it('are none where the operator says so, unless the job chooses a format or has a pattern', () => {
    const overrides = (more: object) => ({ view: { overrides: { ignored: [], ...more } } });
    expect(ranks({}, 'off')).toEqual([]);
    expect(ranks(overrides({ logFormat: 'megatron' }), 'off')).toHaveLength(2);
    expect(wantedLogs(all, job(overrides({ logStep: '(?<step>x)' })), { format: 'off' })[0]).toMatchObject({
      format: 'auto',
      patterns: { step: '(?<step>x)' },
    });
  });

  it('are read with the patterns of the settings, unless the job chooses a format or has patterns', () => {
    const patterns = (overrides: object) =>
      wantedLogs([pod(0)], job({ view: { overrides: { ignored: [], ...overrides } } }), {
        format: 'auto',
        step: 'done (?<step>[0-9]+)',
      }).map((wanted) => wanted.patterns);
    expect(patterns({})).toEqual([{ step: 'done (?<step>[0-9]+)' }]);
    expect(patterns({ logFormat: 'megatron' })).toEqual([undefined]);
    expect(patterns({ logCheckpoint: '(?<checkpoint>[0-9]+)' })).toEqual([{ checkpoint: '(?<checkpoint>[0-9]+)' }]);
  });

  it('are no more than one node may have, and such as an agent accepts', () => {
    const many = Array.from({ length: 100 }, (_, rank) => pod(rank));
    const wanted = wantedLogs(many, job({ isLate: true }), { format: 'auto' });
    expect(wanted).toHaveLength(logLimits.perNode);
    expect(wanted.map((each) => wantedLog.safeParse(each).success)).not.toContain(false);
  });

  it.each([
    ['namespace', '..'],
    ['pod', '../../etc'],
    ['pod', 'a/b'],
    ['container', ''],
    ['uid', '../x'],
    ['format', 'off'],
    ['patterns', { step: 'x'.repeat(201) }],
  ])('are not accepted by an agent with a %s of %j', (field, value) => {
    const [good] = wantedLogs([pod(0)], job(), { format: 'auto' });
    expect(wantedLog.safeParse({ ...good, [field]: value }).success).toBe(false);
  });
});

import { describe, expect, it } from '@jest/globals';
import type { LogReport } from '../../contract/progress/logs.ts';
import { logTaker } from '../../controller/progress/logs.ts';
import { openLogTable } from '../../controller/progress/log-table.ts';
import type { LoggingJob } from '../../controller/progress/wanted-logs.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';

const after = (ms: number): string => new Date(Date.now() + ms).toISOString();
const startedAt = after(-600_000);

const pod = (rank: number): TrainingPod => ({
  name: `llm-${rank}`,
  uid: `uid-${rank}`,
  container: 'pytorch',
  job: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job' },
  workload: 'llm',
  createdAt: '2026-11-21T06:59:00Z',
  place: { rank },
  node: `gpu-${rank}`,
  startedAt,
  present: true,
});

/** A job of four ranks, one on each node. */
function taking() {
  const table = openLogTable(() => true);
  const job = ({ place }: TrainingPod): LoggingJob => ({
    view: { optedIn: true, podsExpected: 4 },
    rank: 'rank' in place ? place.rank : undefined,
    writesFiles: false,
    isLate: false,
  });
  const take = logTaker({
    table,
    writersOn: (node) => [0, 1, 2, 3].map(pod).filter((each) => each.node === node),
    jobOf: job,
    logDefaults: { format: 'auto' },
    count: () => undefined,
    onAnswer: () => undefined,
  });
  const report = (rank: number, more: Partial<LogReport>) =>
    take({ node: `gpu-${rank}`, read: [], logs: [{ pod: `uid-${rank}`, at: after(0), ...more }] });
  return { report, progress: () => table.progressOf('job')?.progress, table };
}

describe('reports of logs', () => {
  it('give a job the steps of its first or last rank', () => {
    const { report, progress } = taking();
    expect(report(0, { step: 100, stepAt: after(-1000) })).toEqual(['counted']);
    expect(progress()).toMatchObject({ step: 100 });
  });

  it('give it no step, checkpoint or phase of another rank', () => {
    const { report, progress } = taking();
    report(0, { step: 100, stepAt: after(-1000) });
    const far = { checkpointStep: 9_000_000, checkpointAt: after(0), phase: 'evaluating', phaseAt: after(0) } as const;
    report(2, { step: 9_000_000, stepAt: after(0), ...far });
    expect(progress()).toMatchObject({ step: 100, phase: 'training' });
    expect(progress()).not.toHaveProperty('checkpointStep');
  });

  it('have no step that is later than their last line', () => {
    const { report, progress } = taking();
    report(0, { step: 100, stepAt: after(-1000), checkpointStep: 9_000_000, checkpointAt: after(3_600_000) });
    expect(progress()).toMatchObject({ step: 100 });
    expect(progress()).not.toHaveProperty('checkpointStep');
  });

  it('do not count when their last line is of the future, or of a pod on another node', () => {
    const { report, progress } = taking();
    expect(report(0, { at: after(3_600_000), step: 100, stepAt: after(3_600_000) })).toEqual(['stale']);
    expect(report(1, { pod: 'uid-0', step: 100, stepAt: after(0) })).toEqual(['no-pod']);
    expect(progress()).toBeUndefined();
  });
});

import { describe, expect, it } from '@jest/globals';
import type { LogReport } from '../../../contract/progress/logs.ts';
import { progressOfLogs } from '../../../policy/progress/log-progress.ts';
import { judgeWatchdogs } from '../../../policy/progress/watchdogs.ts';

const at = (second: number): string => `2026-11-22T22:00:${String(second).padStart(2, '0')}.000Z`;
const log = (rank: number, report: Partial<LogReport>) => ({
  rank,
  report: { pod: `pod-${rank}`, at: at(0), ...report },
});
const step = (number: number, second: number) => ({ step: number, stepAt: at(second) });
const checkpoint = (number: number, second: number) => ({ checkpointStep: number, checkpointAt: at(second) });

describe('the progress of a job from the logs of several ranks', () => {
  it('is not known while no log has a step', () => {
    expect(progressOfLogs([])).toBeUndefined();
    expect(progressOfLogs([{ rank: 0 }, log(3, checkpoint(50, 1))])).toBeUndefined();
  });

  it('has its steps from the last rank and its checkpoints from the first, where these print them', () => {
    expect(progressOfLogs([log(0, checkpoint(50, 1)), log(3, step(60, 2))])).toMatchObject({
      from: { rank: 3 },
      progress: { step: 60, at: at(2), checkpointStep: 50, phase: 'training' },
    });
  });

  it('has its steps from the lowest rank that prints them, though another was printed later', () => {
    expect(progressOfLogs([log(3, step(61, 3)), log(0, step(60, 2))])).toMatchObject({ from: { rank: 0 } });
  });

  it('is at least as far as a checkpoint that was completed after the last printed step', () => {
    const progress = (saved: Partial<LogReport>) => progressOfLogs([log(0, saved), log(3, step(60, 2))])?.progress;
    expect(progress(checkpoint(65, 4))).toMatchObject({ step: 65, at: at(4), checkpointStep: 65 });
    expect(progress(checkpoint(65, 1))).toMatchObject({ step: 60, at: at(2), checkpointStep: 60 });
  });

  it('is in another phase when any rank says so after the last step', () => {
    const phase = (second: number) =>
      progressOfLogs([log(0, { phase: 'evaluating', phaseAt: at(second) }), log(3, step(60, 2))])?.progress.phase;
    expect([phase(1), phase(2), phase(3)]).toEqual(['training', 'evaluating', 'evaluating']);
  });
});

describe('the watchdogs of a job', () => {
  const watchdog = (rank: number) =>
    ({ at: at(9), what: 'timeout', rank, group: '0 (default_pg)', operation: 'ALLREDUCE', sequence: 7 }) as const;
  const pod = (rank: number) => ({ name: `llm-${rank}`, node: `gpu-${rank}` });

  it('are a witness each, and make a suspect of the pod whose watchdog is silent', () => {
    const found = judgeWatchdogs([
      { pod: pod(0), watchdogs: [watchdog(0), watchdog(1)] },
      { pod: pod(1), watchdogs: [] },
      { pod: pod(2), watchdogs: [watchdog(4)] },
    ]);
    expect(found.witnesses).toEqual([
      'watchdog of llm-0 on gpu-0: a collective timed out (rank 0, ALLREDUCE, 7)',
      'watchdog of llm-2 on gpu-2: a collective timed out (rank 4, ALLREDUCE, 7)',
    ]);
    expect(found.suspects).toMatchObject([{ pod: 'llm-1', node: 'gpu-1' }]);
  });

  it('say nothing while all of them are silent', () => {
    expect(judgeWatchdogs([{ pod: pod(0), watchdogs: [] }])).toEqual({ witnesses: [], suspects: [] });
  });
});

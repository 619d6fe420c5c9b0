import { describe, expect, it } from '@jest/globals';
import type { JobOverrides } from '../../../contract/job/job-overrides.ts';
import { jobPolicy } from '../../../policy/job/policy.ts';
import { settings } from '../../support/builders.ts';

const overrides = (more: Partial<JobOverrides>): JobOverrides => ({ ignored: [], ...more });
const { recovery } = settings();

describe('the policy for one job', () => {
  it('is that of the operator where the job sets nothing', () => {
    expect(jobPolicy(undefined, recovery)).toEqual({
      mode: 'grace',
      checkpoint: 'fresh',
      short: 'hold',
      dead: 'restart',
      level: 'job',
      hang: 'notify',
      ignored: [],
    });
  });

  it('is what the job requests', () => {
    const asked = overrides({
      mode: 'off',
      checkpoint: 'on-termination',
      capacity: 'shrink',
      minReplicas: 2,
      level: 'pod',
      hang: 'recover',
      retries: 3,
    });
    expect(jobPolicy(asked, recovery)).toEqual({
      mode: 'off',
      checkpoint: 'on-termination',
      short: 'shrink',
      dead: 'shrink',
      level: 'pod',
      hang: 'recover',
      retries: 3,
      ignored: [],
    });
  });

  it('is limited to what the operator allows, and says what was not applied', () => {
    const strict = settings({
      recovery: { jobMay: { mode: ['grace', 'off'], capacity: ['hold'], hang: ['notify'], retries: 5 } },
    }).recovery;
    const policy = jobPolicy(
      overrides({
        mode: 'force',
        capacity: 'standby',
        hang: 'recover',
        retries: 50,
        ignored: ['level fast is not known'],
      }),
      strict,
    );
    expect(policy).toMatchObject({ mode: 'grace', short: 'hold', dead: 'restart', hang: 'notify', retries: 5 });
    expect(policy.ignored).toHaveLength(6);
    expect(policy.ignored).toEqual(
      expect.arrayContaining([
        'level fast is not known',
        "retries 50 is above the operator's 5, which holds",
        'mode force is not allowed by the operator: grace holds',
        'capacity standby is not allowed by the operator: hold holds',
        'for a dead job, capacity standby is not allowed by the operator: restart holds',
        'hang recover is not allowed by the operator: notify holds',
      ]),
    );
  });

  it('says whether a refused capacity choice is for a running or a dead job, where it is the default of the other', () => {
    const strict = settings({ recovery: { jobMay: { capacity: ['ask'] } } }).recovery;
    expect(jobPolicy(overrides({ capacity: 'hold' }), strict)).toMatchObject({
      short: 'hold',
      dead: 'restart',
      ignored: ['for a dead job, capacity hold is not allowed by the operator: restart holds'],
    });
    expect(jobPolicy(overrides({ capacity: 'restart' }), strict)).toMatchObject({
      short: 'hold',
      dead: 'restart',
      ignored: ['capacity restart is not allowed by the operator: hold holds'],
    });
  });

  it('holds a job whose sizes cannot be used', () => {
    expect(jobPolicy(overrides({ capacity: 'shrink', allowedSizes: [] }), recovery)).toMatchObject({
      short: 'shrink',
      dead: 'shrink',
    });
  });

  it('does not shrink a job that does not say how small it may become', () => {
    expect(jobPolicy(overrides({ capacity: 'shrink' }), recovery)).toMatchObject({
      short: 'hold',
      dead: 'restart',
      ignored: [expect.stringContaining('min-replicas')],
    });
    expect(jobPolicy(overrides({ capacity: 'shrink', allowedSizes: [4, 2] }), recovery)).toMatchObject({
      short: 'shrink',
      ignored: [],
    });
  });

  it('awaits no final checkpoint where pods get no grace period', () => {
    expect(jobPolicy(overrides({ mode: 'force', checkpoint: 'on-termination' }), recovery)).toMatchObject({
      mode: 'force',
      checkpoint: 'none',
      ignored: [expect.stringContaining('leaves no time')],
    });
  });
});

import { describe, expect, it } from '@jest/globals';
import { describeAnswer } from '../../../cli/job/approval.ts';

const now = Date.parse('2026-11-21T07:09:13Z');
const incident = 'recovery/train/llm/0b1c/2026-11-21T07:09:03.117Z';
const question = {
  id: 'stop@2026-11-21T07:09:03.204Z',
  because: 'the job is degrading and holds 64 GPUs: an approval is needed from 32 GPUs on',
  until: '2026-11-21T07:39:03.204Z',
  otherwise: 'deny',
} as const;
const ada = { by: 'ada', reason: 'agreed' };

describe('an answer to a recovery', () => {
  it('is printed with the question and its default answer', () => {
    expect(describeAnswer({ incident, approved: true, question }, ada, now).split('\n')).toEqual([
      incident,
      '  asked      the job is degrading and holds 64 GPUs: an approval is needed from 32 GPUs on',
      '  question   stop@2026-11-21T07:09:03.204Z',
      '  default    deny, from 07:39:03 on',
      '  approved   by ada: agreed',
    ]);
  });

  it('is printed as a denial', () => {
    expect(describeAnswer({ incident, approved: false, question }, ada, now)).toContain('  denied     by ada: agreed');
  });
});

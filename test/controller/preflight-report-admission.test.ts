import { describe, expect, it } from '@jest/globals';
import type { CollectedReport } from '../../contract/preflight/preflight.ts';
import type { RefusedReport } from '../../contract/preflight/files.ts';
import { type AdmissionResult, openReportAdmission } from '../../controller/preflight/report-admission.ts';

const report = (second: number): CollectedReport => ({
  report: { size: 2, rank: 0, node: 'gpu-0', address: '', tests: [] },
  pod: { name: 'llm-0', uid: 'a', createdAt: '2026-11-21T06:59:00Z' },
  share: { asked: 8, of: 8 },
  writtenAt: new Date(Date.UTC(2026, 10, 21, 7, 0, second)).toISOString(),
});
const refusal = (second: number): RefusedReport => ({
  rank: 0,
  node: 'gpu-0',
  what: 'stale',
  because: 'old',
  at: report(second).writtenAt,
});

function setUp() {
  const clock = { now: 0 };
  const opened = openReportAdmission(() => clock.now);
  /** Temporal accepts what may be sent. */
  function take(second: number, uid = 'a'): AdmissionResult {
    const admission = opened.report(uid, report(second));
    if (admission === 'send') opened.settle(uid, report(second), true);
    return admission;
  }
  function refuse(second: number): AdmissionResult {
    const admission = opened.refusal('a', refusal(second));
    if (admission === 'send') opened.settle('a', refusal(second), true);
    return admission;
  }
  return { ...opened, clock, take, refuse };
}

describe('what is sent about a pod', () => {
  it('is each report once', () => {
    const { take } = setUp();
    expect([take(0), take(0)]).toEqual(['send', 'known']);
  });

  it('is one new report in a second, and that of another pod too', () => {
    const { take, clock } = setUp();
    expect([take(0), take(1), take(1, 'b')]).toEqual(['send', 'soon', 'send']);
    clock.now = 1000;
    expect(take(1)).toBe('send');
  });

  it('is no more than 100 reports, of which the last is still known', () => {
    const { take, clock } = setUp();
    const admissions = Array.from({ length: 101 }, (_, second) => {
      clock.now += 1000;
      return take(second);
    });
    expect(admissions.lastIndexOf('send')).toBe(99);
    expect(admissions[100]).toBe('many');
    expect(take(99)).toBe('known');
  });

  it('does not count what Temporal did not accept', () => {
    const { report: ask, settle, take, clock } = setUp();
    for (let tries = 0; tries < 200; tries++) {
      clock.now += 1000;
      expect(ask('a', report(0))).toBe('send');
      settle('a', report(0), false);
    }
    clock.now += 1000;
    expect(take(0)).toBe('send');
  });

  it('is not known while it is under way', () => {
    const { report: ask, refusal: refuse } = setUp();
    expect([ask('a', report(0)), ask('a', report(0))]).toEqual(['send', 'soon']);
    expect([refuse('a', refusal(0)), refuse('a', refusal(0))]).toEqual(['send', 'send']);
  });

  it('is each refusal once, and no more than 20', () => {
    const { refuse } = setUp();
    expect([refuse(0), refuse(0)]).toEqual(['send', 'known']);
    const more = Array.from({ length: 30 }, (_, second) => refuse(second + 1));
    expect(more.filter((admission) => admission === 'send')).toHaveLength(19);
    expect(more.at(-1)).toBe('many');
  });
});

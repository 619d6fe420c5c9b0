import { describe, expect, it } from '@jest/globals';
import { preflightFaults } from '../../../contract/faults/faults.ts';
import type { JudgementRequest } from '../../../contract/preflight/preflight.ts';
import { decideNode } from '../../../policy/node/node.ts';
import { decideCollection, decidePreflight } from '../../../policy/preflight/preflight.ts';
import { settings } from '../../support/builders.ts';
import { reportOf, reportsOf, type ReportTruth, workload } from '../../support/preflight-reports.ts';

const asked = (truth: ReportTruth, more: Partial<JudgementRequest> = {}): JudgementRequest => ({
  workload,
  run: 2,
  size: truth.size,
  reports: reportsOf(truth),
  evidence: 'complete',
  notified: [],
  ...more,
});

describe('the decision on a run of preflight reports', () => {
  it.each(['statistical', 'strict'] as const)('names the slow node by the rule %s, for its job alone', (rule) => {
    const decision = decidePreflight(asked({ size: 8, slow: [3] }), settings({ preflight: { rule, threshold: 50 } }));
    expect(decision).toMatchObject({ rule, failed: [], slow: [{ node: 'gpu-3' }], missing: [], counts: { slow: 1 } });
    expect(decision.faults).toMatchObject([
      {
        id: 'preflight/train/llm/job-uid/2/gpu-3',
        source: 'preflight',
        code: preflightFaults.slow,
        node: 'gpu-3',
        job: 'job-uid',
      },
    ]);
    expect(decision.because).toContain('slow: gpu-3');
  });

  it('reports from a part only what is broken, and no node twice', () => {
    const truth = { size: 8, slow: [3], broken: [5] };
    const part = decidePreflight(asked(truth, { evidence: 'part' }), settings());
    expect(part).toMatchObject({
      slow: [],
      failed: [{ node: 'gpu-5' }],
      faults: [{ code: preflightFaults.gpu, node: 'gpu-5' }],
    });
    const whole = decidePreflight(asked(truth, { notified: ['gpu-5'] }), settings());
    expect(whole.failed.map(({ node }) => node)).toEqual(['gpu-5']);
    expect(whole.faults.map(({ node }) => node)).toEqual(['gpu-3']);
  });

  it('says which ranks are missing, and never blames them', () => {
    const decision = decidePreflight(
      asked({ size: 8 }, { evidence: 'expired', reports: reportsOf({ size: 8 }).slice(0, 6) }),
      settings(),
    );
    expect(decision).toMatchObject({ missing: [6, 7], faults: [], counts: { failed: 0, slow: 0 } });
    expect(decision.because).toContain('from 6 of 8 reports');
  });

  it('notifies no node without a report', () => {
    const reports = [2, 3, 5].map((rank) => reportOf({ size: 6, slow: [4] }, rank));
    const decision = decidePreflight(
      asked({ size: 6 }, { evidence: 'expired', reports }),
      settings({ preflight: { rule: 'strict' } }),
    );
    const reported = new Set(reports.map(({ report }) => report.node));
    expect(decision.faults.filter(({ node }) => !reported.has(node ?? ''))).toEqual([]);
  });

  it('has a decision without any reports', () => {
    expect(decidePreflight(asked({ size: 0 }, { size: 0, evidence: 'expired' }), settings())).toMatchObject({
      faults: [],
      missing: [],
    });
  });

  it('applies the configured responses to slow and to broken nodes', () => {
    const { faults } = decidePreflight(asked({ size: 8, slow: [3], broken: [5] }), settings());
    const kinds = (given: object) =>
      faults.map((fault) => decideNode({ faults: [fault] }, settings({ mode: 'act', ...given })).kind);
    expect(kinds({})).toEqual(['quarantine', 'quarantine']);
    expect(kinds({ preflight: { slow: 'warn' } })).toEqual(['quarantine', 'warn']);
    expect(kinds({ preflight: { failed: 'record' } })).toEqual(['record', 'quarantine']);
    expect(decideNode({ faults }, settings()).kind).toBe('observe');
  });

  it('collects for as long as settings say', () => {
    expect(decideCollection({ size: 8 }, settings({ preflight: { collection: '10m', deadline: '1h' } }))).toMatchObject(
      {
        inactivityMs: 600_000,
        deadlineMs: 3_600_000,
      },
    );
  });
});

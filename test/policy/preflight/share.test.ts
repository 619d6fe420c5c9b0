import { describe, expect, it } from '@jest/globals';
import {
  type JudgementRequest,
  type NodeShare,
  preflightRules,
  type Workload,
} from '../../../contract/preflight/preflight.ts';
import { decidePreflight } from '../../../policy/preflight/preflight.ts';
import { settings } from '../../support/builders.ts';
import { reportsOf, workload } from '../../support/preflight-reports.ts';

const whole = { asked: 8, of: 8 } as const;

/** Eight ranks on separate nodes, the third slow and the fifth broken. The pods of both hold this share of their nodes. */
function asked(share: NodeShare, more: Partial<JudgementRequest> = {}): JudgementRequest {
  const reports = reportsOf({ size: 8, slow: [3], broken: [5] }).map((each) =>
    [3, 5].includes(each.report.rank) ? { ...each, share } : each,
  );
  return { workload, run: 1, size: 8, reports, evidence: 'complete', notified: [], ...more };
}

describe.each(preflightRules)('by the rule %s, a node', (rule) => {
  const decide = (request: JudgementRequest) =>
    decidePreflight(request, settings({ mode: 'act', preflight: { rule, threshold: 50 } }));
  const nodes = ({ faults }: ReturnType<typeof decide>) => faults.map(({ node = '' }) => node).toSorted();

  it('is convicted by pods that request all its accelerators', () => {
    expect(nodes(decide(asked(whole)))).toEqual(['gpu-3', 'gpu-5']);
  });

  it.each<[what: string, share: NodeShare]>([
    ['for none', { asked: 0, of: 8 }],
    ['for some', { asked: 7, of: 8 }],
    ['for none, where there are none', { asked: 0, of: 0 }],
  ])('is not convicted by pods that request %s, and is undetermined', (_, share) => {
    const decision = decide(asked(share));
    expect(nodes(decision)).toEqual([]);
    expect(decision).toMatchObject({ failed: [], slow: [], counts: { failed: 0, slow: 0 } });
    const shared = decision.undetermined.filter(({ node }) => ['gpu-3', 'gpu-5'].includes(node));
    expect(shared.map(({ node }) => node).toSorted()).toEqual(['gpu-3', 'gpu-5']);
    for (const { because } of shared)
      expect(because).toContain(`its pods request ${share.asked} of the ${share.of} accelerators of the node`);
    expect(decision.because).toContain(`${share.asked} of the ${share.of} accelerators`);
  });

  it('is reported at once only by pods that request all its accelerators', () => {
    expect(nodes(decide(asked(whole, { evidence: 'part' })))).toEqual(['gpu-5']);
    expect(decide(asked({ asked: 1, of: 8 }, { evidence: 'part' }))).toMatchObject({ failed: [], faults: [] });
  });
});

it('pods that share a node convict it together, however early the first of them reported', () => {
  const reports = reportsOf({ size: 8, broken: [5] }).map((each) =>
    each.report.rank < 4
      ? each
      : { ...each, report: { ...each.report, node: 'gpu-5' }, share: { asked: each.report.rank === 7 ? 8 : 2, of: 8 } },
  );
  const decide = (some: typeof reports) =>
    decidePreflight(
      { workload, run: 1, size: 8, reports: some, evidence: 'part', notified: [] },
      settings({ mode: 'act' }),
    ).faults.map(({ node }) => node);
  expect(decide(reports.slice(0, 7))).toEqual([]);
  expect(decide(reports)).toEqual(['gpu-5']);
});

describe('the fault of a node that a preflight found', () => {
  const jobsOf = (of: Workload) =>
    decidePreflight(asked(whole, { workload: of }), settings({ mode: 'act' })).faults.map(({ source, job }) => ({
      source,
      job,
    }));

  it('concerns the job that tested, and says where it comes from', () => {
    const fault = { source: 'preflight', job: workload.uid };
    expect(jobsOf(workload)).toEqual([fault, fault]);
  });

  it('concerns no job where the workload is none that kcover knows, not even the one whose UID it claims', () => {
    const { job: _, ...unknown } = workload;
    for (const { job } of jobsOf(unknown)) expect(job).toBe(`workload/${workload.uid}`);
    for (const { job = '' } of jobsOf({ ...unknown, uid: 'u'.repeat(64) }))
      expect([job.length <= 64, job.includes('/')]).toEqual([true, true]);
  });
});

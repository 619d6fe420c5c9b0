import { describe, expect, it } from '@jest/globals';
import type { PreflightDecision } from '../../contract/preflight/preflight.ts';
import { decidePreflight } from '../../policy/preflight/preflight.ts';
import { closeRun } from '../../workflows/preflight/closing.ts';
import { sortInbox } from '../../workflows/preflight/inbox.ts';
import { type Collection, dataOf, firstState, type OpenRun } from '../../workflows/preflight/state.ts';
import { settings } from '../support/builders.ts';
import { podOf, reportOf, reportsOf, workload } from '../support/preflight-reports.ts';
import type { CollectedReport, TestingPod } from '../../contract/preflight/preflight.ts';

const first = firstState(0);
const arrived = (state: Collection, ...items: readonly (CollectedReport | TestingPod)[]): Collection =>
  sortInbox({
    ...state,
    inbox: items.map((one) => ({ at: 0, ...('report' in one ? { report: one } : { testing: one }) })),
  });

const decided = (open: OpenRun): PreflightDecision => {
  const { run, size, reports, notified } = open;
  return {
    ...decidePreflight({ workload, run, size, reports, evidence: 'complete', notified }, settings({ mode: 'act' })),
    settings: '',
    at: 1,
  };
};
const openIn = ({ open }: Collection): OpenRun => {
  if (!open) throw new Error('no run is open');
  return open;
};
const closed = (collection: Collection, open: Partial<OpenRun> = {}) => {
  const run = { ...openIn(collection), ...open };
  const decision = { ...decided(run), because: 'slow: gpu-1' };
  return closeRun(dataOf({ ...first, ...collection }), {
    open: run,
    evidence: run.superseded ? 'superseded' : 'complete',
    first: decision,
  });
};

describe('a run that is closed', () => {
  it('says which nodes could not be notified, and why', () => {
    const collection = arrived(first, ...reportsOf({ size: 4, slow: [1] }));
    const { last } = closed(collection, {
      notified: ['gpu-1'],
      unnotified: [{ node: 'gpu-1', because: 'the namespace is full' }],
    });
    expect(last).toMatchObject({
      unnotified: ['gpu-1'],
      because: 'slow: gpu-1; gpu-1 could not be notified, so no quarantine follows: the namespace is full',
    });
  });

  it('says nothing of that when all were notified', () => {
    expect(
      closed(arrived(first, ...reportsOf({ size: 4, slow: [1] })), { notified: ['gpu-1'] }).last,
    ).not.toHaveProperty('unnotified');
  });

  it('leaves to the next run what pods of the next set have sent already, and what is notified stays so', () => {
    const mixed = arrived(first, reportOf({ size: 4 }, 0), reportOf({ size: 4, attempt: 2 }, 1), podOf(1, 2));
    expect(mixed).toMatchObject({
      open: { superseded: { because: 'llm-worker-1 and its set of pods are newer' } },
      inbox: [{ testing: podOf(1, 2) }],
    });
    const next = closed(mixed, { notified: ['gpu-1'] });
    expect(next).toMatchObject({
      run: 2,
      last: { run: 1, outcome: 'superseded', received: 2 },
      counted: [{ rank: 0 }],
      open: { run: 2, notified: ['gpu-1'] },
    });
    expect(next.open?.reports.map(({ pod }) => pod)).toEqual([podOf(1, 2)]);
    expect(sortInbox(next)).toMatchObject({ testing: podOf(1, 2), inbox: [], open: { run: 2, superseded: undefined } });
  });
});

describe('reports that are sorted', () => {
  it('open no further run when they belong to the last', () => {
    const reports = reportsOf({ size: 4 });
    const { open: _, ...over } = closed(arrived(first, ...reports));
    expect(arrived(over, ...reports, podOf(2))).toMatchObject({ run: 1, inbox: [], open: undefined });
    const newer = { ...reportOf({ size: 4 }, 1), writtenAt: '2026-11-21T09:00:00Z' };
    expect(arrived(over, newer).open).toBeUndefined();
    expect(arrived(over, { ...newer, report: { ...newer.report, failed: ['gpu'] } }).open).toMatchObject({ run: 2 });
  });

  it('keep a run open only for ranks that are new', () => {
    const one = arrived(first, reportOf({ size: 4 }, 0));
    const again = { ...reportOf({ size: 4 }, 0), writtenAt: '2026-11-21T09:00:00Z' };
    const later = (report: CollectedReport) => sortInbox({ ...one, inbox: [{ at: 5, report }] }).open;
    expect(later(again)).toMatchObject({ lastAt: 0, reports: [{ writtenAt: again.writtenAt }] });
    expect(later(reportOf({ size: 4 }, 1))).toMatchObject({ lastAt: 5 });
  });

  it('are sorted in one go, however many they are', () => {
    const truth = { size: 10_000, slow: [7] };
    const all = arrived(first, ...Array.from({ length: truth.size }, (_, rank) => reportOf(truth, rank)));
    expect(openIn(all).reports).toHaveLength(truth.size);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { directoryRecords } from '../../activities/index.ts';
import { fleetReport, quantile } from '../../cli/report/fleet.ts';
import type { NodeRecord } from '../../contract/node/nodes.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { job, kernelFault, pods } from '../support/builders.ts';
import { kcover } from './kcover.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const from = now - 10 * 3_600_000;
const at = (minutes: number) => new Date(from + minutes * 60_000).toISOString();

/** A recovery that took `took` minutes, with a stop after one minute. */
const recovery = (start: number, took: number, more: Partial<IncidentRecord> = {}): IncidentRecord => ({
  schema: 1,
  incident: `recovery/train/llm/job-uid/${at(start)}`,
  job,
  outcome: 'recovered',
  because: '',
  startedAt: at(start),
  endedAt: at(start + took),
  gpus: 60,
  optedInAt: at(0),
  phases: [
    { phase: 'deciding', at: at(start) },
    { phase: 'stopping', at: at(start + 1) },
  ],
  faults: [kernelFault({ node: 'gpu-3', seenAt: at(start) })],
  decisions: [],
  stops: [{ attempt: 1, by: 'suspend', at: at(start + 1), pods }],
  runningPods: [],
  timeline: [],
  ...more,
});

const quarantine = (node: string, start: number, end?: number): NodeRecord => ({
  schema: 1,
  incident: `node/${node}/${at(start)}`,
  node,
  uid: node,
  systemUuid: '',
  because: '',
  by: 'kcover',
  quarantinedAt: at(start),
  taint: 'ours',
  faults: [],
  ...(end !== undefined && { ended: { at: at(end), outcome: 'released', because: '' } }),
});

const records = [
  recovery(0, 10),
  recovery(60, 20, { outcome: 'restarted', job: { ...job, name: 'other', uid: 'other' } }),
  recovery(120, 30, { faults: [kernelFault({ code: 'xid/48', node: 'gpu-4', seenAt: at(120) })] }),
  // It stopped nothing, so it cost nothing.
  recovery(200, 5, { outcome: 'refused', stops: [] }),
  recovery(300, 10, { gpus: undefined as never }),
  // Ended before the window.
  recovery(-100, 10),
  quarantine('gpu-3', 0, 60),
  // Its end was never written, and another one followed.
  quarantine('gpu-4', 10),
  quarantine('gpu-4', 120),
];

describe('the report of a time', () => {
  const report = fleetReport(records, { from, to: now });

  it('counts what ended within it', () => {
    expect(report).toMatchObject({
      recoveries: 5,
      outcomes: { recovered: 3, restarted: 1, refused: 1 },
      verifiedShare: 0.75,
      timeToRecover: { p50: 600_000, p95: 1_800_000 },
      betweenRecoveries: 75 * 60_000,
      gpuHours: 60,
      withoutCost: 1,
      quarantines: { count: 3, open: 1, p50: 3_600_000 },
    });
  });

  it('tells causes, nodes, phases and jobs, the largest first', () => {
    expect(report.byCause).toEqual([
      { cause: 'xid/79', recoveries: 4, gpuHours: 30 },
      { cause: 'xid/48', recoveries: 1, gpuHours: 30 },
    ]);
    expect(report.byNode).toEqual([
      { node: 'gpu-3', recoveries: 4, quarantines: 1 },
      { node: 'gpu-4', recoveries: 1, quarantines: 2 },
    ]);
    expect(report.byPhase).toEqual([
      { phase: 'stopping', gpuHours: 57 },
      { phase: 'deciding', gpuHours: 3 },
    ]);
    expect(report.byJob).toEqual([
      { job: 'train/pytorchjob/llm', recoveries: 4, lostMs: 3_000_000, gpuHours: 40, ettr: 1 - 50 / 600 },
      { job: 'train/pytorchjob/other', recoveries: 1, lostMs: 1_200_000, gpuHours: 20, ettr: 1 - 20 / 600 },
    ]);
  });

  it('takes the smallest value that covers a share', () => {
    const values = [5, 1, 4, 2, 3];
    expect([0.5, 0.95, 1, 0].map((share) => quantile(values, share))).toEqual([3, 5, 5, 1]);
  });
});

describe('kcover report --since', () => {
  let directory = '';
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kcover-fleet-'));
    const store = directoryRecords(directory);
    const fresh = recovery(0, 10, { endedAt: new Date().toISOString(), startedAt: new Date().toISOString() });
    await store.put('fresh', fresh);
    await store.put('old', recovery(-100_000, 10));
    await writeFile(join(directory, 'broken.json'), '{"schema":1,"incident":"x","job":{}}');
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('reads the records alone', async () => {
    const json = await kcover(['report', '--since', '1h', '--records', directory, '--output', 'json']);
    expect(json).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(json.stdout)).toMatchObject({ recoveries: 1, quarantines: { count: 0 } });
    const html = await kcover(['report', '--since', '1h', '--records', directory, '--html']);
    expect(html.stdout).toContain('<strong>1 recoveries</strong>: 1 recovered');
    const text = await kcover(['report', '--since', '1h', '--records', directory]);
    expect(text.stdout).toContain('## What the figures mean');
  });

  it.each([
    ['neither an incident nor a time', []],
    ['both', ['recovery/a/b/c/d', '--since', '1h', '--records', 'x']],
    ['a time without records', ['--since', '1h']],
  ])('refuses %s', async (_, args) => {
    expect(await kcover(['report', ...args])).toMatchObject({ code: 2, stdout: '' });
  });
});

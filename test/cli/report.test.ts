import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { directoryEvidence, directoryRecords } from '../../activities/index.ts';
import { reportOf } from '../../cli/report/incident-report.ts';
import { plain, quote } from '../../cli/report/markdown.ts';
import type { EvidenceFile } from '../../contract/recovery/evidence.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { job, kernelFault, pods } from '../support/builders.ts';
import { kcover } from './kcover.ts';

const incident = 'recovery/train/llm/job-uid/2026-11-21T07:09:03.117Z';
const files: readonly EvidenceFile[] = [
  {
    file: 'llm-worker-2_pytorch.log',
    pod: 'llm-worker-2',
    container: 'pytorch',
    what: 'log',
    bytes: 65_536,
    cut: true,
    redacted: 3,
  },
  { file: 'job.json', what: 'job', bytes: 700 },
];
const record: IncidentRecord = {
  schema: 1,
  incident,
  job,
  outcome: 'recovered',
  because: 'step 1201 is done',
  startedAt: '2026-11-21T07:09:03.117Z',
  endedAt: '2026-11-21T07:14:03.117Z',
  faults: [
    kernelFault({
      evidence: ['NVRM: Xid (PCI:0000:5d:00): 79'],
      quarantine: { state: 'quarantined', because: 'xid/79' },
    }),
  ],
  decisions: [
    {
      kind: 'stop',
      by: 'suspend',
      because: 'gpu-3 is quarantined',
      settings: 'd1',
      at: Date.parse('2026-11-21T07:09:04Z'),
    },
  ],
  stops: [{ attempt: 1, by: 'suspend', at: '2026-11-21T07:09:05.000Z', pods, forced: [pods[3]] }],
  evidence: [
    {
      address: '/evidence/x/attempt-1',
      attempt: 1,
      ranks: 3,
      of: 4,
      files: 2,
      bytes: 66_236,
      digest: 'abc',
      because: 'logs of 1 pod: no answer',
    },
  ],
  progress: {
    before: { step: 1200, checkpointStep: 1100, at: '2026-11-21T07:09:00Z' },
    after: { step: 1201, at: '2026-11-21T07:14:00Z' },
  },
  runningPods: pods,
  timeline: [
    { at: '2026-11-21T07:09:03.117Z', what: 'opened' },
    { at: '2026-11-21T07:09:05.000Z', what: 'stopped attempt 1', because: 'gpu-3 is quarantined' },
  ],
};

describe('the report of a recovery', () => {
  it('starts with how it ended and why, then lists everything in order', () => {
    const text = reportOf(record, undefined);
    expect(text.split('\n').slice(0, 6)).toEqual([
      '# Recovery of train/pytorchjob/llm',
      '',
      '- **recovered**: training was seen to make progress',
      '- because step 1201 is done',
      '- from 2026-11-21T07:09:03.117Z to 2026-11-21T07:14:03.117Z (5m), 1 stop',
      `- incident \`${incident}\``,
    ]);
    expect([...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual([
      'Timeline',
      'Faults',
      'Decisions',
      'Stops',
      'Deleted by force',
      'Progress',
      'Evidence',
      'Running now',
    ]);
    expect(text).toContain('| 2026-11-21T07:09:05.000Z | stopped attempt 1 | gpu-3 is quarantined |');
    expect(text).toContain('- `xid/79` on gpu-3 (0000:5d:00): GPU has fallen off the bus');
    expect(text).toContain('```\nNVRM: Xid (PCI:0000:5d:00): 79\n```');
    expect(text).toContain('- 2026-11-21T07:09:04.000Z **stop by suspend**: gpu-3 is quarantined');
    expect(text).toContain(
      '| before | 1200 | 1100 | 2026-11-21T07:09:00Z |\n| after | 1201 | - | 2026-11-21T07:14:00Z |',
    );
  });

  it('says that a process was not seen to end', () => {
    expect(reportOf(record, undefined)).toContain('The processes of these pods were not seen to end.');
    expect(reportOf(record, undefined)).toContain('- llm-worker-2 on gpu-3, uid `pod-3`');
    expect(reportOf({ ...record, stops: [] }, undefined)).not.toContain('Deleted by force');
  });

  it('lists approvals, awaited checkpoints and capacity decisions', () => {
    const text = reportOf(
      {
        ...record,
        approvals: [
          {
            question: 'stop@2026-11-21T07:09:03.204Z',
            approved: true,
            by: 'ada',
            reason: 'agreed',
            at: '2026-11-21T07:09:04.000Z',
          },
        ],
        checkpoints: [
          { attempt: 1, kind: 'saved', checkpointStep: 1250, waitedMs: 47_000, because: 'step 1250 is saved' },
        ],
        capacity: [
          {
            kind: 'shrink',
            pods: 3,
            because: 'capacity for 3 of 4 pods',
            settings: 'd1',
            at: Date.parse('2026-11-21T07:09:04Z'),
          },
        ],
        pods: { before: 4, after: 3 },
      },
      undefined,
    );
    expect(text).toContain(
      '## Approvals\n\n- 2026-11-21T07:09:04.000Z **approved** by ada: agreed (stop@2026-11-21T07:09:03.204Z)\n',
    );
    expect(text).toContain('## Checkpoints\n\n- Attempt 1: **saved** after 47s: step 1250 is saved\n');
    expect(text).toContain(
      '- 2026-11-21T07:09:04.000Z **shrink**: capacity for 3 of 4 pods\n- It went on with 3 pods instead of 4.\n',
    );
  });

  it('never calls an unverified restart a success', () => {
    expect(reportOf({ ...record, outcome: 'restarted' }, undefined)).toContain(
      '- **restarted**: running again, not verified: training was not seen to make progress',
    );
  });

  it('lists evidence with sizes, and what is missing of it', () => {
    const text = reportOf(record, [{ attempt: 1, files }]);
    expect(text).toContain(
      'Attempt 1: 3 of 4 ranks, 2 files, 64.7 KiB at `/evidence/x/attempt-1`, SHA-256 `abc`\\\nIncomplete: logs of 1 pod: no answer',
    );
    expect(text).toContain(
      '| `job.json` | job | 700 B | - |\n| `llm-worker-2_pytorch.log` | log | 64.0 KiB | cut, 3 redacted |',
    );
    expect(reportOf(record, [{ attempt: 1, files: null }])).toContain('Not in the evidence store that was named.');
  });

  it('names the ranks that the logs make suspects', () => {
    const [evidence] = record.evidence ?? [];
    if (evidence === undefined) throw new Error('the record has no evidence');
    const suspects = [{ pod: 'llm-2', node: 'gpu-2', rank: 2, because: 'rank 2 is *behind*' }];
    expect(reportOf({ ...record, evidence: [{ ...evidence, suspects }] }, undefined)).toContain(
      'Suspect: llm-2 on gpu-2: rank 2 is \\*behind\\*',
    );
  });

  it('leaves out fields that a record of an earlier version lacks', () => {
    const { evidence: _, progress: __, ...old } = record;
    const text = reportOf({ ...old, faults: [], stops: [], timeline: [], runningPods: [] }, undefined);
    expect([...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual(['Decisions']);
  });
});

describe('foreign text', () => {
  it('has no markup in the report', () => {
    expect(plain('a | b\n# c <script> [x](y) *z* `q`\u001b[31m')).toBe(
      'a \\| b # c \\<script\\> \\[x\\](y) \\*z\\* \\`q\\`',
    );
    expect(quote(['```', 'x'])).toBe('````\n```\nx\n````');
  });
});

describe('kcover report', () => {
  let directory = '';
  const places = () => ['--records', join(directory, 'records'), '--evidence', join(directory, 'evidence')];
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kcover-report-'));
    const records = directoryRecords(join(directory, 'records'));
    await records.put(incident, record);
    const draft = await directoryEvidence({
      directory: join(directory, 'evidence'),
      keepMs: 1000,
      most: 2 ** 30,
      share: 100,
      now: Date.now,
    }).open(incident, 1);
    await draft.close(files);
    await writeFile(join(directory, 'records', 'broken.json'), '{');
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('needs neither Temporal nor Kubernetes when a record exists', async () => {
    const ran = await kcover(['report', incident, ...places()]);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toBe(`${reportOf(record, [{ attempt: 1, files }])}\n`);
  });

  it('prints the record and the list of evidence for programs', async () => {
    const { stdout } = await kcover(['report', incident, ...places(), '--output', 'json']);
    expect(JSON.parse(stdout)).toEqual({ record, evidence: [{ attempt: 1, files }] });
  });

  it('refuses an id of another kind', async () => {
    expect(await kcover(['report', 'node/gpu-3/2026-11-21T07:09:03.117Z', ...places()])).toMatchObject({
      code: 2,
      stdout: '',
    });
  });

  it('asks Temporal for what is not recorded', async () => {
    expect(await kcover(['report', `${incident}9`, ...places()])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('temporal.unreachable'),
    });
  });
});

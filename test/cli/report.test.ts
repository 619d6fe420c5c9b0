import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { directoryEvidence, directoryRecords } from '../../activities/index.ts';
import { reportOf } from '../../cli/report/incident-report.ts';
import { costOf, spansOf } from '../../cli/report/cost.ts';
import type { EvidenceIndex } from '../../cli/report/evidence-index.ts';
import { htmlOf } from '../../cli/report/html.ts';
import { code, markdownOf, quote } from '../../cli/report/markdown.ts';
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
  gpus: 32,
  phases: [
    { phase: 'deciding', at: '2026-11-21T07:09:03.117Z' },
    { phase: 'stopping', at: '2026-11-21T07:09:05.000Z' },
    { phase: 'verifying', at: '2026-11-21T07:12:03.117Z' },
    { phase: 'ended', at: '2026-11-21T07:14:03.117Z' },
  ],
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
    before: { step: 1200, checkpointStep: 1100, at: '2026-11-21T07:09:00Z', pace: { msPerStep: 900 } },
    after: { step: 1201, at: '2026-11-21T07:14:00Z' },
  },
  runningPods: pods,
  timeline: [
    { at: '2026-11-21T07:09:03.117Z', what: 'opened' },
    { at: '2026-11-21T07:09:05.000Z', what: 'stopped attempt 1', because: 'gpu-3 is quarantined' },
  ],
};

const markdown = (of: IncidentRecord, evidence?: readonly EvidenceIndex[]) => markdownOf(reportOf(of, evidence));

describe('the report of a recovery', () => {
  it('starts with how it ended and why, then lists everything in order', () => {
    const text = markdown(record);
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
      'Cost',
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
    expect(markdown(record)).toContain('The processes of these pods were not seen to end.');
    expect(markdown(record)).toContain('- llm-worker-2 on gpu-3, uid `pod-3`');
    expect(markdown({ ...record, stops: [] })).not.toContain('Deleted by force');
  });

  it('lists approvals, awaited checkpoints and capacity decisions', () => {
    const text = markdown({
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
    });
    expect(text).toContain(
      '## Approvals\n\n- 2026-11-21T07:09:04.000Z **approved** by ada: agreed (stop@2026-11-21T07:09:03.204Z)\n',
    );
    expect(text).toContain('## Checkpoints\n\n- Attempt 1: **saved** after 47s: step 1250 is saved\n');
    expect(text).toContain(
      '- 2026-11-21T07:09:04.000Z **shrink**: capacity for 3 of 4 pods\n- It went on with 3 pods instead of 4.\n',
    );
  });

  it('never calls an unverified restart a success', () => {
    expect(markdown({ ...record, outcome: 'restarted' })).toContain(
      '- **restarted**: running again, not verified: training was not seen to make progress',
    );
  });

  it('lists evidence with sizes, and what is missing of it', () => {
    const text = markdown(record, [{ attempt: 1, files }]);
    expect(text).toContain(
      'Attempt 1: 3 of 4 ranks, 2 files, 64.7 KiB at `/evidence/x/attempt-1`, SHA-256 `abc`\\\nIncomplete: logs of 1 pod: no answer',
    );
    expect(text).toContain(
      '| `job.json` | job | 700 B | - |\n| `llm-worker-2_pytorch.log` | log | 64.0 KiB | cut, 3 redacted |',
    );
    expect(markdown(record, [{ attempt: 1, files: null }])).toContain('Not in the evidence store that was named.');
  });

  it('names the ranks that the logs make suspects', () => {
    const [evidence] = record.evidence ?? [];
    if (evidence === undefined) throw new Error('the record has no evidence');
    const suspects = [{ pod: 'llm-2', node: 'gpu-2', rank: 2, because: 'rank 2 is *behind*' }];
    expect(markdown({ ...record, evidence: [{ ...evidence, suspects }] })).toContain(
      'Suspect: llm-2 on gpu-2: rank 2 is \\*behind\\*',
    );
  });

  it('leaves out fields that a record of an earlier version lacks', () => {
    const { evidence: _, progress: __, ...old } = record;
    const text = markdown({ ...old, faults: [], stops: [], timeline: [], runningPods: [] });
    expect([...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual(['Decisions']);
  });
});

describe('the cost of an incident', () => {
  it('counts from the first fault until training has passed its last step again, and rework within that', () => {
    expect(costOf(record)).toEqual({
      gpus: 32,
      lostMs: 300_000,
      isWhole: true,
      rework: { from: 1100, steps: 100, ms: 90_000 },
    });
    expect(markdown(record)).toContain(
      '2.7 GPU-hours: 32 GPUs from the last step, or the fault after it, until training had passed its last step again, of which 0.8 went into 100 steps that were made a second time',
    );
  });

  it('begins at the last step where training went on after the fault, but never after the stop', () => {
    const before = { step: 1200, at: '2026-11-21T07:09:04.117Z' };
    expect(costOf({ ...record, progress: { before } })?.lostMs).toBe(299_000);
    expect(costOf({ ...record, progress: { before: { ...before, at: '2027-01-01T00:00:00Z' } } })?.lostMs).toBe(
      298_117,
    );
  });

  it('is a lower bound where training was not seen to catch up, and unknown without accelerators', () => {
    expect(markdown({ ...record, outcome: 'restarted' })).toContain('At least 2.7 GPU-hours');
    const { gpus: _, ...without } = record;
    expect(costOf(without)).toBeUndefined();
    expect(costOf({ ...record, stops: [] })).toBeUndefined();
  });

  it('never counts more rework than was lost', () => {
    const before = { step: 1_000_000, checkpointStep: 0, at: '2026-11-21T07:09:00Z', pace: { msPerStep: 9000 } };
    expect(costOf({ ...record, progress: { before } })?.rework?.ms).toBe(300_000);
  });
});

const ownTags = new Set(
  'html head meta title style body h1 ul li strong code h2 svg g text rect p span i div table thead tbody tr th td pre br'.split(
    ' ',
  ),
);

describe('the report as HTML', () => {
  const page = (of: IncidentRecord) => htmlOf(reportOf(of, [{ attempt: 1, files }]), spansOf(of));

  it('has a bar for each phase, one after the other', () => {
    const seenAt = '2026-11-21T07:09:01.117Z';
    const spans = spansOf({ ...record, faults: [kernelFault({ seenAt })] });
    expect(spans.map(({ phase, from, to }) => [phase, to - from])).toEqual([
      ['detecting', 2000],
      ['deciding', 1883],
      ['stopping', 178_117],
      ['verifying', 120_000],
    ]);
    expect([...page(record).matchAll(/<rect class="(\w+)"/g)].map(([, kind]) => kind)).toEqual([
      'decide',
      'act',
      'prove',
    ]);
    // A clock of a node that runs ahead makes no negative phase.
    expect(spansOf({ ...record, faults: [kernelFault({ seenAt: '2026-11-21T09:00:00Z' })] })[0]?.phase).toBe(
      'deciding',
    );
  });

  it('loads nothing and runs nothing, whatever a tenant has written', () => {
    const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)> & \'';
    const html = page({
      ...record,
      because: evil,
      faults: [kernelFault({ message: evil, device: evil, evidence: [evil], node: evil })],
      stops: [{ attempt: 1, by: 'suspend', at: evil, pods: [{ name: evil, uid: evil, node: evil }] }],
      timeline: [{ at: evil, what: evil, because: evil }],
    });
    expect(html).not.toMatch(/<(?:script|img|link|iframe)/);
    expect(html).toContain("default-src 'none'");
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    // No tag but our own, and no attribute in one that could load or run anything.
    const tags = [...html.matchAll(/<([a-z0-9]+)([^>]*)>/g)];
    expect(new Set(tags.map(([, tag]) => tag))).toEqual(ownTags);
    expect(tags.filter(([, , attributes = '']) => /\b(?:src|href|on\w+)=/.test(attributes))).toEqual([]);
  });
});

describe('foreign text', () => {
  it('has no markup in the report', () => {
    expect(
      markdownOf({ title: 'a | b\n# c <script> [x](y) *z* `q`\u001b[31m', intro: [], sections: [] }).split('\n')[0],
    ).toBe('# a \\| b # c \\<script\\> \\[x\\](y) \\*z\\* \\`q\\`');
    expect(code('a`b|c')).toBe('`a b c`');
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
    expect(ran.stdout).toBe(`${markdown(record, [{ attempt: 1, files }])}\n`);
  });

  it('prints one HTML file', async () => {
    const { stdout } = await kcover(['report', incident, ...places(), '--html']);
    expect(stdout).toBe(`${htmlOf(reportOf(record, [{ attempt: 1, files }]), spansOf(record))}\n`);
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

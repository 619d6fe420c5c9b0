import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import type { PlanInput } from '../../cli/plan/facts.ts';
import { parseFacts } from '../../cli/plan/facts.schema.ts';
import { type PlanReport, planOf } from '../../cli/plan/plan.ts';
import { kernelFault, podFault, settings, tainted } from '../support/builders.ts';
import { at, hypothetical, planFacts } from './plan-facts.ts';
import { kcover } from './kcover.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'kcover-facts-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const facts = planFacts({ hypothetical: hypothetical('xid/79', { node: 'gpu-3' }) });
const full = planFacts({
  attempt: {
    ...facts.attempt,
    terminating: [{ name: 'llm-worker-9', uid: 'pod-9' }],
    nodes: [tainted()],
    paused: { by: 'bob', reason: 'demo' },
  },
  known: {
    fresh: [kernelFault({ quarantine: { state: 'held', because: 'limit' } })],
    handled: [podFault()],
    usage: [{ incident: 'r', startedAt: 1, endedAt: 2, blame: 'user', step: 7 }],
    attemptStartedAt: at,
    paused: { by: 'ada', reason: 'by hand' },
    open: { incident: 'r', stops: 1, attempts: 3, asked: false },
  },
  capacity: {
    needed: 4,
    fit: 3,
    fitWithStandby: 4,
    standbyNodes: ['gpu-7'],
    because: 'x',
    sizes: { now: 4, least: 2 },
  },
});
const withJob = (more: object) => ({ ...facts, attempt: { ...facts.attempt, job: { ...facts.attempt.job, ...more } } });
const why = (written: unknown): string => {
  try {
    parseFacts('facts.json', JSON.stringify(written));
  } catch (error) {
    return String((error as { readonly because?: string }).because);
  }
  return 'taken';
};

describe('kcover plan --facts', () => {
  it('plans without a cluster, and its output can be used as input', async () => {
    const first = await kcover(['plan', '--facts', '-', '--output', 'json'], JSON.stringify(facts));
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: '' });
    const answer = JSON.parse(first.stdout) as PlanReport & { readonly facts: PlanInput };
    expect(answer).toMatchObject({ does: 'stops', facts, decisions: { recovery: { kind: 'stop' } } });
    const file = join(directory, 'facts.yaml');
    writeFileSync(file, stringify(answer));
    const second = await kcover(['plan', '--facts', file, '--output', 'json']);
    expect(JSON.parse(second.stdout)).toEqual(answer);
  });

  it('replaces the settings and the fault of the file by those of the command line', async () => {
    const config = join(directory, 'worker.yaml');
    writeFileSync(config, 'mode: observe\n');
    const args = ['plan', '--facts', '-', '--config', config, '--fault', 'pod/exit', '--pod', 'llm-worker-1'];
    const { code, stdout } = await kcover(args, JSON.stringify(facts));
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^train\/pytorchjob\/llm {3}would do nothing\n {2}because +mode is observe; would stop 4 pods by suspend: pod\/exit/,
    );
    expect(stdout).toContain('\nwhat would be done otherwise:\nSTEP ');
  });

  it('explains what is wrong with a file that cannot be used', async () => {
    const { code, stdout, stderr } = await kcover(['plan', '--facts', '-'], '{"schema": 2}');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(
      /^error\[usage\]: the facts cannot be used\n {2}because: stdin: schema: .+; at: .+\n {2}try: {5}kcover plan JOB --output json > facts\.json/,
    );
  });
});

describe('a file of facts', () => {
  it('is read back as it was written, with every field that a plan uses', async () => {
    const { facts: read, settings: given } = parseFacts('facts.json', JSON.stringify(full));
    expect(read).toEqual(full);
    expect(given).toEqual(settings({ mode: 'act' }));
    expect(await planOf(read, given)).toEqual(await planOf(full, settings({ mode: 'act' })));
  });

  it.each([
    ['an invalid time', { ...facts, at: 'today' }, 'facts.json: at: must be a time such as'],
    [
      'a kind of job that kcover does not know',
      { ...facts, attempt: { ...facts.attempt, job: { ...facts.attempt.job, ref: { kind: 'Pod' } } } },
      'attempt.job.ref.kind',
    ],
    ['a fault without an id', { ...facts, hypothetical: { ...facts.hypothetical, id: '' } }, 'hypothetical.id'],
    ['invalid worker settings', { ...facts, settings: { mode: 'sometimes' } }, 'settings.mode'],
    [
      'sizes that are not a list',
      withJob({ overrides: { allowedSizes: '8,4', ignored: [] } }),
      'attempt.job.overrides.allowedSizes: ',
    ],
    [
      'an unknown override value',
      withJob({ overrides: { mode: 'gentle', ignored: [] } }),
      'attempt.job.overrides.mode: ',
    ],
    [
      'a pace of zero',
      withJob({ progress: { step: 1, at, pace: { msPerStep: 0 } } }),
      'attempt.job.progress.pace.msPerStep: ',
    ],
    [
      'an end beyond the range of dates',
      { ...facts, known: { ...facts.known, usage: [{ incident: 'r', startedAt: 1, endedAt: 8.64e15 + 1 }] } },
      'known.usage.0.endedAt: ',
    ],
    ['an unknown key', { ...facts, pods: [] }, 'the file: Unrecognized key: "pods"'],
    ['a value that is no object', 7, 'the file: '],
  ])('is refused for %s', (_, written, says) => {
    expect(why(written)).toContain(says);
  });
});

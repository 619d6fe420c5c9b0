import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clustersIn, directoriesIn, recordsOf } from '../../cli/clusters/clusters.ts';
import { temporalTarget } from '../../cli/clients/temporal.ts';
import { kcover } from './kcover.ts';

let directory = '';
let where: Readonly<Record<string, string>> = {};
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-clusters-'));
  const profiles = join(directory, 'temporal.toml');
  await writeFile(
    profiles,
    [
      '[profile.east]',
      'address = "127.0.0.1:1"',
      'namespace = "kcover-east"',
      'api_key = "of-east"',
      '[profile.other]',
      'address = "127.0.0.1:2"',
    ].join('\n'),
  );
  where = { KUBECONFIG: '/nonexistent', TEMPORAL_CONFIG_FILE: profiles, TEMPORAL_ADDRESS: '127.0.0.1:9' };
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe('--context', () => {
  it('names contexts, each with the profile of its name or with another one', () => {
    expect(clustersIn('east,arn:aws:eks:eu:1:cluster/west=other')).toEqual([
      { context: 'east', profile: 'east' },
      { context: 'arn:aws:eks:eu:1:cluster/west', profile: 'other' },
    ]);
  });

  it.each(['', 'a,', 'a,a', 'a=', '=b', 'a=x,a=y', Array.from({ length: 51 }, (_, at) => at).join(',')])(
    'refuses "%s"',
    (text) => expect(() => clustersIn(text)).toThrow('the command line cannot be used'),
  );

  it('takes the profile as it stands in the file, whatever the environment says', () => {
    const variables = { ...where, TEMPORAL_NAMESPACE: 'mine', TEMPORAL_API_KEY: 'mine', TEMPORAL_PROFILE: 'other' };
    expect(temporalTarget(variables, 'east')).toMatchObject({
      address: '127.0.0.1:1',
      namespace: 'kcover-east',
      options: { apiKey: 'of-east' },
    });
    expect(temporalTarget(variables, 'other')).toMatchObject({ address: '127.0.0.1:2', namespace: 'default' });
    expect(temporalTarget(where)).toMatchObject({ address: '127.0.0.1:9' });
  });
});

describe('--records of several clusters', () => {
  it('names a directory for each', () => {
    expect(directoriesIn('a=/x,b=./y=z')).toEqual(
      new Map([
        ['a', '/x'],
        ['b', './y=z'],
      ]),
    );
    for (const text of ['/x', '/runs/day=5', './day=5', 'a=/x,/y', 'a=', '=/x', 'a=/x,a=/y'])
      expect(directoriesIn(text)).toBeUndefined();
  });

  it('is refused where it does not say whose they are', () => {
    const clusters = clustersIn('a,b=other');
    expect(recordsOf('b=/y', clusters).get('b')).toBe('/y');
    for (const text of ['/x', 'a=/x,c=/z', 'other=/y'])
      expect(() => recordsOf(text, clusters)).toThrow('the command line cannot be used');
  });
});

describe('clusters that do not answer', () => {
  it('are one line each, with the reason and an exit code', async () => {
    const { code, stdout, stderr } = await kcover(['incidents', '--context', 'east,west=other,none'], '', where);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/^east: .*: connect to 127\.0\.0\.1:1: /),
      expect.stringMatching(/^west: .*: connect to 127\.0\.0\.1:2: /),
      expect.stringMatching(/^none: .*Profile 'none' not found/),
    ]);
    expect([code, stderr]).toEqual([5, '']);
  });

  it('are one document each in JSON, and the exit code is 1 where asking again would not help', async () => {
    const { code, stdout } = await kcover(
      ['node', 'list', '--offenders', '--context', 'none', '--output', 'json'],
      '',
      where,
    );
    expect(JSON.parse(stdout)).toEqual([
      {
        cluster: 'none',
        error: {
          code: 'settings.invalid',
          what: expect.any(String),
          because: expect.stringContaining("'none' not found"),
          try: expect.any(String),
        },
      },
    ]);
    expect(code).toBe(1);
  });

  it('are named where the kubeconfig has no such context', async () => {
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(
      kubeconfig,
      JSON.stringify({ apiVersion: 'v1', kind: 'Config', contexts: [], clusters: [], users: [] }),
    );
    const { code, stdout } = await kcover(
      ['node', 'list', '--context', 'east', '--kubeconfig', kubeconfig, '--output', 'json'],
      '',
      where,
    );
    expect(JSON.parse(stdout)).toEqual([
      {
        cluster: 'east',
        error: {
          code: 'usage',
          what: 'the command line cannot be used',
          because: 'the kubeconfig has no context east',
          try: 'kubectl config get-contexts',
        },
      },
    ]);
    expect(code).not.toBe(0);
  });

  it('cannot write to the terminal with their names, nor look like a row', async () => {
    const { stdout } = await kcover(['incidents', '--context', 'x\u001B[2J\nwest'], '', where);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(stdout).not.toContain('\u001B');
  });
});

describe('commands that write', () => {
  it.each([
    ['node', 'release', 'gpu-1', '--reason', 'test'],
    ['node', 'quarantine', 'gpu-1', '--reason', 'test'],
    ['recover', 'pytorchjob/llm', '--reason', 'test'],
    ['stop', 'pytorchjob/llm'],
    ['pause', '--reason', 'test'],
    ['resume', '--reason', 'test'],
    ['approve', 'pytorchjob/llm', '--reason', 'test'],
    ['deny', 'pytorchjob/llm', '--reason', 'test'],
  ])('refuse several clusters: %s %s', async (...words) => {
    const { code, stderr } = await kcover([...words, '--context', 'east,west'], '', where);
    expect([code, stderr]).toEqual([2, expect.stringContaining("unknown option '--context'")]);
  });
});

describe('a report over several clusters', () => {
  it('says the cluster of each row, and which records could not be read', async () => {
    const empty = await mkdtemp(join(directory, 'east-'));
    const { code, stdout } = await kcover(
      ['report', '--since', '30d', '--records', `east=${empty},west=/nonexistent`, '--output', 'json'],
      '',
      where,
    );
    expect(JSON.parse(stdout)).toMatchObject({
      byCluster: [{ cluster: 'east', recoveries: 0 }],
      failed: [{ cluster: 'west', error: { because: expect.stringContaining('/nonexistent') } }],
    });
    expect(code).toBe(1);
  });
});

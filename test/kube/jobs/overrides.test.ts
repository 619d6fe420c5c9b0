import { describe, expect, it } from '@jest/globals';
import type { JobOverrides } from '../../../contract/job/job-overrides.ts';
import { overridesOf } from '../../../kube/jobs/overrides.ts';

type Texts = Readonly<Record<string, string>>;
const read = (annotations: Texts, labels: Texts = {}) =>
  overridesOf({ annotations: { ...annotations }, labels: { ...labels } });
const overrides = (more: Partial<JobOverrides>): JobOverrides => ({ ignored: [], ...more });

describe('what a job asks for', () => {
  it('is nothing where it says nothing', () => {
    expect(read({ 'kcover.io/step': '7' }, { app: 'llm' })).toBeUndefined();
    expect(overridesOf(undefined)).toBeUndefined();
  });

  it('is what its annotations say', () => {
    expect(
      read({
        'kcover.io/mode': 'grace',
        'kcover.io/checkpoint': 'on-termination',
        'kcover.io/capacity': 'ask',
        'kcover.io/min-replicas': '2',
        'kcover.io/shapes': '2, 8,4,8',
        'kcover.io/first-level': 'process',
        'kcover.io/hang': 'recover',
        'kcover.io/slow': 'ignore',
        'kcover.io/retries': '0',
        'kcover.io/suppress': 'pod/exit,xid/* until 2026-12-01T00:00:00Z: a known bug',
        'kcover.io/notify': 'team-a, chat,team-a',
        'kcover.io/log-format': 'megatron',
        'kcover.io/log-step': 'finished step (?<step>[0-9]+)',
        'kcover.io/log-checkpoint': 'saved step (?<checkpoint>[0-9]+)',
      }),
    ).toEqual(
      overrides({
        mode: 'grace',
        checkpoint: 'on-termination',
        capacity: 'ask',
        minReplicas: 2,
        allowedSizes: [8, 4, 2],
        level: 'process',
        hang: 'recover',
        slow: 'ignore',
        retries: 0,
        suppression: { codes: ['pod/exit', 'xid/*'], until: '2026-12-01T00:00:00Z', reason: 'a known bug' },
        notify: ['team-a', 'chat'],
        logFormat: 'megatron',
        logStep: 'finished step (?<step>[0-9]+)',
        logCheckpoint: 'saved step (?<checkpoint>[0-9]+)',
      }),
    );
  });

  it.each<[sentence: string, annotation: string, text: string]>([
    ['no format', 'kcover.io/log-format', 'tensorboard'],
    ['a pattern without its group', 'kcover.io/log-step', 'finished step ([0-9]+)'],
    ['a pattern with the group of another', 'kcover.io/log-checkpoint', '(?<step>[0-9]+)'],
    ['a pattern that would have to be tried in many ways', 'kcover.io/log-step', '(?<step>a+)\\1'],
    ['a pattern that is too long', 'kcover.io/log-step', `(?<step>${'a'.repeat(200)})`],
  ])('about its logs is ignored where it is %s', (_sentence, annotation, text) => {
    const { ignored, ...asked } = read({ [annotation]: text }) ?? overrides({});
    expect(asked).toEqual({});
    expect(ignored).toEqual([expect.stringContaining(annotation)]);
  });

  it.each<[sentence: string, labels: Texts, annotations: Texts, expected: Partial<JobOverrides> | undefined]>([
    ['force as a label of the reference', { 'fault-scheduling': 'force' }, {}, { mode: 'force' }],
    ['off as an annotation of the reference', {}, { 'fault-scheduling': 'off' }, { mode: 'off' }],
    [
      'elastic scheduling',
      { 'elastic-scheduling': 'on' },
      { minReplicas: '4' },
      { capacity: 'shrink', minReplicas: 4 },
    ],
    ['retries', { 'fault-retry-times': '100' }, {}, { retries: 100 }],
    ['pods alone', { 'pod-rescheduling': 'on' }, {}, { level: 'pod' }],
    ['nothing, by what is switched off', { 'pod-rescheduling': 'off', 'elastic-scheduling': 'off' }, {}, undefined],
  ])('may be %s', (_sentence, labels, annotations, expected) => {
    expect(read(annotations, labels)).toEqual(expected && overrides(expected));
  });

  it('is what our annotation says where the reference says the same, or something else', () => {
    expect(read({ 'kcover.io/mode': 'force' }, { 'fault-scheduling': 'force' })).toEqual(overrides({ mode: 'force' }));
    expect(read({ 'kcover.io/mode': 'grace' }, { 'fault-scheduling': 'force' })).toEqual({
      mode: 'grace',
      ignored: ['fault-scheduling "force" contradicts kcover.io/mode "grace", which counts'],
    });
    expect(read({ 'kcover.io/mode': 'gracious' }, { 'fault-scheduling': 'force' })).toEqual({
      mode: 'force',
      ignored: ['kcover.io/mode "gracious" is none of grace, force, off'],
    });
  });

  it.each<[sentence: string, annotations: Texts, labels: Texts, ignored: string]>([
    [
      'a stop by another system',
      {},
      { 'fault-scheduling': 'external-grace' },
      'fault-scheduling "external-grace" leaves stopping to another system, which is not supported',
    ],
    ['an unknown word', { 'kcover.io/hang': 'panic' }, {}, 'kcover.io/hang "panic" is none of ignore, notify, recover'],
    ['a switch that is neither', {}, { 'elastic-scheduling': 'yes' }, 'elastic-scheduling "yes" is neither on nor off'],
    [
      'more retries than there may be',
      {},
      { 'fault-retry-times': '101' },
      'fault-retry-times "101" is no whole number from 0 to 100',
    ],
    [
      'a number with a fraction',
      { 'kcover.io/retries': '1.5' },
      {},
      'kcover.io/retries "1.5" is no whole number from 0 to 100',
    ],
    [
      'several lines',
      { 'kcover.io/mode': 'for\nce\u0007!' },
      {},
      'kcover.io/mode "for ce !" is none of grace, force, off',
    ],
  ])('leaves out %s, and says so', (_sentence, annotations, labels, sentence) => {
    expect(read(annotations, labels)).toEqual({ ignored: [sentence] });
  });

  it.each<[sentence: string, given: Texts, allowedSizes: readonly number[] | undefined, ignored: readonly string[]]>([
    [
      'none that is smaller, where its shapes cannot be read',
      { shapes: '8;4;2', 'min-replicas': '2' },
      [],
      ['kcover.io/shapes "8;4;2" is no list of numbers of pods, such as 8,4,2'],
    ],
    [
      'none that is smaller, where it names no shape',
      { shapes: '' },
      [],
      ['kcover.io/shapes "" is no list of numbers of pods, such as 8,4,2'],
    ],
    [
      'none that is smaller, where all shapes are below its least number of pods',
      { shapes: '4,2', 'min-replicas': '6' },
      [],
      ['kcover.io/shapes "4,2" contradicts kcover.io/min-replicas "6", so smaller sizes are ignored'],
    ],
    [
      'none that is smaller, where its least number of pods cannot be read',
      { shapes: '8,4,2', 'min-replicas': 'six' },
      [],
      ['kcover.io/min-replicas "six" is no whole number from 1 to 100000'],
    ],
    [
      'none that is smaller, where it is to have no pods at all',
      { 'min-replicas': '0' },
      [],
      ['kcover.io/min-replicas "0" is no whole number from 1 to 100000'],
    ],
    ['any that is large enough, where it lists none', { 'min-replicas': '2' }, undefined, []],
  ])('is, of sizes, %s', (_sentence, given, allowedSizes, ignored) => {
    const seen = read(Object.fromEntries(Object.entries(given).map(([name, text]) => [`kcover.io/${name}`, text])));
    expect(seen?.allowedSizes).toEqual(allowedSizes);
    expect(seen?.ignored).toEqual(ignored);
  });

  it('counts its least number of pods in the words of the reference where ours cannot be read', () => {
    const seen = read({ 'kcover.io/shapes': '8,4,2', 'kcover.io/min-replicas': 'four', minReplicas: '4' });
    expect(seen).toMatchObject({ minReplicas: 4, allowedSizes: [8, 4] });
  });

  it('has no shape below the least number of pods', () => {
    expect(read({ 'kcover.io/shapes': '8,4,2', minReplicas: '4' })).toEqual({
      minReplicas: 4,
      allowedSizes: [8, 4],
      ignored: ['kcover.io/shapes "8,4,2" contradicts minReplicas "4", so smaller sizes are ignored'],
    });
  });

  it('saves nothing at its end where it is to be killed at once', () => {
    expect(read({ 'kcover.io/checkpoint': 'on-termination' }, { 'fault-scheduling': 'force' })).toEqual({
      mode: 'force',
      ignored: [
        'kcover.io/checkpoint "on-termination" contradicts fault-scheduling "force", which leaves no time to save',
      ],
    });
  });

  it('is ignored in a few short sentences, however much of it is wrong', () => {
    const wrong = 'x'.repeat(5000);
    const ours = [
      'mode',
      'checkpoint',
      'capacity',
      'min-replicas',
      'shapes',
      'first-level',
      'hang',
      'retries',
      'suppress',
    ];
    const theirs = ['fault-scheduling', 'elastic-scheduling', 'fault-retry-times', 'pod-rescheduling', 'minReplicas'];
    const ignored = read(
      Object.fromEntries(ours.map((name) => [`kcover.io/${name}`, wrong])),
      Object.fromEntries(theirs.map((name) => [name, wrong])),
    )?.ignored;
    expect(ignored).toHaveLength(10);
    for (const sentence of ignored ?? []) expect(sentence.length).toBeLessThan(200);
  });
});

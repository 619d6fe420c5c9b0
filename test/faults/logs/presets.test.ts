import { describe, expect, it } from '@jest/globals';
import type { LogEvent, PresetName } from '../../../faults/logs/log-event.ts';
import { presetNames } from '../../../faults/logs/log-event.ts';
import { presets } from '../../../faults/logs/presets/index.ts';
import { eventsOf, linesOfSample, sampleNames } from './samples.ts';

const step = (count: number, more: { total?: number; stepMs?: number } = {}): LogEvent => ({
  kind: 'step',
  step: count,
  ...more,
});
const checkpoint = (count: number): LogEvent => ({ kind: 'checkpoint', step: count });
const phase = (name: 'training' | 'saving' | 'evaluating' | 'compiling'): LogEvent => ({ kind: 'phase', phase: name });

/** What `auto` finds in each sample of a training. */
const trainings: readonly (readonly [sample: string, preset: PresetName, events: readonly LogEvent[]])[] = [
  [
    'megatron',
    'megatron',
    [
      step(1, { total: 508_626, stepMs: 440_352.6 }),
      phase('saving'),
      checkpoint(1),
      phase('training'),
      step(201, { total: 250_000, stepMs: 139_113.4 }),
      step(202, { total: 250_000, stepMs: 139_221.4 }),
    ],
  ],
  [
    'megatron-bridge',
    'megatron',
    [step(35, { total: 35, stepMs: 3649.8 }), phase('saving'), checkpoint(35), phase('training')],
  ],
  [
    'nemo',
    'nemo',
    [
      step(62, { total: 99, stepMs: 422.6 }),
      step(63, { total: 99, stepMs: 290.2 }),
      checkpoint(49),
      step(64, { total: 99, stepMs: 237.4 }),
      step(99, { total: 99, stepMs: 261 }),
      phase('saving'),
      phase('training'),
      phase('evaluating'),
      checkpoint(99),
      phase('training'),
    ],
  ],
  ['deepspeed', 'deepspeed', [step(40), step(50)]],
  ['megatron-deepspeed', 'deepspeed', [step(22)]],
  ['huggingface', 'huggingface', [step(40, { total: 4500, stepMs: 3840 }), phase('saving')]],
  [
    'huggingface-bar',
    'huggingface',
    [
      step(310, { total: 2724, stepMs: 132_880 }),
      step(311, { total: 2724, stepMs: 132_870 }),
      step(320, { total: 2724, stepMs: 132_800 }),
      step(321, { total: 2724, stepMs: 132_820 }),
    ],
  ],
  ['huggingface-deepspeed', 'huggingface', [step(1999, { total: 24_128, stepMs: 3330 })]],
  ['torchtitan', 'torchtitan', [step(49), step(50), phase('saving'), checkpoint(50), phase('training')]],
  ['torchtitan-async', 'torchtitan', [step(800), phase('saving'), phase('training'), step(810)]],
  ['maxtext', 'maxtext', [step(1, { stepMs: 631 }), step(2, { stepMs: 10_228 }), step(3, { stepMs: 10_344 })]],
  ['maxtext-saving', 'maxtext', [checkpoint(50)]],
  [
    'mindformers',
    'mindformers',
    [
      step(1, { total: 38, stepMs: 103_328 }),
      step(2, { total: 38, stepMs: 1752 }),
      step(3, { total: 38, stepMs: 1754 }),
    ],
  ],
  [
    'paddle',
    'paddle',
    [
      step(90, { stepMs: 204.918 }),
      step(100, { stepMs: 193.386 }),
      phase('evaluating'),
      phase('saving'),
      checkpoint(100),
      step(110, { stepMs: 1297.017 }),
    ],
  ],
  [
    'lightning',
    'lightning',
    [step(1651, { stepMs: 473.934 }), step(1652, { stepMs: 473.934 }), step(1653, { stepMs: 471.698 })],
  ],
  ['nemo-1', 'lightning', [step(794, { stepMs: 41_360 })]],
];

describe('the log of a training', () => {
  it.each(trainings)('is read from the sample %s by the preset %s', (sample, preset, events) => {
    expect(eventsOf(linesOfSample(sample))).toEqual({ preset, events });
  });

  it.each(trainings)('gives the same for the sample %s where the preset %s is set', (sample, preset, events) => {
    expect(eventsOf(linesOfSample(sample), { preset }).events.filter(({ kind }) => kind !== 'phase')).toEqual(
      events.filter(({ kind }) => kind !== 'phase'),
    );
  });

  it('has a sample for each preset', () => {
    expect(presetNames.filter((name) => !trainings.some(([, preset]) => preset === name))).toEqual([]);
    expect(Object.keys(presets)).toEqual(presetNames);
    expect(trainings.filter(([sample]) => !sampleNames.includes(sample))).toEqual([]);
  });

  it('is read through colours', () => {
    const coloured =
      '[titan] 2025-01-01 00:00:00,000 - root - INFO - \u001B[31mstep: 10  \u001B[32mloss:  7.12340  \u001B[39m';
    expect(eventsOf([coloured], { preset: 'torchtitan' }).events).toEqual([step(10)]);
  });

  it('is read through the prefixes of other tools', () => {
    expect(eventsOf(['[default0]:  1%|▏  | 10/1000 [00:10<16:30,  1.00it/s]']).events).toEqual([
      step(10, { total: 1000, stepMs: 1000 }),
    ]);
  });
});

const bar = (count: number, total: number): string => ` 10%|█         | ${count}/${total} [01:23<12:34,  1.20it/s]`;

describe('a checkpoint', () => {
  it('is complete after a synchronous save as soon as a later step is done, and not before', () => {
    const saving = 'Saving model checkpoint to /out/checkpoint-500';
    expect(eventsOf([bar(500, 1000), saving]).events.filter(({ kind }) => kind === 'checkpoint')).toEqual([]);
    expect(eventsOf([bar(500, 1000), saving, bar(500, 1000)]).events).toHaveLength(2);
    expect(eventsOf([bar(500, 1000), saving, bar(501, 1000)]).events).toEqual([
      step(500, { total: 1000, stepMs: 833.333 }),
      phase('saving'),
      checkpoint(500),
      step(501, { total: 1000, stepMs: 833.333 }),
    ]);
  });

  it('is not complete when saving in the background is only scheduled', () => {
    const lines = [
      ' [2026-08-22 10:00:00.123456] iteration      100/  500000 | consumed samples:        25600 | elapsed time per iteration (ms): 4321.0 | lm loss: 2.1E+00 |',
      'saving checkpoint at iteration     100 to /ckpt in torch_dist format',
      '  scheduled an async checkpoint save at iteration     100 to /ckpt',
      ' [2026-08-22 10:00:05.123456] iteration      101/  500000 | consumed samples:        25856 | elapsed time per iteration (ms): 4321.0 | lm loss: 2.1E+00 |',
    ];
    expect(eventsOf(lines).events.map(({ kind }) => kind)).toEqual(['step', 'phase', 'phase', 'step']);
    expect(
      eventsOf([
        ...lines,
        '  successfully saved checkpoint from iteration     100 to /ckpt [ t 1/8, p 1/1 ]',
      ]).events.at(-1),
    ).toEqual(checkpoint(100));
  });

  it('of DeepSpeed is complete with the step after the writer that waits for its file', () => {
    const [first = '', ...saving] = linesOfSample('deepspeed-saving');
    const before =
      '[2024-06-26 04:16:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=5000, skipped=0, lr=[1e-05]';
    expect(eventsOf([before, first, before.replace('5000', '5010')]).events).toEqual([
      step(5000),
      phase('saving'),
      step(5010),
    ]);
    expect(eventsOf([before, first, ...saving, before.replace('5000', '5010')]).events).toEqual([
      step(5000),
      phase('saving'),
      checkpoint(5000),
      step(5010),
    ]);
  });
});

describe('a progress bar', () => {
  it('of an evaluation is no step of the training', () => {
    expect(eventsOf([bar(100, 1000), bar(3, 20), bar(20, 20), bar(101, 1000)]).events).toEqual([
      step(100, { total: 1000, stepMs: 833.333 }),
      phase('evaluating'),
      step(101, { total: 1000, stepMs: 833.333 }),
    ]);
  });

  it('of the training is known by the announced number of steps', () => {
    const lines = ['  Total optimization steps = 1,000', bar(20, 20), bar(100, 1000)];
    expect(eventsOf(lines, { preset: 'huggingface' }).events.filter(({ kind }) => kind === 'step')).toEqual([
      step(100, { total: 1000, stepMs: 833.333 }),
    ]);
  });

  it('that was finished before a longer one begins is not that of the training', () => {
    const { events } = eventsOf([bar(1, 1), bar(1, 1000), bar(2, 1000)]);
    expect(events.flatMap((one) => (one.kind === 'step' ? one.step : []))).toEqual([1, 1, 2]);
  });

  it.each([
    'Loading checkpoint shards:  50%|█████     | 1/2 [00:00<00:00,  1.20it/s]',
    'Map:  10%|█         | 1000/10000 [00:01<00:09, 1000.00 examples/s]',
    'Downloading shards: 100%|██████████| 4/4 [00:00<00:00, 22.11it/s]',
  ])('with a description is not that of a training: %s', (line) => {
    expect(eventsOf([line])).toEqual({ preset: undefined, events: [] });
  });

  it('is read between carriage returns, its last state too', () => {
    expect(eventsOf([`\r${bar(1, 1000)}\r${bar(2, 1000)}\r\r${bar(3, 1000)}`]).events).toHaveLength(3);
  });
});

describe('auto', () => {
  it('is not decided by a step 0, which frameworks print on behalf of others before they begin', () => {
    const lines = [
      '[2021-05-07 19:21:35,769] [INFO] [logging.py:60:log_dist] [Rank 0] step=0, skipped=0, lr=[5e-06], mom=[[0.9, 0.999]]',
      bar(0, 1000),
      bar(1, 1000),
    ];
    expect(eventsOf(lines).preset).toBe('huggingface');
  });

  it('gives up a progress bar for a trainer that says its steps in words, and not the other way round', () => {
    const [, line = ''] = linesOfSample('maxtext');
    expect(eventsOf([bar(7, 8), line, bar(8, 8)])).toEqual({
      preset: 'maxtext',
      events: [step(7, { total: 8, stepMs: 833.333 }), step(1, { stepMs: 631 })],
    });
  });

  it('keeps a progress bar when a framework below prints steps too', () => {
    const [line = ''] = linesOfSample('deepspeed');
    expect(eventsOf([bar(7, 80), line, bar(8, 80)])).toMatchObject({
      preset: 'huggingface',
      events: [{ step: 7 }, { step: 8 }],
    });
  });

  it('keeps the preset that found the first step', () => {
    const [line = ''] = linesOfSample('maxtext').slice(1);
    expect(eventsOf([line, bar(1, 1000), bar(2, 1000)])).toMatchObject({ preset: 'maxtext', events: [{ step: 1 }] });
  });

  it.each([
    'Loading model from /models/llama at iteration 5/10',
    'INFO: step: 10 of the set-up is done, loss of signal is not expected',
    'Epoch 3: train loss 0.123',
    'saved a checkpoint at step 7',
    'kubelet: iteration 12/ 99 | waiting',
    "{'loss': '1.234', 'grad_norm': '0.5', 'epoch': '0.1'}",
    '',
  ])('finds nothing in an ordinary line: %s', (line) => {
    expect(eventsOf([line])).toEqual({ preset: undefined, events: [] });
  });
});

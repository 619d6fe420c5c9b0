import type { Preset } from './preset.ts';

/** Source: `callback.py` of mindspore-lab/mindformers. Steps are counted anew in each epoch. */
export const mindformers: Preset = {
  describe: 'MindFormers',
  step: {
    from: '{ Epoch:[',
    pattern:
      /^\{ Epoch:\[ {0,6}(?<epoch>\d{1,9})\/ {0,6}(?<epochs>\d{1,9})\], step:\[ {0,8}(?<step>\d{1,12})\/ {0,8}(?<total>\d{1,12})\], loss/,
  },
  firstEpoch: 1,
  more: [{ from: 'per_step_time: ', pattern: /^per_step_time: (?<ms>\d{1,12})ms/ }],
  // It may save in the background, which nothing in the log tells, so no checkpoint is known to be complete.
  saving: [{ from: '......Saving ckpt......', pattern: /^\.{6}Saving ckpt\.{6}/ }],
};

import type { Preset } from './preset.ts';

/** Source: `progress_printer.py` and `model_checkpoint.py` of NVIDIA/NeMo. Steps are numbered from 0, and so are the iterations of its checkpoints. */
export const nemo: Preset = {
  describe: 'NeMo 2',
  step: {
    from: 'Training epoch ',
    pattern: /^Training epoch \d{1,9}, iteration (?<step>\d{1,12})\/(?<total>\d{1,12}) \|/,
  },
  more: [
    // Counts on through the epochs.
    { from: '| global_step: ', pattern: /^\| global_step: (?<step>\d{1,12})(?: |$)/ },
    {
      from: '| train_step_timing in s: ',
      pattern: /^\| train_step_timing in s: (?<seconds>\d{1,9}(?:\.\d{1,9})?)(?: |$)/,
    },
  ],
  saving: [{ from: 'saving model to ', pattern: /^saving model to '/ }],
  saved: [
    {
      from: 'Successfully saved checkpoint from iteration ',
      pattern: /^Successfully saved checkpoint from iteration {1,12}(?<step>\d{1,12}) to/,
    },
  ],
  evaluating: [{ from: 'Validation: iteration ', pattern: /^Validation: iteration \d{1,12}\/\d{1,12}/ }],
  // Saved in the background: see `saved`.
  training: [{ from: 'Scheduled async checkpoint save for ', pattern: /^Scheduled async checkpoint save for / }],
};

import type { Preset } from './preset.ts';

/** Source: `metrics.py` and `checkpoint.py` of pytorch/torchtitan. Lines of checkpoints have no step but the last one. */
export const torchtitan: Preset = {
  describe: 'torchtitan',
  step: { from: ' - INFO - step: ', pattern: /^ - INFO - step: {1,8}(?<step>\d{1,12}) {1,4}loss: / },
  saving: [
    { from: 'Saving the checkpoint', pattern: /^Saving the checkpoint(?:\.| \()/ },
    { from: 'checkpoint at last step, ', pattern: /^checkpoint at last step, step (?<step>\d{1,12})\./ },
  ],
  saved: [
    { from: 'Finished saving the checkpoint in ', pattern: /^Finished saving the checkpoint in \d/ },
    { from: 'Last step checkpoint completed in ', pattern: /^Last step checkpoint completed in \d/ },
  ],
  // It may be copied to memory only: nothing says when it is complete.
  training: [{ from: 'Finished saving the checkpoint (', pattern: /^Finished saving the checkpoint \(or staging/ }],
};

import type { Preset } from './preset.ts';
import { bar, rankPrefix } from './progress-bar.ts';

/**
 * Source: `tqdm_progress.py` and `model_checkpoint.py` of Lightning-AI/pytorch-lightning. The bar counts batches anew in each epoch; NeMo 1, which
 * uses it, adds the step.
 */
export const lightning: Preset = {
  describe: 'PyTorch Lightning, NeMo 1',
  yields: true,
  step: { from: 'Epoch ', pattern: new RegExp(`^Epoch (?<epoch>\\d{1,9}): {1,4}${bar}`) },
  firstEpoch: 0,
  more: [{ from: ', global_step=', pattern: /^, global_step=(?<step>\d{1,12})(?:\.0)?(?:,|\]|$)/ }],
  saving: [{ from: 'saving model to ', pattern: /^saving model to '/ }],
  saved: [
    {
      from: 'Async checkpoint save for step ',
      pattern: /^Async checkpoint save for step (?<step>\d{1,12}) \(\S* finalized successfully/,
    },
  ],
  evaluating: [
    {
      from: '',
      pattern: new RegExp(`^${rankPrefix}(?:Validation DataLoader \\d{1,6}|Validating|Sanity Checking[ \\w]{0,30}): `),
    },
  ],
};

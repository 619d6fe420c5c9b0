import type { Preset } from './preset.ts';
import { bar, rankPrefix } from './progress-bar.ts';

/**
 * Source: `trainer.py` and `trainer_callback.py` of huggingface/transformers. Its lines of metrics have no step, so the progress bar is read; bars
 * with a description (of downloads and data sets) are others'. Saving is synchronous.
 */
export const huggingface: Preset = {
  describe: 'Hugging Face Trainer, TRL, LLaMA-Factory',
  yields: true,
  step: { from: '', pattern: new RegExp(`^${rankPrefix} {0,3}${bar}`) },
  announced: { from: 'Total optimization steps = ', pattern: /^Total optimization steps = (?<total>[\d,]{1,16})/ },
  // The bar of an evaluation has no description either.
  hasOtherLoops: true,
  savingBetweenSteps: [
    {
      from: 'Saving model checkpoint to ',
      pattern: /^Saving model checkpoint to \S*(?:tmp-checkpoint-\w|checkpoint-(?<step>\d{1,12}))/,
    },
  ],
  evaluating: [{ from: '***** Running ', pattern: /^\*{5} Running (?:Evaluation|Prediction)/i }],
};

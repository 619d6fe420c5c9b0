import type { Preset } from './preset.ts';

/** Source: `trainer.py` of PaddlePaddle/PaddleNLP (and PaddleFormers), which follows that of Hugging Face, and says the step in its lines of metrics. */
export const paddle: Preset = {
  describe: 'PaddleNLP, PaddleFormers',
  step: { from: ', global_step: ', pattern: /^, global_step: (?<step>\d{1,12}), / },
  more: [
    {
      from: ', interval_steps_per_second: ',
      pattern: /^, interval_steps_per_second: (?<perSecond>\d{1,9}(?:\.\d{1,9})?)(?:,|$)/,
    },
  ],
  savingBetweenSteps: [
    { from: 'Saving model checkpoint to ', pattern: /^Saving model checkpoint to \S*checkpoint-(?<step>\d{1,12})/ },
  ],
  evaluating: [{ from: '***** Running ', pattern: /^\*{5} Running (?:Evaluation|Prediction)/i }],
};

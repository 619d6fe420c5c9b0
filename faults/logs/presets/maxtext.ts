import type { Preset } from './preset.ts';

/** Source: `metric_logger.py` and `checkpointing.py` of AI-Hypercomputer/maxtext, and Orbax, which saves in the background. */
export const maxtext: Preset = {
  describe: 'MaxText',
  step: {
    from: 'completed step: ',
    pattern: /^completed step: (?<step>\d{1,12}), seconds: (?<seconds>\d{1,9}(?:\.\d{1,9})?),/,
  },
  saved: [
    { from: 'Saved a checkpoint at step ', pattern: /^Saved a checkpoint at step (?<step>\d{1,12})\./ },
    {
      from: 'Finished async_save (blocking + background). ',
      pattern:
        /^Finished async_save \(blocking \+ background\)\. Time taken: [\d.]{1,20}s\. directory=\S*\/(?<step>\d{1,12})(?:\s|$)/,
    },
  ],
};

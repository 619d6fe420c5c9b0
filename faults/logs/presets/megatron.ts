import type { Preset } from './preset.ts';

/** Source: `training.py` and `checkpointing.py` of NVIDIA/Megatron-LM. Iterations are printed by the last rank, checkpoints by rank 0. */
export const megatron: Preset = {
  describe: 'Megatron-LM, Megatron Bridge, MindSpeed-LLM',
  step: {
    from: 'iteration ',
    pattern: /^iteration {1,12}(?<step>\d{1,12})\/ {0,12}(?<total>\d{1,12}) \| (?:consumed|elapsed)/,
  },
  more: [
    {
      from: 'elapsed time per iteration (ms): ',
      pattern: /^elapsed time per iteration \(ms\): (?<ms>\d{1,12}(?:\.\d{1,6})?)/,
    },
  ],
  saving: [
    { from: 'saving checkpoint at iteration ', pattern: /^saving checkpoint at iteration {1,12}(?<step>\d{1,12}) to/ },
  ],
  saved: [
    {
      from: 'successfully saved checkpoint ',
      pattern: /^successfully saved checkpoint (?:from|at) iteration {1,12}(?<step>\d{1,12}) /,
    },
  ],
  evaluating: [
    { from: 'Evaluating on ', pattern: /^Evaluating on \d{1,12} samples/ },
    { from: 'Evaluating iter ', pattern: /^Evaluating iter \d{1,12}\/\d{1,12}/ },
  ],
  compiling: [{ from: '> compiling ', pattern: /^> compiling (?:and loading fused kernels|dataset index builder)/ }],
  training: [
    { from: 'validation loss at iteration ', pattern: /^validation loss at iteration \d/ },
    // Saved in the background: training goes on, and the checkpoint is complete when the line of `saved` comes.
    { from: 'scheduled an async checkpoint save ', pattern: /^scheduled an async checkpoint save at iteration/ },
  ],
};

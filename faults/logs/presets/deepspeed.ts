import type { Preset } from './preset.ts';

/** Source: `engine.py` and `torch_checkpoint_engine.py` of deepspeedai/DeepSpeed. It prints steps every `steps_per_print` steps only. */
export const deepspeed: Preset = {
  describe: 'DeepSpeed',
  yields: true,
  step: { from: '[Rank 0] step=', pattern: /^\[Rank 0\] step=(?<step>\d{1,12}), skipped=\d/ },
  saving: [{ from: 'Saving model checkpoint: ', pattern: /^Saving model checkpoint: \S/ }],
  // The engine that writes with torch.save, which returns when the file is written; others write in the background.
  savingBetweenSteps: [{ from: '[Torch] Saving ', pattern: /^\[Torch\] Saving \S*\/global_step(?<step>\d{1,12})\// }],
  saved: [{ from: '[Torch] Checkpoint ', pattern: /^\[Torch\] Checkpoint global_step(?<step>\d{1,12}) is ready now!/ }],
};

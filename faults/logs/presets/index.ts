/** All presets. A new one is a file here, a line below, and a sample of its log in `test/fixtures/logs`. */

import type { PresetName } from '../log-event.ts';
import { deepspeed } from './deepspeed.ts';
import { huggingface } from './huggingface.ts';
import { lightning } from './lightning.ts';
import { maxtext } from './maxtext.ts';
import { megatron } from './megatron.ts';
import { mindformers } from './mindformers.ts';
import { nemo } from './nemo.ts';
import { paddle } from './paddle.ts';
import type { Preset } from './preset.ts';
import { torchtitan } from './torchtitan.ts';

export const presets = {
  megatron,
  nemo,
  torchtitan,
  maxtext,
  mindformers,
  paddle,
  lightning,
  huggingface,
  deepspeed,
} as const satisfies Record<PresetName, Preset>;

/** All detectors of the agent. */

import { clock } from './clock.ts';
import type { Detector } from './detector.ts';
import { disk } from './disk.ts';
import { kernelLog } from './kernel-log.ts';
import { link } from './link.ts';
import { metax } from './metax.ts';
import { script } from './script.ts';
import { smi } from './smi.ts';

export const detectors = {
  'kernel-log': kernelLog,
  link,
  smi,
  metax,
  disk,
  clock,
  script,
} satisfies Record<string, Detector>;

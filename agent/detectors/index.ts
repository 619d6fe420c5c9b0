/** All detectors of the agent. */

import type { Detector } from './detector.ts';
import { kernelLog } from './kernel-log.ts';
import { link } from './link.ts';

export const detectors = {
  'kernel-log': kernelLog,
  link,
} satisfies Record<string, Detector>;

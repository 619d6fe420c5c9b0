/** All detectors of the agent. */

import type { Detector } from './detector.ts';
import { kernelLog } from './kernel-log.ts';

export type DetectorName = 'kernel-log';

export const detectors = {
  'kernel-log': kernelLog,
} satisfies Record<DetectorName, Detector>;

/** Every detector of the agent. A new one is a file, a name and a line here. */

import type { Detector } from './detector.ts';
import { kernelLog } from './kernel-log.ts';

export type DetectorName = 'kernel-log';

export const detectors = {
  'kernel-log': kernelLog,
} satisfies Record<DetectorName, Detector>;

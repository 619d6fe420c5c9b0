import { logFindings } from '../../faults/logs/log-findings.ts';
import type { Reader } from './reader.ts';

/** Any text is a log, so nothing is refused. */
export const log: Reader = {
  describe: 'Say what the log of a container means, as kubectl logs or the runtime writes it (- reads stdin)',
  read: logFindings,
};

/** Faults that drivers write into the kernel log. */

import { kernelFault } from '../../faults/kernel/from-kernel.ts';
import { parseKernelLine } from '../../faults/kernel/line.ts';
import { followKernelLog } from '../kernel-log/follow.ts';
import type { Detector } from './detector.ts';

/** Lines before a fault that are kept as its evidence. */
const linesBefore = 2;

export const kernelLog: Detector = {
  watches: 'Xid and SXid lines of the NVIDIA drivers in the kernel log',
  start(context) {
    const { hostRoot, node, log, settings, stateDirectory } = context;
    let before: readonly string[] = [];
    return followKernelLog({
      hostRoot,
      path: settings.kernelLog.path,
      stateDirectory,
      log,
      settled: () => context.settled(),
      gap: (gap) => context.gap(gap),
      seen(line) {
        before = [...before, line].slice(-linesBefore);
      },
      async line(line, position) {
        const fault = kernelFault({ line, position, node, seenAt: new Date().toISOString(), evidence: before });
        before = [...before, line].slice(-linesBefore);
        if (fault === undefined) return false;
        if (!settings.kernelLog.userSpace && parseKernelLine(line).userSpace) {
          log.warn(
            { fault: fault.id, code: fault.code, because: fault.message },
            "a line in the form of a driver's was written from user space and is no fault",
          );
          return false;
        }
        log.warn(
          { fault: fault.id, code: fault.code, device: fault.device, because: fault.message },
          'kernel fault seen',
        );
        await context.fault(fault);
        return true;
      },
    });
  },
};

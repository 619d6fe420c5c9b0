/** What `gpu_recovery_action` says, which is the driver's own recovery action as in Xid 154. */

import type { Verdict } from './verdict.ts';

const reset = 'smi/reset-required';
const reboot = 'smi/reboot-required';

/** Words of nvidia-smi and of Xid 154, in lower case. Source: nvml.h (NVML_GPU_RECOVERY_ACTION_*) and observed lines. */
const codes: Readonly<Record<string, string | undefined>> = {
  none: undefined,
  reset,
  'gpu reset': reset,
  'gpu reset required': reset,
  'bus reset': reset,
  'drain p2p': reset,
  'drain and reset': reset,
  reboot,
  'node reboot': reboot,
  'node reboot required': reboot,
  'os reboot': reboot,
  'system reboot': reboot,
};

/** A word that is not known is a fault that a person has to look at: the driver asks for something. */
export function recoveryCode(text: string): Verdict {
  const word = text.toLowerCase();
  if (Object.hasOwn(codes, word)) {
    const code = codes[word];
    return code === undefined
      ? 'fine'
      : { code, because: `The driver's own recovery action for this GPU is "${text}".` };
  }
  if (/^n\/a$|^not supported$|^unknown error$|^err!$/i.test(text) || !/^[A-Za-z][\w ]{2,40}$/.test(text))
    return 'unknown';
  return {
    code: 'smi/recovery-unknown',
    standing: 'unknown',
    because: `The driver asks for the recovery action "${text}", which kcover does not know; a person has to check.`,
  };
}

/** What `gpu_recovery_action` says, which is the driver's own recovery action as in Xid 154. */

import type { Action } from '../../../contract/faults/faults.ts';
import { actionOf } from '../../kernel/recovery-action.ts';
import type { Verdict } from './verdict.ts';

const codes: Partial<Record<Action, string>> = { 'reset-gpu': 'smi/reset-required', reboot: 'smi/reboot-required' };

/** A word that is not known, or asks for something else, is a fault that a person has to look at. */
export function recoveryCode(text: string): Verdict {
  const action = actionOf(text.toLowerCase());
  const code = action && codes[action];
  if (action === 'ignore') return 'fine';
  if (code !== undefined) return { code, because: `The driver's own recovery action for this GPU is "${text}".` };
  if (/^n\/a$|^not supported$|^unknown error$|^err!$/i.test(text) || !/^[A-Za-z][\w ]{2,40}$/.test(text))
    return 'unknown';
  return {
    code: 'smi/recovery-unknown',
    standing: 'unknown',
    because: `The driver asks for the recovery action "${text}", for which kcover has no rule; a person has to check.`,
  };
}

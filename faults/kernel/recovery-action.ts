/**
 * The recovery action that the driver announces in Xid 154, and that nvidia-smi prints. The number of a line decides, because the words differ from
 * driver to driver.
 */

import type { Action } from '../../contract/faults/faults.ts';

export interface RecoveryAction {
  /** As printed; undefined where only words are. */
  readonly number?: number;
  /** In lower case, without a full stop. */
  readonly words: string;
  /** Undefined for a number, or words, that kcover does not know. */
  readonly action: Action | undefined;
}

/** By number. Sources: the open kernel modules (0 to 5), and the recovery actions of NVML (6 and 7). */
const byNumber: readonly Action[] = [
  'ignore', // none
  'reset-gpu', // GPU reset required; PF FLR in driver 610
  'reboot', // node reboot required; OS reboot in driver 610
  'reset-gpu', // drain P2P
  'reset-gpu', // drain and reset
  'restart-app', // recover the IMEX domain: its members must start again, no GPU is broken
  'reset-gpu', // bus reset
  'reboot', // system reboot
];

/** By words, for drivers that print no number, and for nvidia-smi, which never does. Source: nvml.h (NVML_GPU_RECOVERY_ACTION_*) and observed lines. */
const byWords: Readonly<Record<string, Action>> = {
  none: 'ignore',
  reset: 'reset-gpu',
  'gpu reset': 'reset-gpu',
  'gpu reset required': 'reset-gpu',
  'pf flr': 'reset-gpu',
  'drain p2p': 'reset-gpu',
  'drain and reset': 'reset-gpu',
  'bus reset': 'reset-gpu',
  reboot: 'reboot',
  'node reboot': 'reboot',
  'node reboot required': 'reboot',
  'os reboot': 'reboot',
  'system reboot': 'reboot',
  'recover imex domain': 'restart-app',
};

/** `words`: in lower case. Undefined where kcover does not know them. */
export const actionOf = (words: string): Action | undefined =>
  Object.hasOwn(byWords, words) ? byWords[words] : undefined;

/** Reads `... changed from 0x0 (None) to 0x2 (Node Reboot Required)`; a text without a change is the state itself. */
export function recoveryActionIn(message: string): RecoveryAction {
  const [, digits, inBrackets] = /^.{0,400}\bto (?:(0x[0-9a-f]{1,8}) ?)?\(([^()]{0,64})\)/i.exec(message) ?? [];
  const words = (inBrackets ?? message).slice(0, 100).trim().replace(/\.$/, '').toLowerCase();
  if (digits === undefined) return { words, action: actionOf(words) };
  const number = Number(digits);
  return { number, words, action: byNumber[number] };
}

/** The GPU does no further work until it is reset. With the other actions, work continues for a while. */
export const blocksWork = ({ number, words, action }: RecoveryAction): boolean =>
  action === undefined ||
  action === 'reboot' ||
  (action === 'reset-gpu' && number !== 3 && number !== 4 && !words.startsWith('drain'));

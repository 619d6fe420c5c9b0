/** Readers of the tests that verify a repaired machine. */

import { readDcgm } from './dcgm.ts';
import { readGpuBurn } from './gpu-burn.ts';
import { readNccl } from './nccl.ts';
import { readRecoveryAction } from './recovery-action.ts';
import {
  type Verification,
  verificationLimit,
  type VerificationOptions,
  type VerificationReader,
  verified,
} from './verification.ts';

const readers = {
  dcgm: readDcgm,
  nccl: readNccl,
  'gpu-burn': readGpuBurn,
  'recovery-action': readRecoveryAction,
} as const satisfies Readonly<Record<string, VerificationReader>>;

export type VerificationTool = keyof typeof readers;
export const verificationTools = Object.keys(readers) as readonly VerificationTool[];

/** What the output of a test says. `devices`: how many GPUs it must have tested. Never throws. */
export function verify(
  tool: VerificationTool,
  text: string,
  { devices, ...options }: VerificationOptions & { readonly devices?: number },
): Verification {
  if (text.length > verificationLimit) return verified('unknown', `it has more than ${verificationLimit} characters`);
  const result = readers[tool](text, options);
  if (result.verdict !== 'passed' || devices === undefined || result.devices === devices) return result;
  return result.devices === undefined
    ? verified('unknown', `${result.because}; it does not say how many GPUs it tested`)
    : verified('failed', `${result.devices} of ${devices} GPUs were tested: ${result.because}`, result.devices);
}

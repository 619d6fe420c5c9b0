/** The driver's own verdict after a repair: `nvidia-smi --query-gpu=index,uuid,gpu_recovery_action --format=csv`. */

import { readNvidiaSmiCsv } from '../tools/nvidia-smi/csv.ts';
import { few, type Verification, type VerificationOptions, verificationLines, verified } from './verification.ts';

export function readRecoveryAction(text: string, { exitCode = 0 }: VerificationOptions): Verification {
  const { faults, unobservable, devices } = readNvidiaSmiCsv(text);
  if (faults.length > 0) return verified('failed', few(faults.map(({ message }) => message)), devices);
  if (!verificationLines(text).some((line) => line.includes('gpu_recovery_action')))
    return verified('unknown', 'it has no column gpu_recovery_action');
  const [unread] = unobservable;
  if (unread) return verified('unknown', `${unread.what}: ${unread.because}`, devices);
  if (devices === 0) return verified('unknown', 'it lists no GPU');
  if (exitCode !== 0) return verified('unknown', `nvidia-smi ended with exit code ${exitCode}`, devices);
  return verified('passed', `the driver asks for nothing of ${devices} GPUs`, devices);
}

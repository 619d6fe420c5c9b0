/** Result of one check of `kcover doctor`. */

import { type ErrorCode, KcoverError } from '../../contract/errors.ts';

export const results = ['ok', 'warn', 'failed'] as const;
export type CheckResult = (typeof results)[number];

export interface Finding {
  readonly check: string;
  readonly result: CheckResult;
  readonly because: string;
  readonly remedy?: string;
  /** The server did not answer. */
  readonly unreachable?: true;
}

export const ok = (check: string, because: string): Finding => ({ check, result: 'ok', because });
export const warn = (check: string, because: string, advice: string): Finding => ({
  check,
  result: 'warn',
  because,
  remedy: advice,
});
export const failed = (check: string, because: string, advice: string): Finding => ({
  check,
  result: 'failed',
  because,
  remedy: advice,
});

const unreachableCodes: readonly ErrorCode[] = ['kube.unreachable', 'kube.throttled', 'temporal.unreachable'];

/** Runs one check; an error of the catalogue becomes a failed finding. */
export async function look(check: string, examine: () => Promise<Finding>): Promise<Finding> {
  try {
    return await examine();
  } catch (error) {
    if (!(error instanceof KcoverError)) throw error;
    return {
      ...failed(check, error.because, error.advice),
      ...(unreachableCodes.includes(error.code) && { unreachable: true as const }),
    };
  }
}

/** Compares this machine's clock with that of a server; warns above the tolerance. */
export function clockFinding(check: string, whose: string, offsetMs: number, toleranceMs: number): Finding {
  if (Math.abs(offsetMs) <= toleranceMs)
    return ok(check, `this machine and ${whose} agree within ${toleranceMs / 1000} s`);
  const seconds = Math.round(Math.abs(offsetMs) / 100) / 10;
  return warn(
    check,
    `this machine is ${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} ${whose}`,
    'synchronise the clocks (NTP): times in incidents come from all of them',
  );
}

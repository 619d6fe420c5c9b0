/**
 * `AcceleratedHardwareReady` of the EKS node monitoring agent, by its reason. The reason is that of the newest event only; the message grows.
 * Source: pkg/reasons of aws/eks-node-monitoring-agent; only fatal reasons set the condition.
 */

import type { Action } from '../../contract/faults/faults.ts';
import { decideXid } from '../kernel/xid-action.ts';
import type { Verdict } from './verdict.ts';

/** Actions are ours: the agent names none. */
const byReason: Readonly<Record<string, readonly [Action, string]>> = {
  NvidiaDoubleBitError: ['reset-gpu', 'a GPU reported a double-bit error'],
  NvidiaNVLinkError: ['reset-gpu', 'an NVLink reported an error'],
  NvidiaDeviceCountMismatch: ['reboot', 'GPUs are missing'],
  NvidiaFabricError: ['reboot', 'a GPU could not join the NVLink fabric'],
  FabricManagerNotRunning: ['reboot', 'the Fabric Manager does not run'],
  DCGMDiagnosticFailure: ['contact-support', 'a diagnosis of DCGM failed'],
};

/** The agent reports that it cannot reach DCGM, which says nothing about the GPUs. */
export const cannotSee = (reason: string): boolean => reason === 'DCGMError';

export function eksVerdict(type: string, reason: string, message: string): Verdict {
  const xid = /^NvidiaXID(\d{1,4})Error$/.exec(reason)?.[1];
  if (xid !== undefined) {
    const line = { kind: 'xid', code: Number(xid), pci: null, pid: null, process: null, message: '' } as const;
    const { action, standing, because } = decideXid(line);
    return { code: `xid/${line.code}`, action, standing, message, because };
  }
  const [action, meaning] = judgedBy(reason);
  const because = `${meaning}; kcover says ${action}`;
  return { code: `condition/${type}`, action, cause: reason.slice(0, 60), message, because };
}

function judgedBy(reason: string): readonly [Action, string] {
  if (/^DCGMHealthCode\d{1,6}$/.test(reason)) return ['contact-support', 'a health check of DCGM failed'];
  const known = Object.hasOwn(byReason, reason) ? byReason[reason] : undefined;
  return known ?? ['reboot', 'the agent sets it only for what it takes for fatal'];
}

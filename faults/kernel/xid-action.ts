/** The action for an Xid. Xid 154 contains the driver's own recovery action, which overrides the catalogue. */

import type { Action } from '../../contract/faults/faults.ts';
import { lookUp } from './catalogue.ts';
import type { FaultJudgement } from './judgement.ts';
import type { XidLine } from './xid.ts';

/** States that Xid 154 names, in lower case. Source: NVIDIA's Xid catalogue and observed lines. */
const recoveryStates: Readonly<Record<string, Action>> = {
  none: 'ignore',
  'gpu reset required': 'reset-gpu',
  'drain p2p': 'reset-gpu',
  'drain and reset': 'reset-gpu',
  'node reboot required': 'reboot',
};

/** The new state in `... changed from 0x0 (None) to 0x2 (Node Reboot Required)`; a text without a change is the state itself. */
function newState(message: string): string {
  const change = /^.{0,400}\bto (?:0x[0-9a-f]{1,8} ?)?\(([^()]{1,64})\)/i.exec(message);
  return (change?.[1] ?? message).trim().replace(/\.$/, '').toLowerCase();
}

function obey154({ message }: XidLine): FaultJudgement {
  const state = newState(message);
  const action = Object.hasOwn(recoveryStates, state) ? recoveryStates[state] : undefined;
  const because =
    action === undefined
      ? 'Xid 154 announces a recovery action that kcover does not know; a reset of the GPU is the safe choice.'
      : `Xid 154 is the driver's own recovery action, now "${state}"; that is ${action}.`;
  return {
    severity: lookUp('xid', 154)?.severity ?? 'informational',
    action: action ?? 'reset-gpu',
    standing: 'current',
    because,
  };
}

/** Pure; `because` names the catalogue entry or the text that decided. */
export function decideXid(line: XidLine): FaultJudgement {
  const entry = lookUp('xid', line.code);
  if (!entry) {
    const because = `Xid ${line.code} is not in the catalogue of Xids; a person has to check.`;
    return { severity: 'unknown', action: 'contact-support', standing: 'unknown', because };
  }
  if (entry.action === 'follow-xid-154') return obey154(line);
  const { name, severity, action } = entry;
  if (entry.retired)
    return {
      severity,
      action,
      standing: 'retired',
      because: `Xid ${line.code} is "${name}", which current hardware no longer emits; the catalogue of Xids says ${action}.`,
    };
  return {
    severity,
    action,
    standing: 'current',
    because: `Xid ${line.code} is "${name}"; the catalogue of Xids says ${action}.`,
  };
}

/** The action for an Xid. Xid 154 contains the driver's own recovery action, which overrides the catalogue. */

import { lookUp } from './catalogue.ts';
import type { FaultJudgement } from './judgement.ts';
import { nvlink5Error } from './nvlink5.ts';
import { recoveryActionIn } from './recovery-action.ts';
import type { XidLine } from './xid.ts';

function obey154({ message }: XidLine): FaultJudgement {
  const { number, words, action } = recoveryActionIn(message);
  const state = number === undefined ? `"${words}"` : `0x${number.toString(16)} ("${words}")`;
  const because =
    action === undefined
      ? `Xid 154 announces ${state}, a recovery action that kcover does not know; a reboot is the safe choice, and a person has to check.`
      : `Xid 154 is the driver's own recovery action, now ${state}; that is ${action}.`;
  return {
    severity: lookUp('xid', 154)?.severity ?? 'informational',
    action: action ?? 'reboot',
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
  const decoded = nvlink5Error(line);
  if (decoded)
    return {
      severity: decoded.severity,
      action: decoded.action,
      standing: 'current',
      because: `Xid ${line.code} is "${name}"; ${decoded.why}; that is ${decoded.action}.`,
    };
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

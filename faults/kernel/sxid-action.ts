/** The action for an SXid, from the catalogue and from the word fatal or non-fatal in the line. */

import { lookUp } from './catalogue.ts';
import type { FaultJudgement } from './judgement.ts';
import type { SxidLine } from './xid.ts';

function decideByWord({ code, word }: SxidLine): FaultJudgement {
  const unknown = `SXid ${code} is not in the catalogue of SXids`;
  switch (word) {
    case 'fatal':
      return {
        severity: 'fatal',
        action: 'reboot',
        standing: 'current',
        because: `${unknown}, but its line says fatal; that is reboot.`,
      };
    case 'non-fatal':
      return {
        severity: 'info',
        action: 'ignore',
        standing: 'current',
        because: `${unknown}, but its line says non-fatal; that is ignore.`,
      };
    case null:
      return {
        severity: 'unknown',
        action: 'contact-support',
        standing: 'unknown',
        because: `${unknown} and its line does not say whether it is fatal; a person has to check.`,
      };
  }
}

/** Pure. "Fatal" in the line overrides a harmless catalogue entry; otherwise the catalogue takes precedence over the line. */
export function decideSxid(line: SxidLine): FaultJudgement {
  const entry = lookUp('sxid', line.code);
  if (!entry || entry.action === 'follow-xid-154') return decideByWord(line);
  const { name, severity, action } = entry;
  const standing = entry.retired ? 'retired' : 'current';
  if (line.word === 'fatal' && action === 'ignore') {
    return {
      severity: 'fatal',
      action: 'reboot',
      standing,
      because: `SXid ${line.code} is "${name}", harmless in the catalogue of SXids, but its line says fatal; that is reboot.`,
    };
  }
  return {
    severity,
    action,
    standing,
    because: `SXid ${line.code} is "${name}"; the catalogue of SXids says ${action}.`,
  };
}

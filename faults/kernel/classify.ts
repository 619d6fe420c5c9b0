/** Classifies kernel lines, with the action that the vendor recommends. */

import { lookUp } from './catalogue.ts';
import type { FaultJudgement } from './judgement.ts';
import { parseKernelLine } from './line.ts';
import { oneLine } from '../../contract/text.ts';
import { decideSxid } from './sxid-action.ts';
import { decideXid } from './xid-action.ts';
import { type OtherLine, parseDriverLine } from './xid.ts';

/** A classified line; fields that the line does not contain are null. */
export interface Classified extends FaultJudgement {
  /** Number of an Xid or SXid; a name for other lines. */
  readonly code: number | string;
  readonly kind: 'xid' | 'sxid' | 'other';
  /** `dddd:bb:dd` */
  readonly pci: string | null;
  readonly pid: number | null;
  readonly process: string | null;
  readonly link: number | null;
  /** The driver's text, or the catalogue's where it had none. At most 500 characters. */
  readonly message: string;
}

const others: Readonly<Record<OtherLine['code'], FaultJudgement>> = {
  'gpu-off-bus': {
    severity: 'critical',
    action: 'reboot',
    standing: 'current',
    because:
      'The driver says without an Xid that a GPU has fallen off the bus or does not respond; reboot, as for Xid 79.',
  },
  nvlink: {
    severity: 'critical',
    action: 'reset-gpu',
    standing: 'current',
    because:
      'The driver could not read which NVLinks of a GPU have a partner; its links cannot be trained before a reset.',
  },
  peermem: {
    severity: 'application',
    action: 'restart-app',
    standing: 'current',
    because:
      'nvidia-peermem freed memory in an invalid context (GPUDirect RDMA); the application did that, the node did not.',
  },
};

const messageOf = (text: string, otherwise: string | undefined): string => oneLine(text, 500) || (otherwise ?? '');

/** Classifies one line in any of the forms of `kernel-line.ts`; undefined when it is no driver fault. Never throws. */
export function classifyLine(text: string): Classified | undefined {
  const line = parseDriverLine(parseKernelLine(text).text);
  if (!line) return undefined;
  const noProcess = { pid: null, process: null, link: null };
  switch (line.kind) {
    case 'xid': {
      const { kind, code, pci, pid, process } = line;
      return {
        ...noProcess,
        kind,
        code,
        pci,
        pid,
        process,
        ...decideXid(line),
        message: messageOf(line.message, lookUp(kind, code)?.name),
      };
    }
    case 'sxid': {
      const { kind, code, pci, link } = line;
      return {
        ...noProcess,
        kind,
        code,
        pci,
        link,
        ...decideSxid(line),
        message: messageOf(line.message, lookUp(kind, code)?.name),
      };
    }
    case 'other':
      return {
        ...noProcess,
        kind: line.kind,
        code: line.code,
        pci: line.pci,
        ...others[line.code],
        message: messageOf(line.message, undefined),
      };
  }
}

/** The vendor's catalogue of Xid and SXid numbers, from one data file. */

import { type Action, actions } from '../../contract/faults/faults.ts';
import data from '../catalogue/xid.json' with { type: 'json' };

/** `xid`: a GPU's driver. `sxid`: an NVSwitch's driver. */
export type CodeKind = 'xid' | 'sxid';

/** One row of the data file. The action of Xid 154 is in its text. */
export interface CatalogueEntry {
  readonly kind: CodeKind;
  readonly code: number;
  readonly name: string;
  readonly severity: string;
  readonly action: Action | 'follow-xid-154';
  /** Current hardware no longer emits it. */
  readonly retired?: true;
  readonly note?: string;
}

type CatalogueRow = (typeof data)[number];

const isAction = (text: string): text is CatalogueEntry['action'] =>
  text === 'follow-xid-154' || actions.some((action) => action === text);

function entryOf(row: CatalogueRow): CatalogueEntry {
  const { kind, code, name, severity, action } = row;
  if ((kind !== 'xid' && kind !== 'sxid') || !isAction(action))
    throw new TypeError(`faults/catalogue/xid.json: row ${kind}/${code} is not usable`);
  const retired = 'retired' in row && row.retired;
  return {
    kind,
    code,
    name,
    severity,
    action,
    ...(retired && { retired }),
    ...('note' in row && row.note !== undefined && { note: row.note }),
  };
}

/** Every row, in the order of the data file. */
export const catalogue: readonly CatalogueEntry[] = data.map(entryOf);

const byCode = new Map(catalogue.map((entry) => [`${entry.kind}/${entry.code}`, entry]));

/** The row of a number; undefined when the catalogue does not know it. */
export const lookUp = (kind: CodeKind, code: number): CatalogueEntry | undefined => byCode.get(`${kind}/${code}`);

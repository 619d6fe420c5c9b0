/** A row of the table of node conditions. */

import type { Action } from '../../contract/faults/action.ts';

/** Who writes a condition. */
export type Owner =
  | 'node-problem-detector'
  | 'EKS node monitoring agent'
  | 'AKS node problem detector'
  | 'NVSentinel'
  | 'Nebius'
  | 'ModelArts'
  | 'Kubernetes'
  | 'this site';

export interface ConditionRow {
  /** Of the condition. One that ends with `*` stands for every type that begins so. */
  readonly type: string;
  /** The status that reports the fault. */
  readonly bad: 'True' | 'False';
  readonly owner: Owner;
  readonly meaning: string;
  /**
   * Set only where the writer examined the hardware: by default such a fault quarantines the node. `ignore`: a state, not a fault.
   * Without an action a fault only warns.
   */
  readonly action?: Action;
  /** How long it must stay bad where the setting for all is too short for a check that comes and goes, ms. */
  readonly debounceMs?: number;
  /** Bad means that the writer itself cannot see the hardware. */
  readonly observerLost?: true;
  /** How long after the transition EKS node repair, or Karpenter, replaces the node, ms. */
  readonly replacedAfterMs?: number;
}

/** What the rows of one writer are made of: everything but what they share. */
export type OwnRow = Omit<ConditionRow, 'type' | 'owner' | 'bad'>;

export const rowsOf = (
  shared: Pick<ConditionRow, 'owner' | 'bad'>,
  rows: Readonly<Record<string, OwnRow>>,
): readonly ConditionRow[] => Object.entries(rows).map(([type, row]) => ({ type, ...shared, ...row }));

/** The row of a condition; an exact type comes before a prefix, and earlier rows before later ones. */
export const rowFor = (type: string, rows: readonly ConditionRow[]): ConditionRow | undefined =>
  rows.find((row) => row.type === type) ??
  rows.find((row) => row.type.endsWith('*') && type.startsWith(row.type.slice(0, -1)));

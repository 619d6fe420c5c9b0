/** Labels by which others say that they look after a node. */

import type { Action } from '../../contract/faults/faults.ts';
import { oneLine } from '../../contract/text.ts';
import type { StandingFault } from './condition.ts';
import type { SeenNode } from './node-object.ts';

interface LabelRow {
  readonly label: string;
  readonly code: string;
  /** By value; any other value is only recorded. */
  readonly actions: Readonly<Record<string, Action>>;
  /** Values that say nothing. */
  readonly fine: readonly string[];
  readonly because: string;
}

const rows: readonly LabelRow[] = [
  {
    label: 'dgxc.nvidia.com/nvsentinel-state',
    code: 'condition/nvsentinel-owns-node',
    actions: {},
    fine: [],
    because:
      'NVSentinel owns this node: it cordons, drains and remedies it, and kcover leaves its cordon, taints and labels alone',
  },
  {
    label: 'sagemaker.amazonaws.com/node-health-status',
    code: 'condition/hyperpod-node-health',
    actions: { UnschedulablePendingReplacement: 'contact-support', UnschedulablePendingReboot: 'reboot' },
    fine: ['Schedulable'],
    because: 'HyperPod looks after this node by its own health checks',
  },
];

export const labelFaults = ({ name, bootId, labels }: SeenNode): readonly StandingFault[] =>
  rows.flatMap(({ label, code, actions, fine, because }): StandingFault[] => {
    const value = Object.hasOwn(labels, label) ? oneLine(labels[label] ?? '', 63) : '';
    if (value === '' || fine.includes(value)) return [];
    const action = Object.hasOwn(actions, value) ? (actions[value] ?? 'ignore') : 'ignore';
    return [
      {
        finding: { source: 'condition', code, node: name, action, message: `the label ${label} is ${value}`, because },
        // A label has no time: a later boot with the same value is another state.
        key: `${label}/${value}/${bootId.slice(0, 8)}`,
      },
    ];
  });

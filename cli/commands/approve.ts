import { answerRecovery, approvalParts } from '../job/approval.ts';
import type { CommandEntry } from '../program/command.ts';

export const approve: CommandEntry = {
  summary: 'Approve a recovery that waits for approval, so that it continues.',
  ...approvalParts,
  examples: [
    'kcover approve pytorchjob/llm -n train --reason "the node is lost anyway"',
    'kcover approve recovery/train/llm/0b1c8d5e/2026-11-21T07:09:03.117Z --question stop@2026-11-21T07:09:03.204Z --reason "agreed with the team"',
  ],
  run: (typed, context) => answerRecovery(typed, context, 'approve'),
};

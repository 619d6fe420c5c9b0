import { answerRecovery, approvalParts } from '../job/approval.ts';
import type { CommandEntry } from '../program/command.ts';

export const deny: CommandEntry = {
  summary: 'Deny a recovery that waits for approval: it ends, and nothing is stopped.',
  ...approvalParts,
  examples: [
    'kcover deny pytorchjob/llm -n train --reason "the last epoch is nearly done"',
    'kcover deny recovery/train/llm/0b1c8d5e/2026-11-21T07:09:03.117Z --question stop@2026-11-21T07:09:03.204Z --reason "not during the demo"',
  ],
  run: (typed, context) => answerRecovery(typed, context, 'deny'),
};

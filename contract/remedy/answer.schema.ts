/** What a hook says of itself, as JSON: the body of an HTTP answer, a termination message, the output of a command. Untrusted. */

import { z } from 'zod';

const text = z.string().max(4096);

/** Other fields are not read: a ticket system answers with many. */
export const hookAnswer = z.object({
  verdict: z.enum(['passed', 'failed', 'busy', 'unknown']).exactOptional(),
  because: text.exactOptional(),
  /** Where more is to be found. */
  reference: text.exactOptional(),
  /** What the answer is about: another node or operation makes it worthless. */
  node: text.exactOptional(),
  operation: text.exactOptional(),
});

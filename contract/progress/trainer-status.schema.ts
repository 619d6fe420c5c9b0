/** The step in a status of Kubeflow Trainer. Tenants write it, so everything is bounded; what kcover does not use is not read. */

import { z } from 'zod';

const metrics = z.array(z.object({ name: z.string().max(200), value: z.string().max(200) })).max(256);

/** Body: `{"trainerStatus": {"metrics": [{"name": "current_step", "value": "120"}]}}`. Undefined before the first step. */
export const trainerStatus = z
  .object({ trainerStatus: z.object({ metrics: metrics.default([]) }) })
  .transform((body) => body.trainerStatus.metrics.find(({ name }) => name === 'current_step')?.value)
  .pipe(
    z
      .string()
      .regex(/^\d{1,15}$/, 'current_step is no number of steps')
      .transform(Number)
      .optional(),
  );

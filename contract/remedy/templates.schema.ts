/** Templates of hooks, which an operator mounts as files. They are checked strictly: a hook acts on machines with high rights. */

import { z } from 'zod';

/** Most bytes of a template. */
export const templateBytes = 64 * 1024;

const texts = z.record(z.string().max(317), z.string().max(4096));

/** Without name and namespace, which kcover sets. */
const metadata = z.strictObject({ labels: texts.default({}), annotations: texts.default({}) }).prefault({});

const container = z.looseObject({
  name: z.string().min(1).max(63),
  image: z.string().min(1).max(1000),
  env: z
    .array(z.looseObject({ name: z.string().min(1).max(200) }))
    .max(200)
    .default([]),
});

const pinned = z.never({ error: 'must be absent: kcover pins the pod to its node' }).exactOptional();

const podSpec = z.looseObject({
  containers: z.array(container).length(1, {
    error: 'must be exactly one container, whose exit code is the result; use initContainers for others',
  }),
  initContainers: z.array(container).max(10).exactOptional(),
  tolerations: z.array(z.looseObject({})).max(50).default([]),
  restartPolicy: z.literal('Never', { error: 'must be Never: a hook runs once' }).default('Never'),
  automountServiceAccountToken: z.boolean().default(false),
  nodeName: pinned,
  nodeSelector: pinned,
  affinity: pinned,
  topologySpreadConstraints: pinned,
});

/** A batch/v1 Job. Its numbers of pods and retries are kcover's. */
export const jobTemplate = z.strictObject({
  apiVersion: z.literal('batch/v1'),
  kind: z.literal('Job'),
  metadata,
  spec: z.strictObject({
    activeDeadlineSeconds: z.int().min(1).exactOptional(),
    ttlSecondsAfterFinished: z.int().min(1).exactOptional(),
    template: z.strictObject({ metadata, spec: podSpec }),
  }),
});
export type JobTemplate = z.infer<typeof jobTemplate>;

/** An object of any kind. */
export const objectTemplate = z.strictObject({
  apiVersion: z
    .string()
    .regex(/^(?:[a-z0-9](?:[a-z0-9.-]{0,200}[a-z0-9])?\/)?v[a-z0-9]{1,30}$/, { error: 'must be group/version' }),
  kind: z.string().regex(/^[A-Z][A-Za-z0-9]{0,62}$/, { error: 'must be a kind' }),
  metadata,
  spec: z.record(z.string().max(200), z.json()),
});
export type ObjectTemplate = z.infer<typeof objectTemplate>;

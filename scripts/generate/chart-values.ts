/** Schema of the chart's values, except for the settings of the roles. charts/kcover/values.yaml has all of them with their defaults. */

import { z } from 'zod';

const object = z.record(z.string(), z.unknown());
const texts = z.record(z.string(), z.string());
const flag = z.boolean().optional();
const name = z
  .string()
  .regex(/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$/)
  .max(253);
const group = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => z.strictObject(shape).optional();

const repository = z.string().min(1).optional();
const digest = z
  .string()
  .regex(/^(sha256:[0-9a-f]{64})?$/)
  .describe('Digest, instead of the tag')
  .optional();

const image = group({
  registry: z.string().describe('Before the repository; global.imageRegistry otherwise').optional(),
  repository,
  tag: z.string().describe('The appVersion of the chart otherwise').optional(),
  digest,
  pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional(),
});

const serviceAccount = group({
  create: flag,
  name: name.describe('A name of its own; needed where create is false').optional(),
  annotations: texts.optional(),
});

/** Values that the pods of every role have. */
const pods = {
  serviceAccount,
  podAnnotations: texts.optional(),
  podLabels: texts.optional(),
  podSecurityContext: object.optional(),
  securityContext: object.optional(),
  resources: object.optional(),
  nodeSelector: texts.optional(),
  tolerations: z.array(object).optional(),
  affinity: object.optional(),
  priorityClassName: z.string().optional(),
  args: z.array(z.string()).describe('More arguments of the role').optional(),
  env: z.array(object).describe('More variables, as in a container').optional(),
  volumes: z.array(object).optional(),
  volumeMounts: z.array(object).optional(),
};

const replicated = {
  replicas: z.int().min(0).optional(),
  podDisruptionBudget: group({ enabled: flag }),
  ...pods,
};

const persistence = group({
  enabled: flag,
  existingClaim: name.optional(),
  storageClass: z.string().optional(),
  accessModes: z
    .array(z.enum(['ReadWriteOnce', 'ReadWriteMany', 'ReadWriteOncePod']))
    .min(1)
    .optional(),
  size: z.string().optional(),
});

export const chartValues = z.strictObject({
  global: z.looseObject({ imageRegistry: z.string().optional() }).optional(),
  nameOverride: name.optional(),
  fullnameOverride: name.optional(),
  image,
  imagePullSecrets: z.array(z.strictObject({ name })).optional(),
  commonLabels: texts.optional(),
  temporal: group({
    address: z
      .string()
      .regex(/^\S+:\d{1,5}$/)
      .describe('host:port')
      .optional(),
    namespace: z.string().min(1).describe('One for each Kubernetes cluster').optional(),
    taskQueue: z.string().min(1).optional(),
    apiKey: group({ existingSecret: name.optional(), key: z.string().min(1).optional() }),
    tls: group({
      enabled: z.boolean().describe('An API key or one of the Secrets below turns it on too').optional(),
      serverName: z.string().optional(),
      caSecret: name.describe('Secret with ca.crt, the authority of the server').optional(),
      clientSecret: name.describe('Secret with tls.crt and tls.key, the certificate of kcover').optional(),
    }),
  }),
  settings: group({}).describe('Settings of each role'),
  intake: group({
    port: z.int().min(1).max(65_535).optional(),
    tls: group({
      existingSecret: name.describe('Secret with tls.crt and tls.key; made by the chart otherwise').optional(),
      caConfigMap: name
        .describe("ConfigMap with ca.crt, in the agents' namespace; needed with existingSecret and certManager")
        .optional(),
      certManager: group({
        issuerRef: z
          .strictObject({ name: name.optional(), kind: z.string().optional(), group: z.string().optional() })
          .describe('Who issues the certificate')
          .optional(),
      }),
      days: z.int().min(2).describe('How long a certificate is valid').optional(),
    }),
  }),
  rbac: group({
    namespaces: z
      .array(name)
      .describe('Where pods may be deleted, jobs changed and logs read; everywhere if empty')
      .optional(),
    hookRules: z.array(object).describe('Rules for the kinds of objects that hooks create').optional(),
  }),
  hooks: group({
    createNamespace: flag,
    templates: z.record(z.string(), z.string()).describe('Files at /etc/kcover/hooks of the worker').optional(),
  }),
  admission: group({
    enabled: z.boolean().describe('ValidatingAdmissionPolicies for the roles and for host paths of pods').optional(),
  }),
  networkPolicy: group({
    enabled: flag,
    metricsFrom: z.array(object).describe('Who may read health and metrics').optional(),
    intakeFrom: z.array(object).describe('Who may reach the intake, beside agents and preflight pods').optional(),
    egress: z.array(object).describe('Where controllers and workers may connect to; anywhere if empty').optional(),
  }),
  apiPriority: group({ enabled: z.boolean().describe('Priority levels of its own at the API server').optional() }),
  agent: group({
    namespace: name.describe('<release namespace>-agents otherwise').optional(),
    createNamespace: flag,
    image: group({ repository, tag: z.string().describe('The tag of image otherwise').optional(), digest }),
    stateDirectory: z
      .string()
      .regex(/^(\/[\w.-]*\w)+$/)
      .describe('On the node')
      .optional(),
    podLogs: z.boolean().describe('Mount /var/log/pods of the node, for reading').optional(),
    statusFile: z.boolean().describe('Write status/node.json in the state directory, for pods of the node').optional(),
    updateStrategy: object.optional(),
    checks: group({
      nvidiaRuntime: z.string().describe('RuntimeClass that puts nvidia-smi into the container').optional(),
      sys: flag,
      mounts: flag,
      chrony: flag,
      scripts: z.string().describe('ConfigMap with executables').optional(),
    }),
    ...pods,
  }),
  controller: group(replicated),
  worker: group({
    records: group({ persistence }),
    evidence: group({ persistence }),
    ...replicated,
  }),
  metrics: group({
    serviceMonitor: group({ enabled: flag, interval: z.string().optional(), labels: texts.optional() }),
    prometheusRule: group({
      enabled: z.boolean().describe('Alerts for the Prometheus operator').optional(),
      labels: texts.optional(),
      runbooks: z
        .string()
        .regex(/^(https?:\/\/[\w.~:/%-]+[^/])?$/)
        .describe('Address of this repository, without the slash at its end, for runbook_url')
        .optional(),
    }),
    dashboard: group({
      enabled: z.boolean().describe('Dashboard as a ConfigMap for the sidecar of Grafana').optional(),
      labels: texts.optional(),
      annotations: texts.optional(),
    }),
  }),
});

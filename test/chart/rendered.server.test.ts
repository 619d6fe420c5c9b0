/** The rendered chart for various values. */

import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { V1EnvVar } from '@kubernetes/client-node';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { CommandEntry, Typed } from '../../cli/program/command.ts';
import { buildProgram } from '../../cli/program/program.ts';
import { parseSettings, type RoleName, roles } from '../../cli/settings/file.ts';
import { temporalTarget } from '../../cli/clients/temporal.ts';
import { agentAudience } from '../../contract/wire/reports.ts';
import { leaderLabel } from '../../contract/ids.ts';
import { fullValues, render, type Rendered, valuesFile } from './rendered.ts';

let byDefault: Rendered;
let full: Rendered;

beforeAll(async () => {
  [byDefault, full] = await Promise.all([render(), render(fullValues)]);
});

const settingsOf = <R extends RoleName>(role: R, rendered: Rendered, fullName?: string) =>
  parseSettings(role, `${role}.yaml`, rendered.settings(role, fullName)).settings;

describe('settings files', () => {
  it('use mode observe by default', () => {
    expect(settingsOf('worker', byDefault).mode).toBe('observe');
  });

  it('contain the settings of the values, and are valid for the roles', () => {
    expect(settingsOf('worker', full, 'gpu-care')).toMatchObject({
      mode: 'act',
      temporal: { taskQueue: 'gpu-care' },
      quarantine: { taint: { key: 'trainy.konduktor.ai/faulty', value: 'true' }, limit: { atLeast: 4 } },
      recovery: { correlation: 1000, deadlines: { hold: 1_800_000 } },
      faults: { codes: { 'xid/94': 'quarantine' } },
    });
    expect(settingsOf('controller', full, 'gpu-care')).toMatchObject({
      temporal: { taskQueue: 'gpu-care' },
      leaderElection: { namespace: 'kcover-system', name: 'gpu-care', lease: 8000 },
      log: { level: 'debug' },
    });
    expect(settingsOf('agent', full, 'gpu-care')).toMatchObject({ heartbeat: 5000, spool: { maxBytes: 33_554_432 } });
  });

  it('give the controller the taint of the worker', () => {
    expect(settingsOf('controller', byDefault).taint).toEqual(settingsOf('worker', byDefault).quarantine.taint);
    expect(settingsOf('controller', full, 'gpu-care').taint).toEqual(
      settingsOf('worker', full, 'gpu-care').quarantine.taint,
    );
  });

  it.each([
    ['by default', () => byDefault, 'kcover', 8443],
    ['with other names', () => full, 'gpu-care', 9443],
  ])('let agents and controller connect and authenticate %s', (_, rendered, fullName, port) => {
    const { controller } = settingsOf('agent', rendered(), fullName);
    const { spec: service } = rendered().the('Service', `${fullName}-intake`);
    expect(controller.url).toBe(`https://${fullName}-intake.kcover-system.svc:${port}`);
    expect(service?.ports).toMatchObject([{ port, targetPort: 'intake' }]);
    const { intake } = settingsOf('controller', rendered(), fullName);
    const { spec } = rendered().pod('agent', fullName);
    expect(intake.agentAccount).toBe(
      `${rendered().the('DaemonSet', `${fullName}-agent`).metadata?.namespace}/${spec.serviceAccountName}`,
    );
    const tokens = spec.volumes?.flatMap(
      ({ projected }) => projected?.sources?.map((source) => source.serviceAccountToken) ?? [],
    );
    expect(tokens).toMatchObject([{ audience: intake.audience, path: 'token' }]);
    expect(intake.audience).toBe(agentAudience);
  });

  it.each(roles)('name files and ports that exist in the pod of the %s', (role) => {
    const { container } = byDefault.pod(role);
    const settings = settingsOf(role, byDefault);
    const paths = JSON.stringify(settings).match(/"\/(?:etc|var)\/[^"]+"/g) ?? [];
    const mounts = container.volumeMounts?.map(({ mountPath }) => mountPath) ?? [];
    expect(paths.length).toBeGreaterThan(0);
    expect(
      paths
        .map((text) => JSON.parse(text) as string)
        .filter((path) => !mounts.some((mount) => `${path}/`.startsWith(`${mount}/`))),
    ).toEqual([]);
    const health = Number(settings.health.listen.split(':')[1]);
    expect(container.ports).toContainEqual({ name: 'health', containerPort: health });
  });

  it('replace the pods of their role when they change, and no others', async () => {
    const changed = await render(valuesFile({ settings: { worker: { mode: 'act' } } }));
    const differ = roles.filter(
      (role) => JSON.stringify(changed.template(role)) !== JSON.stringify(byDefault.template(role)),
    );
    expect(differ).toEqual(['worker']);
  });
});

describe('the pods', () => {
  it.each(roles)('start the %s with arguments that the program accepts', async (role) => {
    const ran: { entry: CommandEntry; typed: Typed }[] = [];
    const program = buildProgram({ version: '0', programName: 'kcover', stdout: process.stdout }, (entry, typed) => {
      ran.push({ entry, typed });
      return Promise.resolve();
    });
    await program.parseAsync(byDefault.pod(role).container.args ?? [], { from: 'user' });
    expect(ran).toHaveLength(1);
    expect(ran[0]?.typed.option('config')).toBe('/etc/kcover/settings/settings.yaml');
    expect(byDefault.pod(role).container.volumeMounts).toContainEqual({
      name: 'settings',
      mountPath: '/etc/kcover/settings',
      readOnly: true,
    });
  });

  it.each(['controller', 'worker'] as const)(
    'of helm test ask the doctor with the account, the settings and the files of the %s, and with arguments that the program accepts',
    async (role) => {
      const ran: Typed[] = [];
      const program = buildProgram({ version: '0', programName: 'kcover', stdout: process.stdout }, (_entry, typed) => {
        ran.push(typed);
        return Promise.resolve();
      });
      const { metadata, spec } = full.the('Pod', `gpu-care-test-${role}`);
      const of = full.pod(role, 'gpu-care');
      const [container] = spec?.containers ?? [];
      await program.parseAsync(container?.args ?? [], { from: 'user' });
      expect(ran.map((typed) => [typed.option('role'), typed.value('name'), typed.option('config')])).toEqual([
        [role, 'gpu-care', '/etc/kcover/settings/settings.yaml'],
      ]);
      expect(spec?.serviceAccountName).toBe(of.spec.serviceAccountName);
      expect(container?.image).toBe(of.container.image);
      const temporal = (env: V1EnvVar[] = []) => env.filter(({ name }) => name.startsWith('TEMPORAL_'));
      expect(temporal(container?.env)).toEqual(temporal(of.container.env));
      expect(of.container.volumeMounts).toEqual(expect.arrayContaining(container?.volumeMounts ?? []));
      expect(metadata?.annotations?.['helm.sh/hook']).toBe('test');
      // Services, policies and budgets select the pods of a role by it.
      expect(metadata?.labels?.['app.kubernetes.io/component']).toBe('test');
    },
  );

  it('of agents run on GPU nodes, whatever their taints, and have no token for the API server', () => {
    const { spec } = byDefault.pod('agent');
    expect(spec).toMatchObject({
      nodeSelector: { 'nvidia.com/gpu.present': 'true' },
      tolerations: [{ operator: 'Exists' }],
      automountServiceAccountToken: false,
    });
    expect(byDefault.the('DaemonSet', 'kcover-agent').spec?.updateStrategy?.type).toBe('RollingUpdate');
  });

  it('of agents can write only into their spool', () => {
    const { container } = byDefault.pod('agent');
    expect(container.securityContext?.readOnlyRootFilesystem).toBe(true);
    expect(container.volumeMounts?.filter(({ readOnly }) => !readOnly).map(({ mountPath }) => mountPath)).toEqual([
      settingsOf('agent', byDefault).spool.directory,
    ]);
  });

  it('of agents can write the status file too, where the values ask for it', async () => {
    const rendered = await render(valuesFile({ agent: { statusFile: true, stateDirectory: '/data/kcover' } }));
    const { spec, container } = rendered.pod('agent');
    const { directory } = settingsOf('agent', rendered).statusFile;
    expect(container.volumeMounts).toContainEqual({ name: 'status', mountPath: directory });
    expect(spec.volumes).toContainEqual({
      name: 'status',
      hostPath: { path: '/data/kcover/status', type: 'DirectoryOrCreate' },
    });
    expect(container.securityContext).toEqual(byDefault.pod('agent').container.securityContext);
    expect(settingsOf('agent', byDefault).statusFile.directory).toBe('');
  });

  it('of agents get what checks need only where the values ask for it', async () => {
    const checks = { nvidiaRuntime: 'nvidia', sys: true, mounts: true, chrony: true, scripts: 'my-checks' };
    const { spec, container } = (await render(valuesFile({ agent: { checks } }))).pod('agent');
    expect(spec.runtimeClassName).toBe('nvidia');
    expect(container.env).toContainEqual({ name: 'NVIDIA_DRIVER_CAPABILITIES', value: 'utility' });
    const paths = ['/host/sys', '/host/proc/1/mounts', '/run/chrony', '/etc/kcover/checks'];
    const mountsOf = (mounts: typeof container.volumeMounts) => mounts?.map(({ mountPath }) => mountPath) ?? [];
    expect(mountsOf(container.volumeMounts)).toEqual(expect.arrayContaining(paths));
    expect(spec.volumes).toContainEqual({ name: 'checks', configMap: { name: 'my-checks', defaultMode: 0o555 } });
    expect(spec.volumes).toContainEqual({ name: 'mounts', hostPath: { path: '/proc/1/mounts', type: 'File' } });
    const usual = byDefault.pod('agent');
    expect(usual.spec.runtimeClassName).toBeUndefined();
    expect(mountsOf(usual.container.volumeMounts).filter((path) => paths.includes(path))).toEqual([]);
  });

  it.each(['controller', 'worker'] as const)('of the %s have no privileges on their node', (role) => {
    const { spec, container } = byDefault.pod(role);
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(spec.volumes?.some(({ hostPath }) => hostPath)).toBe(false);
  });

  it.each(['controller', 'worker'] as const)(
    'of the %s run on no GPU node, unless the values allow it',
    async (role) => {
      const affinityOf = (rendered: Rendered) =>
        rendered.pod(role).spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
      const [gpu] = Object.keys(byDefault.pod('agent').spec.nodeSelector ?? {});
      expect(affinityOf(byDefault)).toEqual({
        nodeSelectorTerms: [{ matchExpressions: [{ key: gpu, operator: 'DoesNotExist' }] }],
      });
      expect(affinityOf(await render(valuesFile({ [role]: { affinity: { nodeAffinity: null } } })))).toBeUndefined();
    },
  );

  it.each(['controller', 'worker'] as const)('of the %s use most of their memory limit for the heap', async (role) => {
    const optionsOf = (rendered: Rendered) =>
      rendered.pod(role).container.env?.filter(({ name }) => name === 'NODE_OPTIONS') ?? [];
    const [given, ...more] = optionsOf(byDefault);
    expect(more).toEqual([]);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['-p', 'v8.getHeapStatistics().heap_size_limit / os.totalmem()'],
      {
        env: { ...process.env, NODE_OPTIONS: given?.value ?? '' },
      },
    );
    expect(Number(stdout)).toBeGreaterThan(0.55);
    expect(optionsOf(await render(valuesFile({ [role]: { resources: { limits: null } } })))).toEqual([]);
    const own = { name: 'NODE_OPTIONS', value: '--max-old-space-size=700' };
    expect(optionsOf(await render(valuesFile({ [role]: { env: [own] } })))).toEqual([own]);
  });

  it.each(['controller', 'worker'] as const)('of the %s have size limits for what they write', (role) => {
    const empty = byDefault.pod(role).spec.volumes?.flatMap(({ emptyDir }) => emptyDir ?? []) ?? [];
    expect(empty.length).toBeGreaterThan(0);
    expect(empty.filter(({ sizeLimit }) => sizeLimit === undefined)).toEqual([]);
  });

  it('find Temporal by the variables that its own tools read', () => {
    const files = mkdtempSync(join(tmpdir(), 'kcover-chart-'));
    for (const name of ['ca.crt', 'tls.crt', 'tls.key']) writeFileSync(join(files, name), name);
    const variables = full.pod('worker', 'gpu-care').container.env?.flatMap(({ name, value, valueFrom }) => {
      if (!name.startsWith('TEMPORAL_')) return [];
      return [
        [
          name,
          valueFrom?.secretKeyRef ? 'of the Secret' : (value ?? '').replace(/^\/etc\/kcover\/temporal\/\w+/, files),
        ] as const,
      ];
    });
    const target = temporalTarget(Object.fromEntries(variables ?? []));
    expect(target).toMatchObject({ address: 'temporal.example.com:7233', namespace: 'gpu-cluster-7' });
    expect(target.options).toMatchObject({ apiKey: 'of the Secret', tls: { serverNameOverride: 'temporal.internal' } });
    const { tls } = target.options;
    const read =
      typeof tls === 'object' && tls
        ? [tls.serverRootCACertificate, tls.clientCertPair?.crt, tls.clientCertPair?.key]
        : [];
    expect(read.map((pem) => Buffer.from(pem ?? []).toString())).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
  });
});

describe('the intake', () => {
  it('selects the leading controller', () => {
    const { spec } = byDefault.the('Service', 'kcover-intake');
    const { [leaderLabel.key]: leads, ...selector } = spec?.selector ?? {};
    expect(leads).toBe('kcover');
    const { labels } = byDefault.template('controller').metadata ?? {};
    expect(labels).toMatchObject(selector);
    expect(labels).not.toHaveProperty([leaderLabel.key]);
  });

  it('selects the only controller without leader election', async () => {
    const alone = await render(
      valuesFile({ controller: { replicas: 1 }, settings: { controller: { leaderElection: { enabled: false } } } }),
    );
    expect(alone.the('Service', 'kcover-intake').spec?.selector).not.toHaveProperty([leaderLabel.key]);
    expect(alone.the('Deployment', 'kcover-controller').spec?.strategy?.type).toBe('Recreate');
    expect(alone.names()).not.toContain('PodDisruptionBudget/kcover-controller');
  });

  it('has a certificate for its name, and agents get its authority without the key', () => {
    const { data = {} } = byDefault.the('Secret', 'kcover-intake');
    const pem = (key: string): Buffer => Buffer.from(data[key] ?? '', 'base64');
    const certificate = new X509Certificate(pem('tls.crt'));
    const authority = new X509Certificate(byDefault.the('ConfigMap', 'kcover-intake-ca').data?.['ca.crt'] ?? '');
    expect(certificate.checkHost('kcover-intake.kcover-system.svc')).toBeDefined();
    expect(certificate.verify(authority.publicKey)).toBe(true);
    expect(pem('ca.crt').toString()).toBe(byDefault.the('ConfigMap', 'kcover-intake-ca').data?.['ca.crt']);
    expect(JSON.stringify(byDefault.pod('agent').spec)).not.toContain('"secret"');
  });

  it('can have a certificate from cert-manager, whose authority agents are given', async () => {
    const tls = { certManager: { issuerRef: { name: 'infra', kind: 'ClusterIssuer' } }, caConfigMap: 'authority' };
    const issued = await render(valuesFile({ intake: { tls } }));
    expect(issued.the('Certificate', 'kcover-intake').spec).toMatchObject({
      secretName: 'kcover-intake',
      dnsNames: ['kcover-intake.kcover-system.svc'],
      issuerRef: { name: 'infra', kind: 'ClusterIssuer' },
    });
    expect(issued.names()).not.toContain('Secret/kcover-intake');
    expect(JSON.stringify(issued.pod('agent').spec)).toContain('"name":"authority"');
  });

  it('uses an existing certificate', () => {
    const names = full.names();
    expect(names.filter((name) => name.startsWith('Secret/'))).toEqual([]);
    expect(names).not.toContain('ConfigMap/gpu-care-intake-ca');
    expect(full.pod('controller', 'gpu-care').spec.volumes).toContainEqual(
      expect.objectContaining({
        name: 'certificate',
        secret: expect.objectContaining({ secretName: 'intake-certificate' }),
      }),
    );
    expect(full.pod('agent', 'gpu-care').spec.volumes).toContainEqual(
      expect.objectContaining({ name: 'authority', configMap: expect.objectContaining({ name: 'intake-authority' }) }),
    );
  });
});

describe('what is optional', () => {
  it('is off by default, except for disruption budgets', () => {
    const kinds = new Set(byDefault.objects.map(({ kind }) => kind));
    expect(kinds).toContain('PodDisruptionBudget');
    expect(kinds).not.toContain('ServiceMonitor');
    expect(kinds).not.toContain('PersistentVolumeClaim');
  });

  it('is rendered when it is enabled', () => {
    expect(full.names()).toEqual(
      expect.arrayContaining([
        'ServiceMonitor/gpu-care',
        'Service/gpu-care-metrics',
        'PersistentVolumeClaim/gpu-care-records',
      ]),
    );
    expect(full.names()).not.toContain('PodDisruptionBudget/gpu-care-worker');
    expect(full.names()).not.toContain('PersistentVolumeClaim/gpu-care-evidence');
    expect(full.pod('worker', 'gpu-care').spec.volumes).toContainEqual({
      name: 'evidence',
      persistentVolumeClaim: { claimName: 'logs' },
    });
    expect(full.pod('worker', 'gpu-care').container.image).toMatch(
      /^registry\.example\.com\/infra\/kcover@sha256:[0-9a-f]{64}$/,
    );
    expect(full.pod('agent', 'gpu-care').container.image).toBe('registry.example.com/infra/kcover-agent:0.1.0-metax');
    expect(full.pod('controller', 'gpu-care').spec).toMatchObject({
      serviceAccountName: 'care-controller',
      imagePullSecrets: [{ name: 'registry' }],
    });
    expect(full.pod('agent', 'gpu-care').spec.nodeSelector).toEqual({ accelerator: 'h100' });
  });
});

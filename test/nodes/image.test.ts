/** The images built by the Dockerfile, run as the chart runs them. */

import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { context } from '../../testbed/image/context.ts';
import { obtainImages } from '../../testbed/image/images.ts';
import { run } from '../../testbed/parts/command.ts';
import { allowedLicences, licencesThatPackagesDoNotSay } from '../architecture/licences.ts';
import { type Container, UnpackedImage } from './unpacked-image.ts';

type Target = 'agent' | 'kcover';

interface Values {
  readonly agent: { readonly securityContext: Container['user'] };
  readonly worker: { readonly podSecurityContext: Container['user'] };
}

const targets = ['agent', 'kcover'] as const;
const { agent, worker } = parse(readFileSync(join(context, 'charts/kcover/values.yaml'), 'utf8')) as Values;
const users: Readonly<Record<Target, Container['user']>> = {
  agent: agent.securityContext,
  kcover: worker.podSecurityContext,
};
const { version } = JSON.parse(readFileSync(join(context, 'package.json'), 'utf8')) as { version: string };

const images = {} as Record<Target, UnpackedImage>;
let directory: string;

beforeAll(async () => {
  const archives = await obtainImages((line) => console.error(line));
  directory = mkdtempSync(join(tmpdir(), 'kcover-image-test-'));
  for (const target of targets) images[target] = await UnpackedImage.open(archives[target]);
}, 600_000);
afterAll(() => {
  for (const image of Object.values(images)) image.close();
  if (directory) rmSync(directory, { recursive: true });
});

const programsIn = ({ root }: UnpackedImage): string[] =>
  ['bin', 'sbin', 'usr/bin', 'usr/sbin', 'usr/local/bin', 'usr/local/sbin'].flatMap((path) => {
    try {
      return readdirSync(join(root, path));
    } catch {
      return [];
    }
  });

describe.each(targets)('the image %s', (target) => {
  it('starts kcover, as a user that is not root', () => {
    expect(images[target].config).toMatchObject({
      User: '1000:1000',
      Entrypoint: ['kcover'],
      WorkingDir: '/opt/kcover',
    });
  });

  it('has Node and kcover for programs, and neither a shell nor a package manager', () => {
    expect(programsIn(images[target]).toSorted()).toEqual(['kcover', 'node']);
  });

  it('prints its version as the user of the chart, with a read-only root', async () => {
    const { code, stdout } = await images[target].run({ args: ['--version'], user: users[target] });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${version}\n` });
  });

  it('lets that user write records and evidence where no volume is mounted', () => {
    const owners = ['records', 'evidence'].map(
      (name) => statSync(join(images[target].root, 'var/lib/kcover', name)).uid,
    );
    expect(owners).toEqual([1000, 1000]);
  });

  it('names no directory of the machine that built it', async () => {
    const names = [context, join(homedir(), '.cache'), join(homedir(), '.npm')].flatMap((name) => ['-e', name]);
    const { stdout } = await run({ file: 'grep', args: ['-rlF', ...names, images[target].root], env: process.env });
    expect(stdout).toBe('');
  });

  it('has an SBOM with all packages, and only allowed licences', () => {
    const { components } = JSON.parse(images[target].read('opt/kcover/sbom.cdx.json')) as {
      components: readonly Component[];
    };
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['fastify', 'node', 'libc6']));
    const refused = components.filter(
      (component) => !licencesOf(component).every((licence) => allowedLicences.has(licence)),
    );
    expect(refused).toEqual([]);
    expect(
      packagesIn(images[target]).filter((name) => !components.some((component) => component.name === name)),
    ).toEqual([]);
  });
});

interface Component {
  readonly name: string;
  readonly licenses?: readonly { readonly license?: { readonly id?: string }; readonly expression?: string }[];
}

const licencesOf = ({ name, licenses }: Component): readonly string[] =>
  licenses?.map(({ license, expression }) => license?.id ?? expression ?? '') ?? [
    licencesThatPackagesDoNotSay[name] ?? 'none said',
  ];

const packagesIn = ({ root }: UnpackedImage): string[] => {
  const modules = join(root, 'opt/kcover/node_modules');
  return readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((each) => `${name}/${each}`) : [name],
  );
};

describe('the image of the agent', () => {
  it('has nothing of Kubernetes, Temporal and bundlers', () => {
    const packages = packagesIn(images.agent);
    expect(packages).toContain('undici');
    expect(packages.filter((name) => /^@kubernetes|^@temporalio|^@swc|^@grpc|webpack/.test(name))).toEqual([]);
    expect(packagesIn(images.kcover)).toEqual(
      expect.arrayContaining(['@kubernetes/client-node', '@temporalio/worker']),
    );
  });

  it('judges kernel lines, and says of a command that it does not have where that is', async () => {
    const line = 'NVRM: Xid (PCI:0000:5d:00): 79, pid=4242, name=python, GPU has fallen off the bus.';
    const judged = await images.agent.run({ args: ['classify', line], user: users.agent });
    expect(judged).toMatchObject({ code: 0, stdout: expect.stringContaining('xid/79') });
    const refused = await images.agent.run({ args: ['list'], user: users.agent });
    expect(refused).toMatchObject({
      code: 2,
      tail: expect.stringContaining('use the image of the controllers and workers'),
    });
  });
});

interface RoleContainer {
  readonly image: Target;
  readonly settings: object;
  readonly path: '/livez' | '/readyz';
  readonly container: Pick<Container, 'env' | 'mounts'> & { readonly args?: readonly string[] };
}

const kernel = {
  '/host/dev/kmsg': '/dev/kmsg',
  '/host/proc/sys/kernel/random/boot_id': '/proc/sys/kernel/random/boot_id',
};
const nowhere = { TEMPORAL_ADDRESS: '127.0.0.1:1', KUBECONFIG: '/etc/kcover/settings/kubeconfig' };

/** Mounts and settings of the chart for each role; without a cluster, controller and worker start and wait for it. */
const roles = {
  agent: {
    image: 'agent',
    settings: { controller: { url: 'https://127.0.0.1:1' } },
    path: '/readyz',
    container: {
      args: ['--host-root=/host'],
      env: { NODE_NAME: 'gpu-0' },
      mounts: { ...kernel, '/var/lib/kcover/agent': 'spool', '/host/var/lib/kcover': 'state' },
    },
  },
  controller: { image: 'kcover', settings: {}, path: '/livez', container: { env: nowhere, mounts: { '/tmp': 'tmp' } } },
  worker: { image: 'kcover', settings: {}, path: '/livez', container: { env: nowhere, mounts: { '/tmp': 'tmp' } } },
} as const satisfies Record<string, RoleContainer>;

const kubeconfig = {
  clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  users: [{ name: 'u', user: {} }],
  'current-context': 'c',
};

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });

describe.each(Object.entries(roles))('the role %s', (name, { image, settings, path, container }: RoleContainer) => {
  it('starts as the user of the chart, with a root that is read-only', async () => {
    const port = await freePort();
    const home = join(directory, name);
    const made = Object.fromEntries(
      Object.entries(container.mounts ?? {}).map(([at, from]) => [at, from.startsWith('/') ? from : join(home, from)]),
    );
    for (const from of [home, join(home, 'settings'), ...Object.values(made).filter((each) => each.startsWith(home))])
      mkdirSync(from, { recursive: true, mode: 0o777 });
    writeFileSync(
      join(home, 'settings/settings.yaml'),
      JSON.stringify({ ...settings, health: { listen: `127.0.0.1:${port}` } }),
    );
    writeFileSync(join(home, 'settings/kubeconfig'), JSON.stringify(kubeconfig));

    const began = performance.now();
    const role = images[image].start({
      args: [name, '--config=/etc/kcover/settings/settings.yaml', ...(container.args ?? [])],
      user: users[image],
      ...(container.env && { env: container.env }),
      mounts: { ...made, '/etc/kcover/settings': join(home, 'settings') },
    });
    let said = '';
    role.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    try {
      const answer = await awaitAnswer(`http://127.0.0.1:${port}${path}`, () => role.exitCode !== null);
      console.error(
        `${name}: ${path} after ${Math.round(performance.now() - began)} ms, image of ${Math.round(images[image].size / 1e6)} MB`,
      );
      expect({ answer, said }).toEqual({
        answer: expect.stringMatching(/^ok\n/),
        said: expect.stringContaining(`"role":"${name}"`),
      });
      if (name === 'agent') expect(answer).not.toContain('kernel-log cannot be read');
    } finally {
      const ended = once(role, 'close');
      role.kill('SIGKILL');
      await ended;
    }
  });
});

/** The text of the first answer that is OK; the last error when the program ended before. */
async function awaitAnswer(url: string, ended: () => boolean): Promise<string> {
  for (let last = 'no answer'; ; await sleep(20)) {
    if (ended()) return last;
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return response.text();
    last = (await response?.text()) ?? last;
  }
}

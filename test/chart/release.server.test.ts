/** `npm run release`, as a dry run: with the real npm and helm. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testServers, type TestServers } from '../support/rig.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const version = '9.8.7';
const out = mkdtempSync(join(tmpdir(), 'kcover-release-test-'));
const status = async () => (await run('git', ['status', '--porcelain'], { cwd: root })).stdout;
const release = (...args: readonly string[]) =>
  run(process.execPath, ['scripts/release.ts', ...args, '--helm', testServers<TestServers & { helm: string }>().helm], {
    cwd: root,
  });

let before: string;
let printed: string;

beforeAll(async () => {
  before = await status();
  ({ stdout: printed } = await release(version, '--dry-run', '--out', join(out, version)));
});
afterAll(() => rmSync(out, { recursive: true, force: true }));

const read = (...parts: readonly string[]) => readFileSync(join(out, version, ...parts));

describe('a release', () => {
  it('is one directory with checksums of everything in it, and changes nothing in a dry run', async () => {
    const sums = read('SHA256SUMS').toString().trim().split('\n');
    expect(sums.map((line) => line.split('  ')[1])).toEqual([
      `chart/kcover-${version}.tgz`,
      'notes.md',
      `npm/kcover-${version}.tgz`,
      'sbom.cdx.json',
    ]);
    for (const line of sums) {
      const [sum, file = ''] = line.split('  ');
      expect(createHash('sha256').update(read(file)).digest('hex')).toBe(sum);
    }
    expect(await status()).toBe(before);
  });

  it('has a package that runs from an empty directory, and says its version', async () => {
    const empty = join(out, 'empty');
    mkdirSync(empty);
    await run('tar', ['xzf', join(out, version, 'npm', `kcover-${version}.tgz`)], { cwd: empty });
    // What npm would install beside it.
    symlinkSync(join(root, 'node_modules'), join(empty, 'node_modules'));
    const { stdout } = await run(process.execPath, ['package/bin/kcover.js', '--version'], { cwd: empty });
    expect(stdout.trim()).toBe(version);
    const help = await run(process.execPath, ['package/bin/kcover.js', 'classify', '--help'], { cwd: empty });
    expect(help.stdout).toContain('Usage: kcover classify');
  });

  it('has a chart of the same version, with its values files', async () => {
    const chart = join(out, version, 'chart', `kcover-${version}.tgz`);
    const { stdout } = await run('tar', ['xzOf', chart, 'kcover/Chart.yaml']);
    expect(stdout).toMatch(new RegExp(`^version: ${version}$`, 'm'));
    expect(stdout).toMatch(new RegExp(`^appVersion: ${version}$`, 'm'));
    const { stdout: files } = await run('tar', ['tzf', chart]);
    for (const name of ['minimal', 'full', 'secure']) expect(files).toContain(`kcover/values-${name}.yaml`);
  });

  it('lists what the package depends on, with its licences, and names no registry', () => {
    const sbom = JSON.parse(read('sbom.cdx.json').toString()) as {
      bomFormat: string;
      metadata: { component: { version: string } };
      components: { name: string; licenses?: object[] }[];
    };
    expect([sbom.bomFormat, sbom.metadata.component.version]).toEqual(['CycloneDX', version]);
    const names = sbom.components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['@temporalio/worker', '@kubernetes/client-node', 'zod']));
    expect(names).not.toContain('jest');
    expect(read('sbom.cdx.json').toString()).not.toMatch(/https?:\/\/(?!cyclonedx\.org|github\.com)[^"]*\.tgz/);
  });

  it('is described by the changes of this version, and leaves three lines to a person', () => {
    expect(read('notes.md').toString()).toMatch(/^### /);
    const lines = printed.trim().split('\n').slice(2);
    expect(lines).toHaveLength(3);
    expect(lines.join('\n')).toMatch(/git tag v9\.8\.7[^]*docker build[^]*npm publish .* && helm push /);
  });

  it.each<[string, readonly string[], string]>([
    ['a version that is none', ['next', '--dry-run'], 'next is no version'],
  ])('is refused for %s', async (_, args, because) => {
    await expect(release(...args, '--out', join(out, 'refused'))).rejects.toMatchObject({
      code: 3,
      stderr: expect.stringContaining(because),
    });
  });
});

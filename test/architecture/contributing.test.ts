/** Follows the example of CONTRIBUTING.md in a copy of the repository. */

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { codeOf, root, textOf } from './sources.ts';
import { badImports, product } from './import-table.ts';

const run = promisify(execFile);
const needed = [...product, 'package.json', 'tsconfig.json'];

/** The blocks of the example by file, in the order of the text: each stands after the line that names its file. */
function blocksOf(text: string): ReadonlyMap<string, string> {
  const [, example = ''] = text.split('### An example: uncorrected memory errors\n');
  const [section = ''] = example.split('\n## ');
  return new Map(
    [...section.matchAll(/`([\w./-]+\.ts)`[^\n]*:\n\n```ts\n([\s\S]*?)```/g)].map(([, file = '', block = '']) => [
      file,
      block,
    ]),
  );
}

/** A new file, or lines for a registry: imports after its imports, the rest as its first entries. */
async function apply(copy: string, file: string, block: string): Promise<void> {
  const path = join(copy, file);
  const before = await readFile(path, 'utf8').catch(() => undefined);
  if (before === undefined) return writeFile(path, block);
  const lines = block.trimEnd().split('\n');
  const imports = lines.filter((line) => line.startsWith('import '));
  const entries = lines.filter((line) => !line.startsWith('import '));
  const withEntries = before.replace(
    /(export const \w+(?:: [^=]+)? = \{\n)/,
    (opening) => `${opening}${entries.join('\n')}\n`,
  );
  const importing = withEntries.replace(
    /^import /m,
    (first) => `${imports.map((line) => `${line}\n`).join('')}${first}`,
  );
  await writeFile(path, imports.length > 0 ? importing : withEntries);
}

/** Prints the faults of the new detector that the intake accepts, until there is one. */
const observe = `
import { detectors } from './agent/detectors/index.ts';
import { agentSettings } from './contract/settings/settings.schema.ts';
import { reportedFault } from './contract/wire/reports.schema.ts';
const log = { info() {}, warn(facts, message) { console.error(message, facts); } };
const detector = detectors.memory.start({
  settings: agentSettings.parse({}),
  node: 'gpu-3',
  hostRoot: process.argv[2],
  stateDirectory: process.argv[2],
  log,
  fault: async (fault) => { console.log(JSON.stringify(reportedFault.parse(fault))); await Promise.resolve(); void detector.stop(); },
  gap: async () => {},
  settled: () => true,
});
`;

describe('the example of a detector in CONTRIBUTING.md', () => {
  const blocks = blocksOf(textOf('CONTRIBUTING.md'));
  let copy = '';
  beforeAll(async () => {
    copy = await mkdtemp(join(tmpdir(), 'kcover-contributing-'));
    for (const name of needed) await cp(join(root, name), join(copy, name), { recursive: true });
    await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const [file, block] of blocks) await apply(copy, file, block);
  }, 60_000);
  afterAll(() => rm(copy, { recursive: true, force: true }));

  it('changes two files and adds one', () => {
    expect([...blocks.keys()]).toEqual([
      'contract/faults/sources.ts',
      'agent/detectors/memory.ts',
      'agent/detectors/index.ts',
    ]);
  });

  it('imports what an agent may import', () => {
    const file = 'agent/detectors/memory.ts';
    expect(badImports(file, codeOf(blocks.get(file) ?? ''))).toEqual([]);
  });

  it('compiles with the rest of the repository', async () => {
    const tsc = join(root, 'node_modules/.bin/tsc');
    await expect(run(tsc, ['--noEmit', '-p', copy])).resolves.toMatchObject({ stdout: '' });
  }, 120_000);

  it('reports a fault that the intake accepts', async () => {
    const node = join(copy, 'node');
    const files = {
      'sys/devices/system/edac/mc/mc0/ue_count': '0\n',
      'sys/devices/system/edac/mc/mc1/ue_count': '3\n',
      'proc/sys/kernel/random/boot_id': 'boot-1\n',
    };
    for (const [file, text] of Object.entries(files)) {
      await mkdir(dirname(join(node, file)), { recursive: true });
      await writeFile(join(node, file), text);
    }
    await writeFile(join(copy, 'observe.ts'), observe);
    const { stdout } = await run(process.execPath, [
      '--disable-warning=ExperimentalWarning',
      join(copy, 'observe.ts'),
      node,
    ]);
    expect(JSON.parse(stdout)).toMatchObject({
      id: 'memory/gpu-3/mc1/boot-1',
      source: 'memory',
      code: 'memory/uncorrected',
      action: 'contact-support',
      message: 'memory controller mc1 has counted 3 uncorrected errors',
    });
  }, 60_000);
});

import { describe, expect, it } from '@jest/globals';
import { circles } from './circles.ts';
import { badImports, importTable, product } from './import-table.ts';
import { codeOf, importsOf, folderOf, sources, textOf } from './sources.ts';

/** The only file of contract/ with a timer: kube/ and agent/ share it, and workflows never import it. */
const withTimer = 'contract/async-event.ts';

describe('the table of imports', () => {
  it.each([
    ['a policy that reads files', 'policy/made-up.ts', "import { readFile } from 'node:fs/promises';"],
    ['a fault that knows a policy', 'faults/made-up.ts', "import { decideNode } from '../policy/node.ts';"],
    [
      'a workflow that calls an activity directly',
      'workflows/made-up.ts',
      "import type { Dependencies } from '../activities/index.ts';",
    ],
    [
      'a controller with a Kubernetes client of its own',
      'controller/made-up.ts',
      "import { KubeConfig } from '@kubernetes/client-node';",
    ],
    [
      'an activity that imports types of the client as values',
      'activities/made-up.ts',
      "import { type V1Pod } from '@kubernetes/client-node';",
    ],
    ['an agent that talks to Temporal', 'agent/made-up.ts', "import {\n  Client,\n} from '@temporalio/client';"],
    ['zod beside the types', 'contract/made-up.ts', "import { z } from 'zod';"],
    ['a late import', 'kube/made-up.ts', "const { Client } = await import('@temporalio/client');"],
    ['the product on the testbed', 'cli/made-up.ts', "export { startTestCluster } from '../testbed/test-cluster.ts';"],
    ['a folder that is not in the table', 'made-up/index.ts', "import 'node:fs';"],
  ])('catches %s', (_what, file, text) => {
    expect(badImports(file, text)).toHaveLength(1);
  });

  it('holds in every file', () => {
    const scanned = sources.filter((file) => folderOf(file) in importTable || file.includes('/'));
    expect(scanned.length).toBeGreaterThan(100);
    expect(scanned.flatMap((file) => badImports(file, textOf(file)))).toEqual([]);
  });
});

describe('circles of imports', () => {
  it('are found, where it is for types only too, each once', () => {
    const texts = new Map([
      ['kube/a.ts', "import type { B } from './b.ts';"],
      ['kube/b.ts', "import { d } from './d.ts';\nexport type { C } from './c.ts';"],
      ['kube/c.ts', "export const a = await import('./a.ts');"],
      ['kube/d.ts', "import { e } from './e.ts';"],
      ['kube/e.ts', ''],
    ]);
    expect(circles(texts)).toEqual([['kube/a.ts', 'kube/b.ts', 'kube/c.ts']]);
  });

  it('are not in the product', () => {
    const texts = new Map(
      sources.filter((file) => product.includes(folderOf(file))).map((file) => [file, textOf(file)]),
    );
    expect(texts.size).toBeGreaterThan(300);
    expect(circles(texts)).toEqual([]);
  });
});

describe('workflow code', () => {
  /** Everything in the workflow bundle: what the file imports as values, directly or indirectly. */
  function reachable(file: string, seen = new Set<string>()): Set<string> {
    if (seen.has(file)) return seen;
    seen.add(file);
    for (const one of importsOf(file, textOf(file))) {
      if (one.ours && !one.typeOnly) reachable(one.what, seen);
      if (!one.ours && !one.typeOnly) seen.add(one.what);
    }
    return seen;
  }

  it('never reaches zod, a schema, or a module of Node', () => {
    const all = [...reachable('workflows/index.ts')];
    expect(all).toEqual(
      expect.arrayContaining(['workflows/recovery/index.ts', 'contract/ids.ts', '@temporalio/workflow']),
    );
    expect(
      all.filter(
        (what) => what === 'zod' || what.startsWith('node:') || what.endsWith('.schema.ts') || what === withTimer,
      ),
    ).toEqual([]);
  });

  const ofCommands = sources
    .filter((file) => folderOf(file) === 'cli')
    .flatMap((file) => importsOf(file, textOf(file)))
    .filter(({ what, typeOnly }) => folderOf(what) === 'workflows' && !typeOnly)
    .map(({ what }) => what);

  it('is run by commands', () => {
    expect(ofCommands).toContain('workflows/recovery/run-phase.ts');
  });

  it.each([
    'workflows/recovery/transitions.ts',
    'workflows/recovery/steps/index.ts',
    'workflows/recovery/status.ts',
    'workflows/recovery/record.ts',
    ...new Set(ofCommands),
  ])('is pure in %s, which commands and tests read without Temporal', (file) => {
    expect([...reachable(file)].filter((what) => what.startsWith('@temporalio/'))).toEqual([]);
  });
});

describe('where the world outside is read', () => {
  const environment = /\bprocess\.(env|argv)\b/;
  const mayRead = (file: string) =>
    file === 'cli/program/environment.ts' ||
    file === 'testbed/parts/environment.ts' ||
    ['test', 'scripts', 'bench'].includes(folderOf(file));

  it('is one file for the command line and the environment', () => {
    expect(environment.test(textOf('cli/program/environment.ts'))).toBe(true);
    expect(sources.filter((file) => !mayRead(file) && environment.test(codeOf(textOf(file))))).toEqual([]);
  });

  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bMath\.random\b|\bconsole\.|\bprocess\.|\bfetch\(|\bset(Timeout|Interval)\(/;

  it.each(['contract', 'faults', 'policy'])('is never %s/: no clock, no chance, no log, no process', (folder) => {
    const files = sources.filter((file) => folderOf(file) === folder && file !== withTimer);
    expect(files.length).toBeGreaterThan(3);
    expect(files.filter((file) => impure.test(codeOf(textOf(file))))).toEqual([]);
  });

  it.each(['const now = Date.now();', 'new Date()', "console.log('x')", 'process.env.HOME'])(
    'would notice %s',
    (code) => {
      expect(impure.test(codeOf(code))).toBe(true);
    },
  );
});

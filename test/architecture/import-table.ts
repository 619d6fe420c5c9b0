/** Which top-level folder may import what. */

import { type Import, importsOf, folderOf } from './sources.ts';

interface Allowed {
  readonly folders: readonly string[];
  /** `node:*` stands for every module of Node. */
  readonly packages: readonly string[];
  /** Only with `import type`. */
  readonly types: readonly string[];
}

export const product = [
  'contract',
  'faults',
  'policy',
  'workflows',
  'activities',
  'controller',
  'kube',
  'agent',
  'cli',
];

const anything = { folders: [...product, 'testbed', 'test', 'scripts', 'bench'], packages: ['*'], types: [] } as const;

export const importTable: Readonly<Record<string, Allowed>> = {
  contract: { folders: [], packages: ['zod'], types: [] },
  faults: { folders: ['contract'], packages: [], types: [] },
  policy: { folders: ['contract', 'faults'], packages: [], types: [] },
  workflows: { folders: ['contract'], packages: ['@temporalio/workflow', '@temporalio/common'], types: [] },
  activities: {
    // `faults` redacts secrets in evidence.
    folders: ['contract', 'faults', 'policy', 'kube'],
    packages: ['@temporalio/activity', '@temporalio/client', '@temporalio/common', 'dataloader', 'node:*'],
    // Types of Kubernetes objects only: requests to the API server are made in kube/.
    types: ['@kubernetes/client-node', 'pino'],
  },
  controller: {
    folders: ['contract', 'faults', 'policy', 'kube'],
    packages: ['@temporalio/client', '@temporalio/common', 'fastify', 'prom-client', 'node:*'],
    types: ['@kubernetes/client-node', 'pino'],
  },
  // `faults` sanitises text of tenants where kube/ makes messages of it.
  kube: {
    folders: ['contract', 'faults'],
    // `yaml` reads the templates of hooks.
    packages: ['@kubernetes/client-node', 'undici', 'yaml', 'node:*'],
    types: ['pino'],
  },
  agent: { folders: ['contract', 'faults'], packages: ['undici', 'node:*'], types: ['pino'] },
  cli: {
    folders: product,
    packages: [
      '@temporalio/client',
      '@temporalio/common',
      '@temporalio/envconfig',
      '@temporalio/worker',
      'cli-table3',
      'commander',
      'fastify',
      'pino',
      'prom-client',
      'undici',
      'yaml',
      'zod',
      'node:*',
    ],
    types: ['@kubernetes/client-node'],
  },
  testbed: { ...anything, folders: [...product, 'testbed'] },
  test: anything,
  scripts: anything,
  bench: anything,
};

/** Packages that only these folders may import, even where a folder may import any package. */
const onlyIn: Readonly<Record<string, readonly string[]>> = {
  '@temporalio/workflow': ['workflows'],
  '@temporalio/activity': ['activities', 'test'],
};

/** Forbidden imports of one file, one sentence each. */
export function badImports(file: string, text: string): string[] {
  return importsOf(file, text).flatMap((one) => {
    const because = whyNot(file, one);
    return because === undefined ? [] : [`${file} imports ${one.what}: ${because}`];
  });
}

function whyNot(file: string, { what, ours, typeOnly }: Import): string | undefined {
  const folder = folderOf(file);
  const allowed = importTable[folder];
  if (allowed === undefined) return `${folder}/ is not in the table`;
  if (ours) {
    const to = folderOf(what);
    return to === folder || what === 'package.json' || allowed.folders.includes(to)
      ? undefined
      : `${folder}/ may not know ${to}/`;
  }
  if (onlyIn[what] && !onlyIn[what].includes(folder)) return `only ${onlyIn[what].join(', ')}/ may`;
  if (what === 'zod' && folder === 'contract' && !file.endsWith('.schema.ts'))
    return 'zod is for *.schema.ts, which workflows never import';
  if (allowed.packages.some((name) => name === '*' || name === what || (name === 'node:*' && what.startsWith('node:'))))
    return undefined;
  if (allowed.types.includes(what)) return typeOnly ? undefined : `${folder}/ may import its types only`;
  return `${folder}/ may not`;
}

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { cached, type OnProgress } from './cache.ts';
import { withProgress } from './progress.ts';
import { must } from './command.ts';
import type { BuildEnvironment } from './environment.ts';
import { findGo } from './go.ts';
import { versions } from './versions.ts';

/** Path of each definition in its Go module. */
const definitions = {
  jobset: {
    module: `sigs.k8s.io/jobset@${versions.jobset}`,
    path: 'config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml',
  },
  trainjob: {
    module: `github.com/kubeflow/trainer/v2@${versions.trainer}`,
    path: 'manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml',
  },
} as const;

/** Directory with the definitions of JobSet and TrainJob as JSON. Their controllers are built for one tier only (job-controllers.ts). */
export function setDefinitions(environment: BuildEnvironment, onProgress: OnProgress): Promise<string> {
  return cached(
    join(environment.cache, `set-definitions-${versions.jobset}-${versions.trainer}`),
    (target) =>
      withProgress('fetching the definitions of JobSet and TrainJob', onProgress, () =>
        fetchAll(environment, target, onProgress),
      ),
    onProgress,
  );
}

async function fetchAll(environment: BuildEnvironment, target: string, onProgress: OnProgress): Promise<void> {
  const go = await findGo(environment, onProgress);
  for (const [name, { module, path }] of Object.entries(definitions)) {
    const download = { file: go, args: ['mod', 'download', '-json', module], env: environment.commands, cwd: target };
    const answer = await must(
      download,
      `cannot find the definition of ${name}`,
      'check the network (Go modules), then start again',
    );
    const { Dir: directory } = JSON.parse(answer) as { Dir: string };
    const definition: unknown = parse(await readFile(join(directory, path), 'utf8'));
    await writeFile(join(target, `${name}.json`), JSON.stringify(definition));
  }
}

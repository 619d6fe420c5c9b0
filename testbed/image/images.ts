import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cached, type OnProgress } from '../parts/cache.ts';
import { installMissing } from '../parts/debian.ts';
import { readEnvironment } from '../parts/environment.ts';
import { withProgress } from '../parts/progress.ts';
import { versions } from '../parts/versions.ts';
import { buildBase } from './build-base.ts';
import { Buildah } from './buildah.ts';
import { context, keyOfContext } from './context.ts';
import { npmSettings } from './npm-settings.ts';

const targets = ['agent', 'kcover'] as const;

/** Paths of docker-archive files, as `ctr images import` and `docker load` take them, by target of the Dockerfile. */
export type Images = Readonly<Record<(typeof targets)[number], string>>;

const { version } = JSON.parse(readFileSync(join(context, 'package.json'), 'utf8')) as { version: string };

/** The name of an imported image in a cluster. */
export const imageName = (target: keyof Images): string =>
  `localhost/${target === 'kcover' ? 'kcover' : `kcover-${target}`}:${version}`;

/** Builds the images of this working tree, or reuses them until a file that goes into them changes. */
export async function obtainImages(onProgress: OnProgress): Promise<Images> {
  const { cache } = readEnvironment();
  const key = `${versions.debian}-npm-${versions.npm}-${keyOfContext()}`;
  const directory = await cached(
    join(cache, `images-${key}`),
    (target) =>
      withProgress('building the images (some minutes, and again after a change)', onProgress, (report) =>
        build(target, onProgress, report),
      ),
    onProgress,
  );
  return { agent: join(directory, 'agent.tar'), kcover: join(directory, 'kcover.tar') };
}

async function build(target: string, onProgress: OnProgress, report: (detail: string) => void): Promise<void> {
  const environment = readEnvironment();
  const { commands: env } = environment;
  await installMissing({ '/usr/bin/buildah': 'buildah' }, environment, onProgress);
  const directory = mkdtempSync(join(tmpdir(), 'kcover-image-'));
  try {
    const buildah = new Buildah(join(directory, 'storage'), env);
    report('the base');
    const base = await buildBase(buildah, directory, env, onProgress);
    const { npmrc, mounts } = await npmSettings(directory, env);
    for (const name of targets) {
      report(name);
      const args = [
        '--layers',
        '--isolation',
        'chroot',
        '--secret',
        `id=npmrc,src=${npmrc}`,
        ...mounts.flatMap((path) => ['--volume', `${path}:${path}`]),
      ];
      await buildah.withPolicy(
        'bud',
        ...args,
        '--build-arg',
        `BASE=${base}`,
        '--target',
        name,
        '--tag',
        imageName(name),
        context,
      );
      await buildah.withPolicy(
        'push',
        imageName(name),
        `docker-archive:${join(target, `${name}.tar`)}:${imageName(name)}`,
      );
    }
    await buildah.run('rmi', '--all', '--force');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

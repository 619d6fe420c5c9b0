import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, type OnProgress } from './cache.ts';
import { must } from './command.ts';
import { installMissing, requireRoot } from './debian.ts';
import { type ImageConfig, packDockerArchive } from './docker-archive.ts';
import { readEnvironment } from './environment.ts';
import { withProgress } from './progress.ts';
import { versions } from './versions.ts';

/** The image that holds the namespaces of a pod: one static program. Returns the path of its archive. */
export async function pauseImage(directory: string, programs: string, image: string): Promise<string> {
  const layer = join(directory, 'pause-layer.tar');
  const target = join(directory, 'pause.tar');
  const args = ['--create', '--file', layer, '--directory', programs, '--owner=0', '--group=0', 'pause'];
  await must(
    { file: 'tar', args, env: readEnvironment().commands },
    'cannot write the pause image',
    'check the free disk space',
  );
  await packDockerArchive({ image, layers: [layer], config: { Entrypoint: ['/pause'] }, target });
  await rm(layer);
  return target;
}

export interface DebianImage {
  /** Path of the docker-archive, which a node imports. */
  readonly archive: string;
  /** The image name in a pod spec. */
  readonly name: string;
  /** Tar file of the file system alone. */
  readonly fileSystem: string;
}

export interface DebianOptions {
  /** In addition to the essential ones. */
  readonly packages: readonly string[];
  /** Shell commands that change the file system, which is `$1`, before it is packed. */
  readonly hooks?: readonly string[];
  readonly config?: ImageConfig;
}

/** An image of a small Debian, built once for the same options. Needs root. */
export async function debianImage(
  { packages, hooks = [], config = {} }: DebianOptions,
  onProgress: OnProgress,
): Promise<DebianImage> {
  requireRoot('make a Debian file system');
  const environment = readEnvironment();
  await installMissing({ '/usr/bin/mmdebstrap': 'mmdebstrap' }, environment, onProgress);
  const key = createHash('sha256')
    .update(JSON.stringify([packages.toSorted(), hooks, config]))
    .digest('hex')
    .slice(0, 12);
  const name = `localhost/debian-${versions.debian}:${key}`;
  const directory = await cached(
    join(environment.cache, `debian-${versions.debian}-${process.arch}-${key}`),
    async (target) => {
      const fileSystem = join(target, 'file-system.tar');
      const include = packages.length === 0 ? [] : [`--include=${packages.join()}`];
      const args = [
        '--variant=minbase',
        ...include,
        ...hooks.map((hook) => `--customize-hook=${hook}`),
        versions.debian,
        fileSystem,
      ];
      await withProgress(
        `making an image of Debian ${versions.debian} with ${packages.join(', ') || 'nothing more'}`,
        onProgress,
        () =>
          must(
            { file: 'mmdebstrap', args, env: environment.commands },
            'cannot make an image of Debian',
            'check the network (Debian packages) and 4 GB of free disk',
          ),
      );
      await packDockerArchive({ image: name, layers: [fileSystem], config, target: join(target, 'image.tar') });
    },
    onProgress,
  );
  return { archive: join(directory, 'image.tar'), name, fileSystem: join(directory, 'file-system.tar') };
}

import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, type OnProgress } from './cache.ts';
import { must } from './command.ts';
import { debianPackages, requireRoot } from './debian.ts';
import { readEnvironment } from './environment.ts';
import { tar, writeImageArchive } from './image-archive.ts';
import { withProgress } from './progress.ts';
import { versions } from './versions.ts';

/** The image that holds the namespaces of a pod: one static program. Returns the path of its archive. */
export async function pauseImage(directory: string, programs: string, name: string): Promise<string> {
  const layer = join(directory, 'pause-layer.tar');
  const file = join(directory, 'pause.tar');
  await tar('--create', '--file', layer, '--directory', programs, '--owner=0', '--group=0', 'pause');
  await writeImageArchive({ file, name, layer, config: { Entrypoint: ['/pause'] } });
  await rm(layer);
  return file;
}

export interface DebianImage {
  /** Path of the archive, which a node imports. */
  readonly archive: string;
  /** As a pod names it. */
  readonly name: string;
  /** Tar file of the file system alone. */
  readonly fileSystem: string;
}

/** A small Debian with these packages besides the essential ones, cached like a program. Needs root. */
export async function debianImage(packages: readonly string[], onProgress: OnProgress): Promise<DebianImage> {
  requireRoot();
  const environment = readEnvironment();
  await debianPackages(environment, onProgress);
  const key = createHash('sha256').update(packages.toSorted().join()).digest('hex').slice(0, 12);
  const name = `localhost/debian-${versions.debian}:${key}`;
  const directory = await cached(
    join(environment.cache, `debian-${versions.debian}-${process.arch}-${key}`),
    async (target) => {
      const fileSystem = join(target, 'file-system.tar');
      const include = packages.length === 0 ? [] : [`--include=${packages.join()}`];
      const command = {
        file: 'mmdebstrap',
        args: ['--variant=minbase', ...include, versions.debian, fileSystem],
        env: environment.commands,
      };
      await withProgress(`making an image of Debian ${versions.debian} with ${packages.join(', ') || 'nothing more'}`, onProgress, () =>
        must(command, 'cannot make an image of Debian', 'check the network (Debian packages) and 2 GB of free disk'),
      );
      await writeImageArchive({ file: join(target, 'image.tar'), name, layer: fileSystem });
    },
    onProgress,
  );
  return { archive: join(directory, 'image.tar'), name, fileSystem: join(directory, 'file-system.tar') };
}

import { join } from 'node:path';
import { cached, type OnProgress } from './cache.ts';
import { must } from './command.ts';
import { ensureDebianPrograms } from './debian-packages.ts';
import { readEnvironment } from './environment.ts';
import { withProgress } from './progress.ts';
import { versions } from './versions.ts';

/** What an image starts from beyond the smallest Debian. */
const packages = ['ca-certificates', 'libstdc++6'] as const;

/** Path of a tar with the file system of a small Debian, made once. */
export async function obtainBaseImage(onProgress: OnProgress): Promise<string> {
  const environment = readEnvironment();
  const directory = await cached(
    join(environment.cache, `debian-${versions.debian}-${packages.join('-')}-${process.arch}`),
    (target) => withProgress(`making a Debian ${versions.debian} file system (first start only: about a minute)`, onProgress, () => make(target)),
    onProgress,
  );
  return join(directory, 'base.tar');

  async function make(target: string): Promise<void> {
    await ensureDebianPrograms([['mmdebstrap', 'mmdebstrap']], environment, onProgress);
    const args = ['--variant=minbase', `--include=${packages.join(',')}`, versions.debian, join(target, 'base.tar')];
    await must(
      { file: 'mmdebstrap', args, env: environment.commands },
      'cannot make a Debian file system',
      'run it as root, and check the network (Debian mirror)',
    );
  }
}

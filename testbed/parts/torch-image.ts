/** An image with Python, torch for CPU and nothing of kcover's: the training script comes as a ConfigMap, as in examples/training. */

import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, type OnProgress } from './cache.ts';
import { must } from './command.ts';
import { packDockerArchive } from './docker-archive.ts';
import { readEnvironment } from './environment.ts';
import { withProgress } from './progress.ts';

export const torchImage = 'localhost/torch:1';

const suite = 'bookworm';
const packages = ['python3-torch'];

/** Drivers, compilers and tests that torch on CPU never loads: a quarter of it all. */
const unused = [
  ...['dri', 'mfx', 'libLLVM-*', 'libz3.so*', 'libmfxhw64.so*'].map((name) => `usr/lib/*/${name}`),
  ...['torch/bin/test_*', 'torch/test', 'sympy/*/tests', 'sympy/*/*/tests', 'sympy/*/*/*_tests'].map((name) => `usr/lib/python3/dist-packages/${name}`),
  ...['doc', 'man', 'locale'].map((name) => `usr/share/${name}`),
];

/** The init container that the training operator gives to workers looks for the master with this program. */
const nslookup = String.raw`printf '#!/bin/sh\nexec getent hosts "$1"\n' > "$1/usr/local/bin/nslookup" && chmod 755 "$1/usr/local/bin/nslookup"`;

const hooks = [`cd "$1" && rm -rf ${unused.join(' ')}`, nslookup];

const config = {
  Env: [
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    // torchrun 1.13 on Python 3.11 fails on its own default (no redirection). This one is about a local rank that nobody has.
    'PET_REDIRECTS=9:1',
    'PET_TEE=9:1',
  ],
  Cmd: ['/usr/bin/python3'],
};

/** Path of a docker-archive with this image, built once. Needs root. */
export async function obtainTorchImage(onProgress: OnProgress): Promise<string> {
  const environment = readEnvironment();
  const key = createHash('sha256')
    .update(JSON.stringify([suite, packages, hooks, config]))
    .digest('hex')
    .slice(0, 12);
  const directory = await cached(
    join(environment.cache, `torch-image-${process.arch}-${key}`),
    (target) => withProgress('building an image with torch (first start only: 2 to 4 minutes)', onProgress, () => build(target)),
    onProgress,
  );
  return join(directory, 'torch.tar');
}

async function build(directory: string): Promise<void> {
  const fileSystem = join(directory, 'file-system.tar');
  const args = ['--variant=minbase', `--include=${packages.join()}`, ...hooks.map((hook) => `--customize-hook=${hook}`), suite, fileSystem];
  await must(
    { file: 'mmdebstrap', args, env: readEnvironment().commands },
    'cannot build the image with torch',
    'as root: apt-get install -y --no-install-recommends mmdebstrap, check the network (Debian packages) and 4 GB of free disk',
  );
  await packDockerArchive({ image: torchImage, layers: [fileSystem], config, target: join(directory, 'torch.tar') });
  await rm(fileSystem);
}

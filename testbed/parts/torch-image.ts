/** An image with Python and torch for CPU, without anything of kcover: the training script comes as a ConfigMap, as in examples/training. */

import type { OnProgress } from './cache.ts';
import { type DebianImage, debianImage } from './images.ts';

/** Drivers, compilers and tests that torch on CPU never loads: a quarter of the size. */
const unused = [
  ...['dri', 'mfx', 'libLLVM-*', 'libz3.so*', 'libmfxhw64.so*'].map((name) => `usr/lib/*/${name}`),
  ...['torch/bin/test_*', 'torch/test', 'sympy/*/tests', 'sympy/*/*/tests', 'sympy/*/*/*_tests'].map(
    (name) => `usr/lib/python3/dist-packages/${name}`,
  ),
  ...['doc', 'man', 'locale'].map((name) => `usr/share/${name}`),
];

/** The init container that the training operator adds to workers looks for the master with this program. */
const nslookup = String.raw`printf '#!/bin/sh\nexec getent hosts "$1"\n' > "$1/usr/local/bin/nslookup" && chmod 755 "$1/usr/local/bin/nslookup"`;

const hooks = [`cd "$1" && rm -rf ${unused.join(' ')}`, nslookup];

const config = {
  Env: [
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    // torchrun 1.13 on Python 3.11 fails on its default (no redirection). This setting names a local rank that does not exist.
    'PET_REDIRECTS=9:1',
    'PET_TEE=9:1',
  ],
  Cmd: ['/usr/bin/python3'],
};

/** Built once. Needs root. */
export const obtainTorchImage = (onProgress: OnProgress): Promise<DebianImage> =>
  debianImage({ packages: ['python3-torch'], hooks, config }, onProgress);

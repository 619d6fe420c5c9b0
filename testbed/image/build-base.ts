import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '../parts/command.ts';
import type { OnProgress } from '../parts/cache.ts';
import { debianImage } from '../parts/images.ts';
import { versions } from '../parts/versions.ts';
import type { Buildah } from './buildah.ts';

const nodeHere = join(import.meta.dirname, `../../node_modules/node-${process.platform}-${process.arch}/bin/node`);

/** The base image that a release takes from a registry: Debian with Node and npm, for building. Returns its name in the storage. */
export async function buildBase(
  buildah: Buildah,
  directory: string,
  env: NodeJS.ProcessEnv,
  onProgress: OnProgress,
): Promise<string> {
  const fetching = {
    file: 'npm',
    args: ['pack', `npm@${versions.npm}`, '--pack-destination', directory],
    env,
    cwd: directory,
  };
  await must(fetching, 'cannot fetch npm', 'check the network (npm registry)');
  const npm = readdirSync(directory).find((file) => /^npm-.*\.tgz$/.test(file)) ?? '';
  const starter = join(directory, 'npm');
  writeFileSync(starter, '#!/bin/sh\nexec node /usr/local/lib/package/bin/npm-cli.js "$@"\n');

  const { fileSystem } = await debianImage({ packages: ['ca-certificates', 'libstdc++6'] }, onProgress);
  const container = await buildah.run('from', 'scratch');
  await buildah.run('add', container, fileSystem, '/');
  await buildah.run('add', container, join(directory, npm), '/usr/local/lib/');
  await buildah.run('copy', '--chmod', '755', container, nodeHere, starter, '/usr/local/bin/');
  const name = 'localhost/base:1';
  await buildah.withPolicy('commit', '--rm', container, name);
  return name;
}

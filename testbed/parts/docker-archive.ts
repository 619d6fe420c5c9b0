/** Packs file system tars as a docker-archive: the form that `ctr images import`, `docker load` and `buildah` take without a registry. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { must } from './command.ts';
import { readEnvironment } from './environment.ts';

/** How its containers start, in the terms of the image format. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
}

export interface DockerArchive {
  /** With a tag, such as `localhost/torch:1`. */
  readonly image: string;
  /** Uncompressed file system tars; each is layered over those before it. */
  readonly layers: readonly string[];
  readonly config: ImageConfig;
  /** The file that is written. It grows in place: `cached` hides it until it is complete. */
  readonly target: string;
}

/** The same layers and config give the same image ID. */
export async function packDockerArchive({ image, layers, config, target }: DockerArchive): Promise<void> {
  const directory = await mkdtemp(`${target}.packing-`);
  try {
    const digests = await Promise.all(layers.map(digestOf));
    const described = JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: digests.map((digest) => `sha256:${digest}`) },
    });
    const configFile = `${createHash('sha256').update(described).digest('hex')}.json`;
    const layerFiles = digests.map((digest) => `${digest}.tar`);
    await writeFile(join(directory, configFile), described);
    await writeFile(
      join(directory, 'manifest.json'),
      JSON.stringify([{ Config: configFile, RepoTags: [image], Layers: layerFiles }]),
    );
    // tar follows the links, so a layer of many hundred MB is written once.
    await Promise.all(layers.map((layer, index) => symlink(resolve(layer), join(directory, layerFiles[index] ?? ''))));
    const names = new Set(['manifest.json', configFile, ...layerFiles]);
    const args = [
      '--create',
      '--dereference',
      '--format=ustar',
      `--file=${resolve(target)}`,
      `--directory=${directory}`,
      ...names,
    ];
    await must(
      { file: 'tar', args, env: readEnvironment().commands },
      `cannot pack the image ${image}`,
      'install GNU tar, and look for free disk',
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

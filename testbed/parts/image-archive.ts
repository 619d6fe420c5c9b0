import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { must } from './command.ts';
import { readEnvironment } from './environment.ts';

export interface ImageArchiveOptions {
  /** Path of the archive to write, as `docker save` would. */
  readonly file: string;
  /** As in `localhost/pause:1`. */
  readonly name: string;
  /** A tar file: the image's only layer. */
  readonly layer: string;
  readonly config?: { readonly Entrypoint?: readonly string[]; readonly Cmd?: readonly string[]; readonly Env?: readonly string[] };
}

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Makes an image without a container engine. */
export async function writeImageArchive({ file, name, layer, config = {} }: ImageArchiveOptions): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const directory = await mkdtemp(join(dirname(file), '.image-'));
  try {
    const image = {
      architecture: architectures[process.arch] ?? process.arch,
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: [`sha256:${await sha256(layer)}`] },
    };
    await link(layer, join(directory, 'layer.tar'));
    await writeFile(join(directory, 'config.json'), JSON.stringify(image));
    await writeFile(join(directory, 'manifest.json'), JSON.stringify([{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }]));
    await tar('--create', '--file', file, '--directory', directory, 'manifest.json', 'config.json', 'layer.tar');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export async function tar(...args: readonly string[]): Promise<void> {
  await must({ file: 'tar', args, env: readEnvironment().commands }, 'cannot write an image archive', 'check the free disk space');
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

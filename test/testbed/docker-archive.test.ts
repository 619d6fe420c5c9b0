import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packDockerArchive } from '../../testbed/parts/docker-archive.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kcover-archive-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A file system with one file in it. */
function layerWith(file: string): string {
  const [root, tar] = [join(directory, `root-${file}`), join(directory, `${file}.tar`)];
  mkdirSync(root);
  writeFileSync(join(root, file), file);
  execFileSync('tar', ['--create', `--file=${tar}`, `--directory=${root}`, file]);
  return tar;
}

const inside = (archive: string, file: string): Buffer =>
  execFileSync('tar', ['--extract', '--to-stdout', `--file=${archive}`, file]);
const jsonInside = <T>(archive: string, file: string): T => JSON.parse(inside(archive, file).toString()) as T;
const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

interface ImageManifest {
  readonly Config: string;
  readonly RepoTags: readonly string[];
  readonly Layers: readonly string[];
}

describe('a packed image', () => {
  it('names its layers in their order, each by the digest of what it holds', async () => {
    const archive = join(directory, 'image.tar');
    const config = { Entrypoint: ['/lower'], Env: ['A=b'], User: '65532', WorkingDir: '/' };
    await packDockerArchive({
      image: 'localhost/two:1',
      layers: [layerWith('lower'), layerWith('upper')],
      config,
      target: archive,
    });

    const [manifest] = jsonInside<readonly ImageManifest[]>(archive, 'manifest.json');
    expect(manifest?.RepoTags).toEqual(['localhost/two:1']);
    const layers = manifest?.Layers.map((layer) => inside(archive, layer)) ?? [];
    expect(layers.map((layer) => execFileSync('tar', ['--list'], { input: layer }).toString())).toEqual([
      'lower\n',
      'upper\n',
    ]);
    expect(jsonInside(archive, manifest?.Config ?? '')).toMatchObject({
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: layers.map((layer) => `sha256:${sha256(layer)}`) },
    });
    expect(manifest?.Config).toBe(`${sha256(inside(archive, manifest?.Config ?? ''))}.json`);
  });

  it('leaves no temporary files, and explains a missing layer', async () => {
    const target = join(directory, 'image.tar');
    const packing = packDockerArchive({
      image: 'localhost/none:1',
      layers: [join(directory, 'none.tar')],
      config: {},
      target,
    });
    await expect(packing).rejects.toThrow('none.tar');
    expect(readdirSync(directory)).toEqual([]);
  });
});

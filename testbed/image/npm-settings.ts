import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '../parts/command.ts';

export interface NpmSettings {
  /** A file that serves as `.npmrc` during the build. */
  readonly npmrc: string;
  /** Files and directories of this machine that npm needs at the same path. */
  readonly mounts: readonly string[];
}

/** How npm reaches its registry from this machine: registry, credentials, authority, and cache. */
export async function npmSettings(directory: string, env: NodeJS.ProcessEnv): Promise<NpmSettings> {
  const get = async (key: string): Promise<string> => {
    const said = await must(
      { file: 'npm', args: ['config', 'get', key], env, cwd: directory },
      `npm does not say its ${key}`,
      'npm config list',
    );
    return said.trim().replace(/^(?:null|undefined)$/, '');
  };
  const [ofMachine, ofUser, registry, cafile, cache] = await Promise.all(
    ['globalconfig', 'userconfig', 'registry', 'cafile', 'cache'].map(get),
  );
  const written = [ofMachine, ofUser].flatMap((file) =>
    file !== undefined && existsSync(file) ? [readFileSync(file, 'utf8')] : [],
  );
  const said = Object.entries({ registry, cafile, cache }).flatMap(([key, value]) =>
    value === '' ? [] : [`${key}=${value}`],
  );
  const npmrc = join(directory, 'npmrc');
  writeFileSync(npmrc, [...written, ...said, ''].join('\n'), { mode: 0o600 });
  return {
    npmrc,
    mounts: [cafile, cache].filter((path): path is string => path !== undefined && path !== '' && existsSync(path)),
  };
}

/** The program of one image: the files that its commands load, and nothing else. */

import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type LockFile, packagesNeeded } from './packages.ts';
import { reachedFrom } from './reached.ts';

export type ImageName = 'agent' | 'kcover';

interface Package {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Commands that work in the image of the agent; `doctor` only with `--role agent`. */
const commandsOfAgent = ['agent', 'classify', 'config-check', 'doctor', 'redact'].map(
  (name) => `cli/commands/${name}.js`,
);

const followsDynamic: Readonly<Record<ImageName, (file: string) => boolean>> = {
  agent: (file) => commandsOfAgent.includes(file),
  kcover: () => true,
};

/** Written into `target`: bin/, dist/, node_modules/, and a package.json with only the included dependencies. */
export function copyProgram(source: string, image: ImageName, target: string): void {
  const dist = join(source, 'dist');
  const { files, packages } = reachedFrom({ dist, entry: 'cli/main.js', followsDynamic: followsDynamic[image] });
  const copied = [...files, ...(image === 'kcover' ? ['workflow-bundle.js'] : [])];
  for (const file of copied) copy(join(dist, file), join(target, 'dist', file));

  const lock = JSON.parse(readFileSync(join(source, 'package-lock.json'), 'utf8')) as LockFile;
  for (const directory of packagesNeeded(lock, packages)) {
    // Packages for other systems are in the lock file and not installed.
    if (existsSync(join(source, directory)))
      cpSync(join(source, directory), join(target, directory), { recursive: true, filter: isUsed });
  }
  const { dependencies, name, version, license, type } = JSON.parse(
    readFileSync(join(source, 'package.json'), 'utf8'),
  ) as Package;
  const needed = Object.fromEntries(Object.entries(dependencies).filter(([each]) => packages.has(each)));
  writeFileSync(
    join(target, 'package.json'),
    JSON.stringify({ name, version, license, type, dependencies: needed }, null, 2),
  );
  copy(join(source, 'LICENSE'), join(target, 'LICENSE'));
  writeStarter(join(source, 'bin/kcover.js'), join(target, 'bin/kcover.js'));
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}

/** Names that packages use for the system of a native build. */
const system = {
  release: `${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-unknown-linux-gnu`,
  prebuild: `linux-${process.arch}`,
} as const;

/** Nested packages are copied separately if they are needed. Node loads no TypeScript from packages, and no Rust. */
function isUsed(path: string): boolean {
  if (path.slice(path.indexOf('/node_modules/') + 1).endsWith('/node_modules')) return false;
  if (/\.(?:[cm]?ts|map|rs)$/.test(path)) return false;
  const [, release = system.release] = /\/core-bridge\/releases\/([^/]+)/.exec(path) ?? [];
  const [, prebuild = system.prebuild] = /\/prebuilds\/([^/]+)/.exec(path) ?? [];
  return release === system.release && prebuild === system.prebuild;
}

/** The image has no `env` to find Node with. */
function writeStarter(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, readFileSync(from, 'utf8').replace(/^#!.*/, '#!/usr/local/bin/node'));
  chmodSync(to, 0o755);
}

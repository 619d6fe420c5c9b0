/** An unpacked image as a container sees it: its files, and its program run as the user of a pod, with a read-only root file system. */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { must, run, type Finished } from '../../testbed/parts/command.ts';

interface ImageConfig {
  readonly config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Env: readonly string[];
    readonly WorkingDir: string;
  };
}

export interface Container {
  readonly args: readonly string[];
  readonly user: { readonly runAsUser: number; readonly runAsGroup: number };
  readonly env?: Readonly<Record<string, string>>;
  /** Paths of this machine, keyed by their path in the container. */
  readonly mounts?: Readonly<Record<string, string>>;
}

/** $1: the root; then pairs of a path of this machine and a path in the container, `--`, and the command. */
const enter = `
set -e
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done
shift
mount -o remount,bind,ro "$root"
"$@" & wait $!`;

export class UnpackedImage {
  readonly root: string;
  readonly config: ImageConfig['config'];
  /** Bytes of all layers, as a node stores them. */
  readonly size: number;
  readonly #directory: string;

  constructor(directory: string, root: string, config: ImageConfig['config'], size: number) {
    this.#directory = directory;
    this.root = root;
    this.config = config;
    this.size = size;
  }

  /** From a docker-archive. */
  static async open(archive: string): Promise<UnpackedImage> {
    const directory = mkdtempSync(join(tmpdir(), 'kcover-unpacked-'));
    const root = join(directory, 'root');
    mkdirSync(root);
    const unpack = (file: string, to: string) =>
      must(
        { file: 'tar', args: ['--extract', '--numeric-owner', '--file', file, '--directory', to], env: process.env },
        `cannot unpack ${file}`,
        'run it as root',
      );
    await unpack(archive, directory);
    const [{ Config, Layers }] = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8')) as [
      { Config: string; Layers: readonly string[] },
    ];
    for (const layer of Layers) await unpack(join(directory, layer), root);
    const { config } = JSON.parse(readFileSync(join(directory, Config), 'utf8')) as ImageConfig;
    const size = Layers.reduce((sum, layer) => sum + statSync(join(directory, layer)).size, 0);
    return new UnpackedImage(directory, root, config, size);
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }

  /** Runs it to its end. */
  run(container: Container): Promise<Finished> {
    return run({ file: 'setpriv', args: this.#command(container), env: process.env });
  }

  start(container: Container): ChildProcess {
    return spawn('setpriv', this.#command(container), { stdio: ['ignore', 'pipe', 'pipe'] });
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #command({ args, user, env = {}, mounts = {} }: Container): string[] {
    for (const at of ['/proc', '/dev', ...Object.keys(mounts)]) this.#mountPoint(at, mounts[at]);
    const variables = [...this.config.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
    return [
      // All processes end with the test, however it ends: the shell is the first process of the namespace and stays root, because a process that
      // changes its user gets no signal for the death of its parent.
      '--pdeathsig',
      'KILL',
      'unshare',
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      'sh',
      '-c',
      enter,
      'sh',
      this.root,
      ...Object.entries(mounts).flatMap(([at, from]) => [from, at]),
      '--',
      'env',
      '-i',
      ...variables,
      '/usr/sbin/chroot',
      `--userspec=${user.runAsUser}:${user.runAsGroup}`,
      '--groups=',
      this.root,
      ...this.config.Entrypoint.map((word) => this.#onPath(word)),
      ...args,
    ];
  }

  /** A container runtime creates these before the root becomes read-only. */
  #mountPoint(at: string, from: string | undefined): void {
    const path = join(this.root, at);
    if (existsSync(path)) return;
    if (from === undefined || statSync(from).isDirectory()) mkdirSync(path, { recursive: true });
    else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, '');
    }
  }

  #onPath(program: string): string {
    const [path = ''] = this.config.Env.flatMap((each) =>
      each.startsWith('PATH=') ? [each.slice('PATH='.length)] : [],
    );
    return (
      path
        .split(':')
        .map((directory) => join(directory, program))
        .find((file) => existsSync(join(this.root, file))) ?? program
    );
  }
}

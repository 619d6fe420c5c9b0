/** A program that plays recorded outputs, or hangs, floods, dies or leaves a process behind, as a tool on a broken node does. */

import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What it does after it has written its output. */
const endings = {
  ends: (exitCode: number) => `exit ${exitCode}`,
  hangs: () => "trap '' TERM INT HUP; sleep 1000 & wait; sleep 1000",
  floods: () => 'exec head -c 50000000 /dev/zero',
  dies: () => 'kill -9 $$',
  'leaves a process': (exitCode: number) => `sleep 1000 & exit ${exitCode}`,
} as const;

export interface Play {
  readonly output?: string;
  readonly exitCode?: number;
  readonly ending?: keyof typeof endings;
  /** Instead, when it is called with this first argument. */
  readonly byArgument?: Readonly<Record<string, string>>;
}

export class FakeTool {
  readonly path: string;
  readonly #directory: string;

  constructor(directory: string, name = 'tool') {
    this.#directory = join(directory, `${name}.d`);
    this.path = join(directory, name);
  }

  async create(play: Play = {}): Promise<this> {
    await mkdir(this.#directory, { recursive: true });
    await this.plays(play);
    const from = this.#directory;
    await writeFile(this.path, `#!/bin/sh\necho "$$ $*" >> ${from}/calls\n. ${from}/play\n`, { mode: 0o755 });
    return this;
  }

  /** From its next call on. */
  async plays({ output = '', exitCode = 0, ending = 'ends', byArgument = {} }: Play): Promise<void> {
    const cases: string[] = [];
    for (const [at, [argument, text]] of Object.entries(byArgument).entries()) {
      await this.#write(`output-${at}`, text);
      cases.push(`${argument}) cat ${this.#directory}/output-${at}; exit 0 ;;`);
    }
    await this.#write('output', output);
    const choice = cases.length === 0 ? '' : `case "$1" in ${cases.join(' ')} esac\n`;
    await this.#write('play', `${choice}cat ${this.#directory}/output\n${endings[ending](exitCode)}\n`);
  }

  /** The arguments of each call so far, and the process that it was. */
  calls(): readonly { readonly pid: number; readonly args: string }[] {
    const file = join(this.#directory, 'calls');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    return text
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [pid = '', ...args] = line.split(' ');
        return { pid: Number(pid), args: args.join(' ') };
      });
  }

  /** Replaces a file as a whole, so that no call reads half of it. */
  async #write(name: string, text: string): Promise<void> {
    await writeFile(join(this.#directory, `${name}.new`), text);
    await rename(join(this.#directory, `${name}.new`), join(this.#directory, name));
  }
}

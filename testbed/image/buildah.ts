import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '../parts/command.ts';

/** Debian's buildah with a storage of its own: needs no container engine and no daemon, only root. */
export class Buildah {
  readonly #options: readonly string[];
  readonly #policy: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(directory: string, env: NodeJS.ProcessEnv) {
    mkdirSync(directory, { recursive: true });
    this.#env = env;
    this.#policy = join(directory, 'policy.json');
    writeFileSync(this.#policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
    this.#options = [
      '--storage-driver',
      'overlay',
      '--root',
      join(directory, 'root'),
      '--runroot',
      join(directory, 'run'),
    ];
  }

  /** Commands that read or write images. */
  withPolicy(command: string, ...args: readonly string[]): Promise<string> {
    return this.run(command, '--signature-policy', this.#policy, ...args);
  }

  async run(...args: readonly string[]): Promise<string> {
    const command = { file: 'buildah', args: [...this.#options, ...args], env: this.#env };
    return (
      await must(
        command,
        'cannot build the image',
        'run it as root, and check the network (npm registry) and 5 GB of free disk',
      )
    ).trim();
  }
}

import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '../parts/command.ts';
import type { NodePrograms } from '../parts/node-programs.ts';
import { server, type Server, type ServerPlan } from '../servers/server.ts';
import { until } from '../until.ts';

/**
 * What a node runs on: namespaces (mounts, network, processes, host name) that last as long as the first process in them, and a directory that
 * is its disk. Ending the first process ends all others, like a power cut.
 */
export interface NodeMachine {
  readonly name: string;
  /** What it keeps when it is off: `lib` is mounted at /var/lib, `log` at /var/log. */
  readonly disk: string;
  powerOn(): Promise<void>;
  /** Resolves when no process of it is left. */
  powerOff(): Promise<void>;
  /** Host pid of the first process. */
  firstProcess(): number;
  /** Host path of a file of the machine while the machine is on. */
  fileOf(path: string): string;
  daemon(plan: DaemonPlan): Server;
  /** Runs a program on the machine to its end. */
  run(...command: readonly string[]): Promise<string>;
  /** The next boot has another boot id. */
  renewBootId(): void;
}

export interface DaemonPlan extends Pick<ServerPlan, 'before' | 'missing'> {
  readonly name: string;
  readonly command: readonly string[];
}

const bootScript = join(import.meta.dirname, 'boot.sh');
const stateSize = '64M';
const namespaces = ['--mount', '--net', '--pid', '--uts', '--ipc'];

/** The process that a process which enters or creates namespaces has started in them. */
export const childOf = (pid: number | undefined): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]);

export const kernelLogOf = (disk: string): string => join(disk, 'kmsg');

export function createMachine(runDirectory: string, name: string, programs: NodePrograms): NodeMachine {
  const disk = join(runDirectory, 'real-nodes', name);
  const booted = join(disk, 'booted');
  const env = {
    PATH: [programs.kubernetes, programs.containerd, programs.runc, '/usr/sbin', '/usr/bin', '/sbin', '/bin'].join(':'),
  };
  const renewBootId = (): void => writeFileSync(join(disk, 'boot-id'), `${randomUUID()}\n`);
  createDisk(disk, env);
  renewBootId();

  const power = server(runDirectory, {
    name,
    program: '/usr/bin/unshare',
    // The first process ends with the one that created the namespaces, so that killing this one ends the machine.
    args: [
      ...namespaces,
      '--fork',
      '--kill-child=SIGKILL',
      '--mount-proc',
      '/bin/sh',
      bootScript,
      disk,
      name,
      join(programs.kubernetes, 'pause'),
    ],
    env,
    before: async () => rmSync(booted, { force: true }),
    missing: async () => (existsSync(booted) ? undefined : 'the end of boot.sh'),
  });
  const firstProcess = (): number => childOf(power.pid);
  // A daemon ends with the command that entered the namespaces for it, so that killing the command ends the daemon.
  const entering = (command: readonly string[]): string[] => [
    '--target',
    String(firstProcess()),
    ...namespaces,
    'setpriv',
    '--pdeathsig',
    'KILL',
    ...command,
  ];
  return {
    name,
    disk,
    powerOn: () => power.start(),
    powerOff: async () => {
      // The end of the first process ends all others; only then does the process that waits for it end.
      process.kill(firstProcess(), 'SIGKILL');
      await until(`the end of ${name}`, 30_000, async () =>
        power.pid === undefined ? { found: true } : { missing: `process ${power.pid} is there` },
      );
    },
    firstProcess,
    fileOf: (path) => join('/proc', String(firstProcess()), 'root', path),
    daemon: ({ command, ...plan }) =>
      server(runDirectory, {
        ...plan,
        name: `${name}-${plan.name}`,
        program: '/usr/bin/nsenter',
        // The first process changes with each boot.
        get args() {
          return entering(command);
        },
        env,
        kept: true,
      }),
    run: (...command) =>
      must(
        { file: '/usr/bin/nsenter', args: entering(command), env },
        `cannot run ${command[0]} on ${name}`,
        `read the logs of ${name}`,
      ),
    renewBootId,
  };
}

function createDisk(disk: string, env: NodeJS.ProcessEnv): void {
  for (const part of ['lib/kubelet', 'lib/containerd', 'lib/kcover', 'lib/dbus', 'log/pods', 'sysctl'])
    mkdirSync(join(disk, part), { recursive: true });
  writeFileSync(join(disk, 'lib/dbus/machine-id'), `${randomUUID().replaceAll('-', '')}\n`);
  writeFileSync(kernelLogOf(disk), '');
  // A file system of its own, so that it can be full while the host's is not.
  execFileSync('mkfs.ext4', ['-q', '-m', '0', join(disk, 'state.ext4'), stateSize], { env });
}

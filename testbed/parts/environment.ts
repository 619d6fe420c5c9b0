import { homedir } from 'node:os';
import { join } from 'node:path';

/** The only reader of environment variables in the testbed's own code. */
export interface BuildEnvironment {
  /** Directory for build results. */
  readonly cache: string;
  /** The user's own etcd and kube-apiserver (envtest convention). */
  readonly kubebuilderAssets: string | undefined;
  /** Environment of compilers and downloaders. */
  readonly commands: NodeJS.ProcessEnv;
}

export function readEnvironment(): BuildEnvironment {
  const { XDG_CACHE_HOME, KUBEBUILDER_ASSETS } = process.env;
  return {
    cache: join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'kcover-testbed'),
    kubebuilderAssets: KUBEBUILDER_ASSETS || undefined,
    // The caller's workspace or flags must not affect a build that others will reuse.
    commands: {
      ...process.env,
      GOTOOLCHAIN: 'local',
      GOWORK: 'off',
      GOFLAGS: '-buildvcs=false',
      CGO_ENABLED: '0',
      PIP_DISABLE_PIP_VERSION_CHECK: '1',
    },
  };
}

/** For every process of the program: reuses the compile cache of Node, which saves half of the processor time of a start. */
export const compileCache = (): Readonly<Record<string, string>> => ({
  NODE_COMPILE_CACHE: join(readEnvironment().cache, 'node-compile-cache'),
});

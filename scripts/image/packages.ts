/** Dependencies between the packages of node_modules, from the lock file. */

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export interface LockFile {
  /** By directory: `node_modules/a/node_modules/b`. */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** Directories of these packages and of all their dependencies. */
export function packagesNeeded(lock: LockFile, names: Iterable<string>): ReadonlySet<string> {
  const needed = new Set<string>();
  const waiting = [...names].map((name) => ({ name, from: '' }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const directory = directoryOf(lock, next.name, next.from);
    if (directory === undefined || needed.has(directory)) continue;
    needed.add(directory);
    waiting.push(...namesNeededBy(lock.packages[directory] ?? {}).map((name) => ({ name, from: directory })));
  }
  return needed;
}

function namesNeededBy({
  dependencies,
  optionalDependencies,
  peerDependencies = {},
  peerDependenciesMeta = {},
}: LockedPackage): readonly string[] {
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
}

/** Resolved as Node does: next to the dependent package, then one level up. Undefined for packages of other systems. */
function directoryOf({ packages }: LockFile, name: string, from: string): string | undefined {
  for (let above = from; ; above = above.slice(0, Math.max(0, above.lastIndexOf('/node_modules/')))) {
    const directory = `${above === '' ? '' : `${above}/`}node_modules/${name}`;
    if (packages[directory]) return directory;
    if (above === '') return undefined;
  }
}

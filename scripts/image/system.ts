/** The base file system of an image: Node, the libraries that it loads, and their package metadata. No shell, no package manager. */

import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';

const user = 1000;

/** The only writable directories of the image. The roles mount volumes over these; the Dockerfile sets their owners. */
const writable = ['tmp', 'var/lib/kcover/records', 'var/lib/kcover/evidence'];

/** Written into `target`, from the packages of `source` and the system that this runs on. */
export function makeSystem(source: string, target: string): void {
  for (const directory of ['usr/lib', 'usr/lib64', 'usr/local/bin', 'etc/ssl/certs', 'opt/kcover', ...writable]) {
    mkdirSync(join(target, directory), { recursive: true });
  }
  for (const link of ['lib', 'lib64']) symlinkSync(`usr/${link}`, join(target, link));
  chmodSync(join(target, 'tmp'), 0o1777);

  const node = join(source, `node_modules/node-linux-${process.arch}`);
  copyFileSync(join(node, 'bin/node'), join(target, 'usr/local/bin/node'));
  copyDocument(join(node, 'LICENSE'), target, 'node', 'LICENSE');
  symlinkSync('/opt/kcover/bin/kcover.js', join(target, 'usr/local/bin/kcover'));

  const bridges = join(source, 'node_modules/@temporalio/core-bridge/releases');
  const bridge = join(bridges, `${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-unknown-linux-gnu/index.node`);
  const libraries = new Set([join(node, 'bin/node'), bridge].flatMap(librariesOf));
  for (const library of libraries) copyLibrary(library, target);
  for (const name of new Set([...libraries].map(packageOf))) describePackage(name, target);

  writeFileSync(
    join(target, 'etc/passwd'),
    `root:x:0:0:root:/:/sbin/nologin\nkcover:x:${user}:${user}:kcover:/tmp:/sbin/nologin\n`,
  );
  writeFileSync(join(target, 'etc/group'), `root:x:0:\nkcover:x:${user}:\n`);
  // Without it, names in /etc/hosts are looked up in the DNS first.
  writeFileSync(join(target, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  // For Temporal's native client. These are Node's built-in authorities, because those of the build system may differ.
  writeFileSync(join(target, 'etc/ssl/certs/ca-certificates.crt'), `${rootCertificates.join('\n')}\n`);
}

const output = (file: string, ...args: readonly string[]): string => execFileSync(file, args, { encoding: 'utf8' });

/** `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)`, and the loader, which has no arrow. */
const librariesOf = (program: string): readonly string[] =>
  [...output('ldd', program).matchAll(/(?:=>\s+|^\s*)(\/\S+)\s+\(0x/gm)].map(([, path = '']) => path);

/** Under the name by which it is looked up, below usr/, where Debian has all libraries. */
function copyLibrary(path: string, target: string): void {
  const to = join(target, path.startsWith('/usr/') ? path : `/usr${path}`);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(realpathSync(path), to);
}

/** Debian's records name libraries with or without the leading /usr; for an unrecorded library dpkg prints an error. */
function packageOf(library: string): string {
  const path = realpathSync(library).replace(/^\/usr/, '');
  const { stdout } = spawnSync('dpkg-query', ['--search', path, `/usr${path}`], { encoding: 'utf8' });
  const [name] = stdout.split(':');
  if (name === undefined || name === '') throw new Error(`no Debian package has ${library}`);
  return name;
}

/** The metadata that image scanners read without a package manager, and the licence. */
function describePackage(name: string, target: string): void {
  const file = join(target, 'var/lib/dpkg/status.d', name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, output('dpkg-query', '--status', name));
  copyDocument(join('/usr/share/doc', name, 'copyright'), target, name, 'copyright');
}

function copyDocument(from: string, target: string, name: string, as: string): void {
  const to = join(target, 'usr/share/doc', name, as);
  mkdirSync(dirname(to), { recursive: true });
  if (existsSync(from)) copyFileSync(from, to);
  else throw new Error(`there is no licence of ${name} at ${from}`);
}

/** SBOM of an image in CycloneDX form: npm's list of the packages, with Node and Debian's libraries added. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageName } from './program.ts';

interface Component {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly object[];
}

interface Bom {
  readonly serialNumber?: string;
  readonly metadata: { readonly timestamp?: string; readonly component: object };
  readonly components: readonly Component[];
}

/** Debian describes licences in prose, so they are listed here. A further library that Node needs has to be read first. */
const licencesOfLibraries: Readonly<Record<string, string>> = {
  libc6: 'LGPL-2.1-or-later',
  'libgcc-s1': 'GPL-3.0-or-later WITH GCC-exception-3.1',
  'libstdc++6': 'GPL-3.0-or-later WITH GCC-exception-3.1',
};

/** Written next to the program in `target`; `system` is below both. */
export function writeSbom(image: ImageName, target: string, system: string): void {
  const listed = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev'], {
    cwd: target,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const { serialNumber: _, ...bom } = JSON.parse(listed) as Bom;
  const { timestamp: __, ...metadata } = bom.metadata;
  const name = image === 'agent' ? 'kcover-agent' : 'kcover';
  const described = { ...metadata, component: { ...metadata.component, type: 'container', name } };
  const components = [...bom.components, node(), ...libraries(system)];
  writeFileSync(join(target, 'sbom.cdx.json'), JSON.stringify({ ...bom, metadata: described, components }, null, 2));
}

function node(): Component {
  const version = process.versions.node;
  return {
    type: 'platform',
    name: 'node',
    version,
    purl: `pkg:generic/node@${version}`,
    licenses: [{ license: { id: 'MIT' } }],
  };
}

function libraries(system: string): readonly Component[] {
  const records = join(system, 'var/lib/dpkg/status.d');
  return readdirSync(records).map((name) => {
    const text = readFileSync(join(records, name), 'utf8');
    const field = (key: string): string => new RegExp(`^${key}: (.+)$`, 'm').exec(text)?.[1] ?? '';
    const expression = licencesOfLibraries[name];
    if (expression === undefined)
      throw new Error(`the licence of ${name} is not listed: read it and add it to scripts/image/sbom.ts`);
    const version = field('Version');
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${field('Architecture')}`;
    return { type: 'library', name, version, purl, licenses: [{ expression }] };
  });
}

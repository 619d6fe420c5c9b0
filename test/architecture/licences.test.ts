import { describe, expect, it } from '@jest/globals';
import { type LockFile, packagesNeeded } from '../../scripts/image/packages.ts';
import { textOf } from './sources.ts';
import { allowedLicences, licencesThatPackagesDoNotSay } from './licences.ts';

interface Package {
  readonly dependencies: Readonly<Record<string, string>>;
}

const lock = JSON.parse(textOf('package-lock.json')) as LockFile;
const inside = packagesNeeded(lock, Object.keys((JSON.parse(textOf('package.json')) as Package).dependencies));

describe('the packages that an installation brings', () => {
  it('have licences that let people use, change and pass them on without giving away their own', () => {
    const licences = [...inside].map((directory) => {
      const name = directory.slice(directory.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return { name, licence: lock.packages[directory]?.license ?? licencesThatPackagesDoNotSay[name] };
    });
    expect(licences.length).toBeGreaterThan(100);
    expect(licences.filter(({ licence }) => licence === undefined || !allowedLicences.has(licence))).toEqual([]);
  });
});

/** Licences of what the images have inside. */

export const allowedLicences: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'Apache-2.0 AND MIT',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Unlicense',
  // Data about browsers, unchanged.
  'CC-BY-4.0',
  // Libraries of the system, loaded by Node and replaceable in the image.
  'LGPL-2.1-or-later',
  'GPL-3.0-or-later WITH GCC-exception-3.1',
]);

/** What stands in the package's own files and not in its package.json. */
export const licencesThatPackagesDoNotSay: Readonly<Record<string, string>> = { unionfs: 'Unlicense' };

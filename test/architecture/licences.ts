/** Licences that packages in the images may have. */

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
  // Unchanged data about browsers.
  'CC-BY-4.0',
  // System libraries, which Node loads dynamically and which can be replaced in the image.
  'LGPL-2.1-or-later',
  'GPL-3.0-or-later WITH GCC-exception-3.1',
]);

/** Licences that are in a package's files and not in its package.json. */
export const licencesThatPackagesDoNotSay: Readonly<Record<string, string>> = { unionfs: 'Unlicense' };

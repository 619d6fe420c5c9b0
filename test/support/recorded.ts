/** Recorded outputs of tools; where each is from is in `test/fixtures/tools/README.md`. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const recorded = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../fixtures/tools/${name}`, import.meta.url)), 'utf8');

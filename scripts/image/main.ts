/** `node scripts/image/main.ts TARGET`, run in a build of the Dockerfile after `npm run build`: writes the contents of each image. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyProgram } from './program.ts';
import { writeSbom } from './sbom.ts';
import { makeSystem } from './system.ts';

const source = fileURLToPath(new URL('../..', import.meta.url));
const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('TARGET is missing: node scripts/image/main.ts TARGET');

const system = join(target, 'system');
makeSystem(source, system);
for (const image of ['agent', 'kcover'] as const) {
  copyProgram(source, image, join(target, image));
  writeSbom(image, join(target, image), system);
}

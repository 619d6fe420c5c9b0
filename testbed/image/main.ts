/** `npm run image`: builds the images of this working tree as files, without a container engine. */

import { imageName, obtainImages } from './images.ts';

const images = await obtainImages((line) => console.error(line));
for (const target of ['agent', 'kcover'] as const) console.log(`${imageName(target)}\t${images[target]}`);

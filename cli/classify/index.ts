/** Readers by the name of their option. */

import { node } from './node.ts';
import type { Reader } from './reader.ts';

export const readers: Readonly<Record<string, Reader>> = { node };

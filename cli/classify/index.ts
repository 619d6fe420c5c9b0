/** Readers by the name of their option. */

import { log } from './log.ts';
import type { Reader } from './reader.ts';

export const readers: Readonly<Record<string, Reader>> = { log };

/** Readers by the name of their option. */

import type { Reader } from './reader.ts';
import { tool } from './tool.ts';

export const readers: Readonly<Record<string, Reader>> = { tool };

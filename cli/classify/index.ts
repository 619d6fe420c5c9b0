/** Readers by the name of their option. */

import { devicePlugin } from './device-plugin.ts';
import { node } from './node.ts';
import type { Reader } from './reader.ts';

export const readers: Readonly<Record<string, Reader>> = { 'device-plugin': devicePlugin, node };

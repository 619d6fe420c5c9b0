/** Readers by the name of their option. */

import { devicePlugin } from './device-plugin.ts';
import { log } from './log.ts';
import { node } from './node.ts';
import type { Reader } from './reader.ts';
import { tool } from './tool.ts';

export const readers: Readonly<Record<string, Reader>> = { node, 'device-plugin': devicePlugin, log, tool };

/** Command lines in texts for people start as the program was called: `kubectl kcover` when kubectl runs it as a plugin. */

import { commands } from '../commands/index.ts';
import { isRole } from '../settings/file.ts';

/** Every first word of a command line except the roles, which are not started through kubectl. */
const firstWords = [...new Set(Object.keys(commands).map((name) => name.split(' ')[0] ?? name))]
  .filter((word) => !isRole(word))
  .join('|');
const mentioned = new RegExp(`(?<![\\w./-])(?<!kubectl )kcover (?=(?:${firstWords})\\b)`, 'g');

/** The text with `kcover` in each command line replaced by the name under which the program was called. */
export const withProgramName = (programName: string, text: string): string =>
  programName === 'kcover' ? text : text.replaceAll(mentioned, `${programName} `);

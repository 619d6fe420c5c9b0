/** The program speaks of itself as it was called: `kubectl kcover` when kubectl runs it as its plugin. */

import { commands } from './commands/index.ts';
import { isRole } from './settings-file.ts';

/** Nobody starts a role through kubectl. */
const firstWords = [...new Set(Object.keys(commands).map((name) => name.split(' ')[0] ?? name))].filter((word) => !isRole(word)).join('|');
const mentioned = new RegExp(`(?<![\\w./-])(?<!kubectl )kcover (?=(?:${firstWords})\\b)`, 'g');

/** A text for people, with every command line in it as this person would type it. */
export const speakAs = (programName: string, text: string): string => (programName === 'kcover' ? text : text.replaceAll(mentioned, `${programName} `));

/** Names and values in separate fields: an environment of Kubernetes, a pair of texts, a login. */

import { assignment, bare, patternOf, quote, quoted, type RedactionPattern } from './pattern.ts';

/** Ends of names of variables that hold secrets. */
const secretName =
  '(?:password|passwd|passphrase|pwd|pass|secret|token|credentials?|auth|(?:api|access|secret|private|signing|encryption)_?key|_key)';

const nameIs = String.raw`\b(?:(?:env_?)?name|key)${assignment}(?:${quote})?[\w.-]{0,60}${secretName}(?:${quote})?`;

/** `{"name":"DB_PASSWORD","value":"..."}`, `{Name:DB_PASSWORD Value:...}`. */
export const namedValue: RedactionPattern = patternOf(
  'name-value',
  String.raw`(?<kept>${nameIs}[,;\s]{1,4}(?:${quote})?value${assignment})(?!(?:${quote})?[\d.,]{1,20}(?![\w.-]))(?:${quoted}|${bare})`,
);

/** `('MY_PASSWORD', '...')`. A value of letters only is another name. */
export const quotedPair: RedactionPattern = patternOf(
  'name-value',
  String.raw`(?<kept>${quote}[\w.]{0,60}${secretName}${quote}\s{0,3},\s{0,3})(?=[bru]{0,2}${quote}(?![<[\-])[a-z_]{0,200}[^a-z_"'\\])(?=[bru]{0,2}${quote}[^"']{6})${quoted}`,
);

/** The line that names a variable, where the next one holds its value. */
export const namedLine = new RegExp(
  String.raw`^(?<before>.{0,200}?)(?:-\s)?(?:${quote})?\b(?:env_?)?name${assignment}(?:${quote})?[\w.-]{0,60}${secretName}(?:${quote})?,?\s*$`,
  'i',
);

/** `wandb login <key>`, `wandb.login(key="...")`. */
export const login: RedactionPattern = patternOf(
  'login',
  String.raw`(?<kept>\blogin\b(?:\s{1,3}|\s?\(\s?)(?:--[\w-]{1,20}\s{1,3}){0,3}(?:key\s?=\s?)?(?:${quote})?)[0-9a-f]{32,128}\b`,
);

/** Kaggle: a plain `key` beside a user name. */
export const userKey: RedactionPattern = patternOf(
  'name-value',
  String.raw`(?<kept>${quote}username${assignment}${quote}[^"'\\]{1,100}${quote}[,\s]{1,4}${quote}key${assignment})${quoted}|(?<kept>${quote}key${assignment})(?<other>${quote})[^"'\\]{8,200}\k<other>(?=[,\s]{1,4}${quote}username)`,
);

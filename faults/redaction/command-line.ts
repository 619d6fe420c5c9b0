/** Secrets as arguments of commands. */

import { keys } from './named.ts';
import { patternOf, quote, quoted, type RedactionPattern } from './pattern.ts';

const then = String.raw`(?:${quote},\s{0,3}|\s{1,3})`;

/** `--hub-token abc`, also in a list of arguments. Arguments called key without a known prefix often sort and group, so a secret one must have a digit. */
export const flag: RedactionPattern = patternOf(
  'flag',
  String.raw`(?<kept>--[\w-]{0,40}(?:password|passwd|passphrase|token(?!${then}(?:${quote})?\d{1,7}(?![^\s"',]))|secret|(?:${keys})[-_]?key|[-_]pass|(?<=--)pass)${then})(?!(?:${quote})?-)(?:${quoted}|\S+)|(?<kept>--[\w-]{0,40}-key(?:=|${then}))(?!(?:${quote})?-)(?=[^\s\d]{0,200}\d)(?=\S{8})(?:${quoted}|\S+)`,
);

const userOption = String.raw`(?:-u|--(?:proxy-)?user)(?:${quote},\s{0,3}|[\s=]{1,3})`;
const userAndPassword = String.raw`(?=(?:${quote})?[^\s"':]{1,100}:(?!\/\/))`;

/** `-u name:password`. After programs other than curl a password must have a digit and not follow a module; two numbers are a user and its group. */
export const user: RedactionPattern = patternOf(
  'user',
  [
    String.raw`(?<kept>\bcurl\b[^|;]{0,200}?[\s"']${userOption})${userAndPassword}(?:${quoted}|\S+)`,
    String.raw`(?<kept>(?:^|[\s"'])${userOption})(?!\d+:\d+\b|[^\s:]{1,200}\.py:)${userAndPassword}(?=(?:${quote})?[^\s:]{1,100}:[^\s\d]{0,100}\d)(?:${quoted}|\S+)`,
  ].join('|'),
);

/** Short options are ambiguous, except after these commands. */
export const shortOption: RedactionPattern = patternOf(
  'flag',
  String.raw`(?<kept>\bsshpass\s{1,3}-p\s{0,3}|\bredis-cli\b[^|;&"']{0,120}\s-a\s{1,3}|\b(?:docker|podman|nerdctl|crane|helm registry)\s{1,3}login\b[^|;&]{0,120}\s-p\s{1,3})(?:${quoted}|\S+)`,
);

/** Secrets as arguments of commands. */

import { patternOf, quote, quoted, type RedactionPattern } from './pattern.ts';

/** `--hub-token abc`, also in a list of arguments. */
export const flag: RedactionPattern = patternOf(
  'flag',
  String.raw`(?<kept>--[\w-]{0,40}(?:password|passwd|passphrase|token|secret|key|[-_]pass|(?<=--)pass)(?:${quote},\s{0,3}|\s{1,3}))(?!(?:${quote})?-)(?:${quoted}|\S+)`,
);

/** Name and password for one server; numbers are those of a user and its group. */
export const user: RedactionPattern = patternOf(
  'user',
  String.raw`(?<kept>(?:^|[\s"'])(?:-u|--(?:proxy-)?user)(?:${quote},\s{0,3}|[\s=]{1,3}))(?!\d+:\d+\b)(?=(?:${quote})?[^\s"':]{1,100}:(?!\/\/))(?:${quoted}|\S+)`,
);

/** Short options mean anything, but not behind these. */
export const shortOption: RedactionPattern = patternOf(
  'flag',
  String.raw`(?<kept>\bsshpass\s{1,3}-p\s{0,3}|\bredis-cli\b[^|;&"']{0,120}\s-a\s{1,3}|\b(?:docker|podman|nerdctl|crane|helm registry)\s{1,3}login\b[^|;&]{0,120}\s-p\s{1,3})(?:${quoted}|\S+)`,
);

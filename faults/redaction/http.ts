/** Secrets in URLs and in headers. */

import { assignment, bare, patternOf, quote, quoted, type RedactionPattern } from './pattern.ts';

/** Up to the last @ before a slash; if the password has a slash, up to the last @ of all. A port is no password. */
export const urlCredentials: RedactionPattern = patternOf(
  'url-credentials',
  String.raw`(?<kept>\b[a-z][a-z0-9+.-]{0,20}:\/\/)(?:[^\s/"<>]+|[^\s/"<>@:[]{0,200}:(?!\d{0,5}\/)[^\s"<>]{1,200})(?=@)`,
);

/** Names that are secret only in a query. */
export const urlQuery: RedactionPattern = patternOf(
  'url-query',
  String.raw`(?<kept>[?&](?:key|code|auth|sig)=)[\w.~%+/=-]{8,}`,
);

/** In a byte dump a header follows an escaped line break. */
const begins = String.raw`(?<=\\[rnt]|(?<![a-z]))`;
const schemes = 'bearer|basic|token|negotiate|aws4-hmac-sha256';

/** A header extends to the end of its line or quotes, or to the escaped line break of a byte dump. */
export const authorization: RedactionPattern = patternOf(
  'authorization',
  String.raw`(?<kept>${begins}(?:proxy-)?authorization${assignment})(?:${quoted}|digest\s.+|(?:${schemes})\s[^"'\\]+|${bare})`,
);

/** A count of such headers is no secret. */
export const cookie: RedactionPattern = patternOf(
  'cookie',
  String.raw`(?<kept>${begins}(?:set-)?cookies?${assignment})(?!\s{0,40}(?:\d{1,9}|none)(?:[\s,}\])]|$))(?:${quoted}|(?:(?!\\[rn]).)+)`,
);

/** Headers as pairs of texts: `('Authorization', 'Bearer ...')`. */
export const headerPair: RedactionPattern = patternOf(
  'authorization',
  String.raw`(?<kept>${quote}(?:(?:proxy-)?authorization|(?:set-)?cookie|x-(?:api-key|auth-token))${quote}\s{0,3},\s{0,3})${quoted}`,
);

/** Base64 of a name and a password rarely has two slashes, which paths have. */
export const bearerToken: RedactionPattern = patternOf(
  'bearer-token',
  String.raw`(?<kept>\b(?:bearer[\s:=]{1,4}\\{0,7}["']?))[\w.~+/=-]{16,}(?:\s[\w.~+/=-]{16,})*|(?<=\bbasic\s)(?=[a-z+/]{0,200}[\d=])(?![^\s/]{0,200}\/[^\s/]{0,200}\/)[\w+/]{16,}={0,2}`,
);

/** The built-in patterns. */

import { flag, shortOption, user } from './command-line.ts';
import { authorization, bearerToken, cookie, headerPair, urlCredentials, urlQuery } from './http.ts';
import { awsKey, jsonWebToken, privateKey } from './keys.ts';
import {
  dockerAuth,
  keyInWords,
  pass,
  password,
  passwordInQuotes,
  passwordInWords,
  passwordInXml,
  signature,
  token,
  unnamedKey,
} from './named.ts';
import { login, namedValue, quotedPair, userKey } from './pairs.ts';
import type { RedactionPattern } from './pattern.ts';
import { providerToken, webhook } from './providers.ts';

/** In the order in which they are tried. */
export const builtInPatterns: readonly RedactionPattern[] = [
  privateKey,
  urlCredentials,
  webhook,
  authorization,
  headerPair,
  cookie,
  bearerToken,
  jsonWebToken,
  awsKey,
  providerToken,
  login,
  namedValue,
  quotedPair,
  userKey,
  dockerAuth,
  passwordInQuotes,
  passwordInXml,
  password,
  pass,
  passwordInWords,
  keyInWords,
  unnamedKey,
  token,
  signature,
  urlQuery,
  flag,
  user,
  shortOption,
];

/** The built-in patterns and an operator's own regular expressions. Throws a SyntaxError for an invalid one. */
export const redactionPatterns = (more: readonly string[]): readonly RedactionPattern[] => [
  ...builtInPatterns,
  ...more.map((source, index) => ({ name: `setting-${index + 1}`, pattern: new RegExp(source, 'gu') })),
];

/** Values after a name that says that they are secret. */

import { assignment, bare, called, list, patternOf, quote, quoted, type RedactionPattern, upTo } from './pattern.ts';

export const keys = 'api|access|account|private|encryption|secret|signing|auth|subscription|license|kaggle';

/** Names whose value is always redacted, except paths for PWD, a shell's directory, and for credentials, often a file. */
const passwords = String.raw`(?:password|passwd|passphrase|secret|(?:pwd|credential)(?!s?${assignment}(?:${quote})?[~./])|(?:${keys})[-_.]?key|fs\.azure\.account\.key[\w.]{1,100}|private_key_id|client-key-data)s?`;

/** A value of one of these names; the block indicator of YAML is none. */
const anything = String.raw`(?![|>][+-]?\s{0,8}$)(?:${called}|${quoted}|${list}|${bare})`;

/** The quote starts before the name: the value extends to its end. */
export const passwordInQuotes: RedactionPattern = patternOf(
  'password',
  String.raw`(?<kept>(?<whole>${quote})[\w-]{0,40}${passwords}=)(?!["'\\])${upTo('whole')}`,
);

export const password: RedactionPattern = patternOf('password', `(?<kept>${passwords}${assignment})${anything}`);

/** A line that ends with such a name: the value is in the next line. */
export const emptyValue = new RegExp(
  String.raw`(?:${passwords}|(?:${keys}) keys?)${assignment}(?:[|>][+-]?)?\s{0,8}$`,
  'i',
);

/** S3 and other servers answer in XML. */
export const passwordInXml: RedactionPattern = patternOf(
  'password',
  String.raw`(?<kept><(?:[\w:.-]{0,40})(?:${passwords}|token)>)(?!\[redacted: |<)[^<]+`,
);

/** Long enough for a key, and with a number in it. */
const digitWithin = String.raw`(?=[^\s\d]{0,200}\d)`;

/** Values that follow the name without a separator. */
export const passwordInWords: RedactionPattern = patternOf(
  'password',
  [
    // netrc
    String.raw`(?<kept>\blogin\s{1,8}[^\s:=]{1,100}\s{1,8}password\s{1,8})[^\s:=]\S*`,
    // SQL, and netrc in several lines
    String.raw`(?<kept>\b(?:password|passwd|identified\s{1,4}by)\s{1,8})(?:(?=["'])${quoted}|${digitWithin}[\w+/=!@#$%^&*.-]{8,})`,
    // aws configure set
    String.raw`(?<kept>(?:api|secret|access)[-_]?key\s{1,4})${digitWithin}[\w+/=-]{16,}`,
    String.raw`(?<kept>\bSecret(?:Str|Bytes|Value)?\((?:\w{1,20}=)?)(?<held>${quote})${upTo('held')}\k<held>`,
  ].join('|'),
);

/** A number as programs print it, also several and with an exponent. */
const number = String.raw`[\d.,:/x±+-]+(?:e[+-]?\d{1,4})?`;

/** `pass` is rarely a password, often a count or a time: numbers with a unit, yes or no, and states are no secrets. */
const state = String.raw`(?:${quote})?(?:true|false|yes|no|on|off|none|null|nil|ok|done|failed|passed|enabled|disabled|required|basic|${number}[a-zµ%]{0,2}(?:\/[a-z]{1,5})?)(?![\w.-])`;
const steps =
  'forward|backward|fwd|bwd|first|second|third|last|final|one|two|three|single|multi|by|num|max|min|this|next|per|warmup|eval|train';

const isPass = String.raw`(?:(?<!(?:${steps})[-_])(?<=[a-z0-9][-_])pass|(?<!(?:${steps})[-_ ])\bpass(?==)|(?<=(?:^|--|[{(,;"'&?]|[^a-z\s]\s)\s{0,4})pass|(?<=[a-z0-9]_)auth)`;

export const pass: RedactionPattern = patternOf(
  'password',
  String.raw`(?<kept>${isPass}${assignment})(?!${state})(?=[bru]{0,2}(?:${quote})?[^\s"']{4})${anything}`,
);

/** Docker's config.json. */
export const dockerAuth: RedactionPattern = patternOf(
  'password',
  String.raw`(?<kept>\\{0,7}["']auth\\{0,7}["']\s{0,4}:\s{0,4})(?<open>\\{0,7}["'])(?=[A-Za-z+/]{0,400}[\d=])[\w+/]{8,}={0,2}\k<open>`,
  'g',
);

/** Trainers log token counts: a number with its unit, a short word, one without a digit, or a token such as <pad> is no secret. */
const counted = String.raw`(?:${quote})?(?:[<[]|${number}[a-zµ%]{0,3}(?:\/[a-z]{1,5})?(?![^\s"',;&}\])\\]))`;
const eight = String.raw`(?:${quote}(?:\\.|[^"'\\]){8}|[^\s"']{8})`;
const digit = String.raw`(?=(?:${quote})?[^\d"'\s]{0,400}\d)`;
const calledWithDigit = String.raw`(?=[^"'\s]{0,160}["'](?!<)[^"'\s\d]{0,400}\d)${called}`;

/** Eight characters, one of them a digit. */
const secretValue = String.raw`(?:${calledWithDigit}|(?=${eight})(?:(?=[^"']{0,12}["'][^"'\d]{0,400}\d)${quoted}|${digit}${bare}))`;

export const token: RedactionPattern = patternOf(
  'token',
  String.raw`(?<kept>token${assignment})(?!${counted})${secretValue}`,
);

/** In a sentence any word may follow: `license key: accepted`. */
export const keyInWords: RedactionPattern = patternOf(
  'password',
  String.raw`(?<kept>\b(?:${keys}) keys?${assignment})(?!${counted})${secretValue}`,
);

/** Keys of storages and sessions are mostly names: a value is a secret only with upper case, lower case and digits, or in base64 or hex. */
export const unnamedKey: RedactionPattern = patternOf(
  'password',
  String.raw`(?<kept>(?:[Mm]aster|MASTER|[Ss]ession|SESSION|[Ss]torage|STORAGE)[-_ .]?(?:[Kk]ey|KEY)s?${assignment}(?:${quote})?)(?:[\w+/-]{16,400}={1,2}|(?=[\w+-]{0,400}[A-Z])(?=[\w+-]{0,400}[a-z])(?=[\w+-]{0,400}\d)[\w+-]{16,400}|[0-9a-fA-F]{32,400})(?![\w+/.-])`,
  'g',
);

export const signature: RedactionPattern = patternOf(
  'token',
  String.raw`(?<kept>(?:signature|\bsig)${assignment})(?=(?:${quote})?[\w%+/=.~-]{16})(?:${quoted}|${digit}${bare})`,
);

/** Patterns of secrets, and the pieces that they share. Every piece is searched in linear time: unbounded repetitions are never nested. */

/** A pattern to redact; what its group `kept` matches stays. */
export interface RedactionPattern {
  readonly name: string;
  /** With the flag `g`. */
  readonly pattern: RegExp;
}

/** A pattern from pieces. Case counts only where `flags` says so. */
export const patternOf = (name: string, source: string, flags: 'g' | 'gi' = 'gi'): RedactionPattern => ({
  name,
  pattern: new RegExp(source, flags),
});

/** A quote, with the backslashes of nested quoting. */
export const quote = String.raw`\\{0,7}["']`;

/** Up to the same quote, or to the end of the line: a quote with more backslashes is part of the quoted text. */
export const upTo = (group: string) => String.raw`(?:(?!(?<!\\)\k<${group}>).)*`;

/** An assignment operator of any language, or escaped as in JSON and URLs. */
const sign = String.raw`(?:[=:][=:>]*(?![=:>])|->|\\{1,7}u003[ad]|%3[ad])`;

/** Dumps are aligned with blanks. */
export const assignment = String.raw`(?:${quote}\]?|%22)?\s{0,40}${sign}\s{0,40}`;

const letter = String.raw`[^\s"',;&}\])]`;

/**
 * Without quotes a value ends at white space, at a quote or closing bracket after which it does not continue, and at a separator before
 * another name or text. A mark of an earlier pattern counts as one letter.
 */
export const bare = String.raw`(?:\[redacted: [\w-]{1,40}\]|(?!\[redacted: )${letter}|[}\])](?=[}\])]{0,8}${letter})|[,;&](?![\w.-]{0,40}[=:]|[\s"'{[(]|$))+`;

/** Python writes b'...', r'...'. */
export const quoted = String.raw`(?:\b[bru]{1,2}(?=["'\\]))?(?<open>${quote})${upTo('open')}(?:\k<open>)?`;

/** `SecretStr('...')`, `Some("...")`, `Secret(value='...')`. */
export const called = String.raw`(?:[\w.]{1,40}\((?:\w{1,40}=)?){1,3}(?<call>[bru]{0,2}${quote})${upTo('call')}(?:\k<call>\){0,3})?`;

/** Everything in brackets, and what follows without a blank. */
export const list = String.raw`[[{(][^\])}]*[\])}]?(?:${bare})?`;

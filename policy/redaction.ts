/**
 * Blacks out what looks like a secret in lines that others wrote. It knows shapes, not meanings: a secret without a shape stays, and a
 * harmless word that looks like one goes.
 */

/** What is looked for; what its group `kept` matches stays. */
export interface RedactionPattern {
  readonly name: string;
  /** With the flag `g`. */
  readonly pattern: RegExp;
}

/** A quote, with the backslashes that texts within texts put before it. */
const quote = String.raw`\\{0,7}["']`;
/** Up to the same quote, or to the end of the line: a quote with more backslashes belongs to what is quoted. */
const upTo = (group: string) => String.raw`(?:(?!(?<!\\)\k<${group}>).)*`;
/** A sign of whatever language, or how JSON and URLs write it. */
const sign = String.raw`(?:[=:][=:>]*(?![=:>])|\\{1,7}u003[ad]|%3[ad])`;
/** Dumps are aligned. */
const assignment = String.raw`(?:${quote}|%22)?\s{0,40}${sign}\s{0,40}`;
const letter = String.raw`[^\s"',;&}\])]`;
/** Without quotes it ends at white space, a quote or closing brackets behind which it does not go on, and at a separator behind which another name or text begins; what is blacked out is one letter. */
const bare = String.raw`(?:\[redacted: [\w-]+\]|${letter}|[}\])](?=[}\])]{0,8}${letter})|[,;&](?![\w.-]{0,40}[=:]|[\s"'{[(]|$))+`;
const quoted = String.raw`(?<open>${quote})${upTo('open')}(?:\k<open>)?`;
/** All that stands in brackets, and what follows without a blank. */
const list = String.raw`[[{(][^\])}]*[\])}]?(?:${bare})?`;
const passwords = '(?:password|passwd|passphrase|pwd|secret|credential|(?:api|access|account|private|encryption)[-_]?key)s?';
const schemes = 'bearer|basic|token|negotiate|aws4-hmac-sha256';
/** Trainers count tokens all day: a number with its unit, a short word or a mark such as <pad> is no secret. */
const counted = String.raw`(?:${quote})?(?:<|[\d.,]+[a-z%]{0,2}(?:\/[a-z]{1,5})?(?![^\s"',;&}\])\\]))`;
const eight = String.raw`(?:${quote}(?:\\.|[^"'\\]){8}|[^\s"']{8})`;

/** In the order in which they are tried. */
export const builtInPatterns: readonly RedactionPattern[] = [
  { name: 'private-key', pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g },
  // Up to the last @ before a slash; with a slash in the password, up to the last of all. A port is no password.
  { name: 'url-credentials', pattern: /(?<kept>\b[a-z][a-z0-9+.-]{0,20}:\/\/)(?:[^\s/"<>]+|[^\s/"<>@:[]{0,200}:(?!\d{0,5}\/)[^\s"<>]{1,200})(?=@)/gi },
  // A header stands at the end of its line, or in quotes of its own.
  {
    name: 'authorization',
    pattern: new RegExp(String.raw`(?<kept>\bauthorization${assignment})(?:${quoted}|digest\s.+|(?:${schemes})\s[^"'\\]+|${bare})`, 'gi'),
  },
  { name: 'cookie', pattern: new RegExp(String.raw`(?<kept>\b(?:set-)?cookies?${assignment})(?:${quoted}|.+)`, 'gi') },
  { name: 'bearer-token', pattern: /(?<kept>\bbearer[\s:=]{1,4}\\{0,7}["']?)[\w.~+/=-]{16,}(?:\s[\w.~+/=-]{16,})*/gi },
  // What is no word in three parts is passed over as a whole, however many beginnings it has.
  { name: 'jwt', pattern: /(?<![\w-])(?=[\w-]{11,}\.[\w-]{8,}\.)(?<kept>[\w-]*?)\beyJ[\w-]*\.[\w-]*\.[\w-]*/g },
  { name: 'aws-key', pattern: /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g },
  {
    name: 'provider-token',
    pattern:
      /\b(?:gh[opusr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|hf_[A-Za-z0-9]{20,}|sk-[\w-]{20,}|nvapi-[\w-]{20,}|xox[a-z]-[\w-]{10,}|AIza[\w-]{35})/g,
  },
  // The quote stands before the name: all up to its end is the value.
  { name: 'password', pattern: new RegExp(String.raw`(?<kept>(?<whole>${quote})[\w-]{0,40}${passwords}=)(?!["'\\])${upTo('whole')}`, 'gi') },
  { name: 'password', pattern: new RegExp(`(?<kept>${passwords}${assignment})(?:${quoted}|${list}|${bare})`, 'gi') },
  { name: 'token', pattern: new RegExp(`(?<kept>(?:token|signature|\\bsig)${assignment})(?!${counted})(?=${eight})(?:${quoted}|${bare})`, 'gi') },
  {
    name: 'flag',
    pattern: new RegExp(
      String.raw`(?<kept>--[\w-]{0,40}(?:password|passwd|passphrase|token|secret|key)(?:${quote},\s{0,3}|\s{1,3}))(?!(?:${quote})?-)(?:${quoted}|\S+)`,
      'gi',
    ),
  },
  // Name and password for one server; numbers are those of a user and its group.
  {
    name: 'user',
    pattern: new RegExp(
      String.raw`(?<kept>(?:^|[\s"'])(?:-u|--(?:proxy-)?user)(?:${quote},\s{0,3}|[\s=]{1,3}))(?!\d+:\d+\b)(?=(?:${quote})?[^\s"':]{1,100}:(?!\/\/))(?:${quoted}|\S+)`,
      'gi',
    ),
  },
];

/** The built-in patterns and an operator's own regular expressions. Throws a SyntaxError for what is none. */
export const redactionPatterns = (more: readonly string[]): readonly RedactionPattern[] => [
  ...builtInPatterns,
  ...more.map((source, index) => ({ name: `setting-${index + 1}`, pattern: new RegExp(source, 'gu') })),
];

/** The line with every match replaced by the name of its pattern; the same line where nothing matches. */
export const redact = (line: string, patterns: readonly RedactionPattern[]): string =>
  patterns.reduce((text, { name, pattern }) => text.replace(pattern, (...match) => `${keptOf(match.at(-1))}[redacted: ${name}]`), line);

function keptOf(groups: unknown): string {
  if (typeof groups !== 'object' || groups === null || !('kept' in groups)) return '';
  return typeof groups.kept === 'string' ? groups.kept : '';
}

/** Characters of one line; the rest is cut off before it is looked at, so that no line is long to search. */
const lineLength = 16 * 1024;

export interface RedactedLog {
  readonly lines: readonly string[];
  /** Lines in which something was blacked out. */
  readonly redacted: number;
  /** Lines were too long. */
  readonly cut: boolean;
}

/** All lines of a log, private keys that stand in many lines included. */
export function redactLines(lines: readonly string[], patterns: readonly RedactionPattern[]): RedactedLog {
  const inKey = linesOfKeys(lines);
  const done = lines.map((line, index) => (inKey.has(index) ? '[redacted: private-key]' : redact(line.slice(0, lineLength), patterns)));
  return {
    lines: done,
    redacted: done.filter((line, index) => line !== lines[index]?.slice(0, lineLength)).length,
    cut: lines.some((line) => line.length > lineLength),
  };
}

const keyBegins = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/;
const keyEnds = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY/;
/** What stands last in a line of a key, whatever a logger put before it. */
const keyLine = /[A-Za-z0-9+/=]{24}["'\\n,]{0,4}$/;
/** That much of it is looked at: no run of letters is searched from each of them. */
const keyLineEnd = 28;
const keyHeader = /(?:Proc-Type|DEK-Info):/;
/** No key has more lines. */
const keyLength = 150;

/** A log begins and ends anywhere, so either end of a key may be missing. */
function linesOfKeys(lines: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>();
  for (const [index, line] of lines.entries()) {
    if (keyBegins.test(line) && !keyEnds.test(line)) for (const at of fromBegin(lines, index)) found.add(at);
    if (keyEnds.test(line) && !keyBegins.test(line)) for (let at = index; at >= 0 && (at === index || isKey(lines[at])); at--) found.add(at);
  }
  return found;
}

const isKey = (line: string | undefined): boolean =>
  line !== undefined && (keyLine.test(line.trimEnd().slice(-keyLineEnd)) || keyHeader.test(line.slice(0, lineLength)));

function fromBegin(lines: readonly string[], begin: number): readonly number[] {
  const end = lines.slice(begin, begin + keyLength).findIndex((line) => keyEnds.test(line));
  const plain = lines.slice(begin + 1, begin + keyLength).findIndex((line) => !isKey(line));
  const length = end >= 0 ? end + 1 : plain >= 0 ? plain + 1 : Math.min(keyLength, lines.length - begin);
  return Array.from({ length }, (_, offset) => begin + offset);
}

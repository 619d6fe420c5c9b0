/**
 * Sanitising of text from outside. Every place where such text leaves kcover uses these functions and no other:
 *
 * - what is made into a fault, and what is sent in a report: kernel lines, termination messages, conditions, preflight reports (`oneLine`)
 * - messages of Events and the reason of a quarantine on its node (`oneLine`)
 * - what the command line prints: cells of tables (`oneLine`), all text and errors (`printable`), JSON and YAML (`escapeUnseen`)
 * - current details, and summaries of activities and timers, in the Temporal UI (`inMarkdown`)
 * - the report of an incident (`inMarkdown`)
 * - lines of logs that are kept as evidence (`withoutEscapes`)
 */

const [escape, bell] = [String.raw`\u001B`, String.raw`\u0007`];

/** Terminal escape sequences: colours and cursor moves, titles and links (their text stays), then single characters. */
const sequences = new RegExp(
  [
    String.raw`(?:${escape}\[|\u009B)[0-?]{0,64}[ -/]{0,8}[@-~]`,
    String.raw`(?:${escape}\]|\u009D)[^${bell}${escape}\u009C\u009D]*(?:${bell}|${escape}\\|\u009C)`,
    `${escape}[ -/]{0,4}[0-~]`,
  ].join('|'),
  'g',
);

/** Colours as JSON and Python print them. */
const printedColours = /\\{1,4}(?:u001b|x1b|033|e)\[[\d;]{0,40}m/gi;

/** Control characters, without tab and carriage return, which progress bars write. */
const controls = /(?![\t\r])\p{Cc}/gu;

/** Invisible characters: direction marks, and those of zero width. */
const unseen = /[\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The same, without the joiners that letters and emoji need. */
const unseenInLogs = /(?![\u200C\u200D])[\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A log line without escape sequences, control characters and direction marks. Emoji, tabs and blanks stay. */
export const withoutEscapes = (line: string): string =>
  line
    .replace(sequences, '')
    .replace(printedColours, '')
    .replace(controls, '')
    .replace(unseenInLogs, '')
    .toWellFormed();

/** Lines for a terminal: no control characters except line breaks and tabs, and no invisible characters. */
export const printable = (text: string): string =>
  text
    .replace(sequences, '')
    .replace(/(?![\t\n])\p{Cc}/gu, ' ')
    .replace(unseen, '')
    .toWellFormed();

/** Escapes in JSON or quoted YAML: same value, and safe for a terminal. */
export const escapeUnseen = (text: string): string =>
  text.replace(/[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu, (sign) =>
    [...Array(sign.length).keys()].map((at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );

/**
 * One line without control characters (terminals, logs), text-direction marks (which change how a line reads) and broken surrogates (JSON),
 * of at most `most` characters.
 */
export const oneLine = (text: string, most: number): string =>
  text
    .slice(0, most * 4)
    .replace(sequences, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(unseen, '')
    .trim()
    .slice(0, most)
    .toWellFormed()
    .trim();

/** Characters with a meaning in Markdown or HTML, and those that turn a bare address into a link. */
const markup = /[\\`*[\]<>|]|:(?=\/\/)|(?<=\bwww)\./gi;

/** One line in which no character acts as Markdown: no links, HTML or table columns. */
export const inMarkdown = (text: string, most = 20_000): string =>
  oneLine(text.replace(/\s+/g, ' '), most).replace(markup, (sign) => `\\${sign}`);

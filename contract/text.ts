/**
 * Text that others wrote, made harmless. Every border where it leaves kcover uses these functions and no other:
 *
 * - what is made into a fault, and what is sent in a report: kernel lines, termination messages, conditions, preflight reports (`oneLine`)
 * - messages of Events and the reason of a quarantine on its node (`oneLine`)
 * - what the command line prints: cells of tables (`oneLine`), all text and errors (`printable`), JSON and YAML (`escapeUnseen`)
 * - current details, and summaries of activities and timers, in the Temporal UI (`inMarkdown`)
 * - the report of an incident (`inMarkdown`)
 * - lines of logs that are kept as evidence (`withoutEscapes`)
 */

const [escape, bell] = [String.raw`\u001B`, String.raw`\u0007`];

/** What programs steer a terminal with: colours and cursors, then titles and links, whose text stays, then signs by themselves. */
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

/** Controls but tab and carriage return, which progress bars write. */
const controls = /(?![\t\r])\p{Cc}/gu;

/** Marks that are not seen: of the direction of text, of no width. */
const unseen = /[\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The same but for what joins letters and pictures. */
const unseenInLogs = /(?![\u200C\u200D])[\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A line of a log that colours, moves, links and turns nothing. Pictures, tabs and blanks stay as they are. */
export const withoutEscapes = (line: string): string =>
  line.replace(sequences, '').replace(printedColours, '').replace(controls, '').replace(unseenInLogs, '').toWellFormed();

/** Lines as they are, for a terminal: no control characters but line breaks and tabs, and no unseen marks. */
export const printable = (text: string): string =>
  text
    .replace(sequences, '')
    .replace(/(?![\t\n])\p{Cc}/gu, ' ')
    .replace(unseen, '')
    .toWellFormed();

/** JSON, or YAML with quotes, that means the same and steers no terminal. */
export const escapeUnseen = (text: string): string =>
  text.replace(/[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu, (sign) =>
    [...Array(sign.length).keys()].map((at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );

/**
 * One harmless line: no control characters (terminals, logs), no text-direction marks (a line that reads differently than it is), no broken
 * surrogates (JSON), at most `most` characters.
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

/** Signs that mean something in Markdown, or in the HTML in it, and what makes a link of a bare address. */
const markup = /[\\`*[\]<>|]|:(?=\/\/)|(?<=\bwww)\./gi;

/** One line in which nothing is markup: neither links nor HTML nor a column of a table. */
export const inMarkdown = (text: string, most = 20_000): string => oneLine(text.replace(/\s+/g, ' '), most).replace(markup, (sign) => `\\${sign}`);

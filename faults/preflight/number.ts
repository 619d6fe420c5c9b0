/** Numbers of a report: JSON numbers, or texts in the grammar of Go, in which the reference project is written. */

/** Most characters of a number in a text. Every measurement is far shorter; the limit bounds the search of untrusted text. */
export const numberLength = 64;

const digits = String.raw`\d(?:_?\d)*`;
/** A second run of digits only after a dot: two adjacent runs could be split in many ways, which makes matching slow. */
const decimal = new RegExp(`^[+-]?(?:${digits}(?:\\.(?:${digits})?)?|\\.${digits})(?:e[+-]?${digits})?$`, 'i');
const hexadecimal = /^([+-]?)0x(_?[\da-f](?:_?[\da-f])*)?(?:\.([\da-f](?:_?[\da-f])*)?)?p([+-]?\d(?:_?\d)*)$/i;
const infinite = /^([+-]?)inf(?:inity)?$/i;

/** The number in a text, also infinity or NaN; undefined when it is none, is too large, or has more than `numberLength` characters. */
export function numberOfText(text: string): number | undefined {
  if (text.length > numberLength) return undefined;
  const endless = infinite.exec(text);
  if (endless) return endless[1] === '-' ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return NaN;
  const value = decimal.test(text) ? Number(text.replaceAll('_', '')) : hexadecimalOf(text);
  return value === undefined || Number.isFinite(value) ? value : undefined;
}

function hexadecimalOf(text: string): number | undefined {
  const match = hexadecimal.exec(text);
  if (!match) return undefined;
  const [sign = '', whole = '', part = '', exponent = ''] = match
    .slice(1)
    .map((group: string | undefined) => group?.replaceAll('_', ''));
  if (whole === '' && part === '') return undefined;
  const mantissa = Number.parseInt(`${whole}${part}`, 16);
  return (sign === '-' ? -1 : 1) * mantissa * 2 ** (Number(exponent) - 4 * part.length);
}

/** A number, or a text that holds one. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? numberOfText(value) : undefined;
}

/** Suffix of the message that a value is no number, where its length is the reason. */
export const tooLong = (value: unknown): string =>
  typeof value === 'string' && value.length > numberLength
    ? `: it has ${value.length} characters, at most ${numberLength} are read`
    : '';

/** A whole number, or a text that holds one. */
export function wholeNumberOf(value: unknown): number | undefined {
  const number = numberOf(value);
  return number !== undefined && Number.isInteger(number) ? number : undefined;
}

/**
 * A reader of the plain XML that tools print: elements, attributes in double quotes and text. It takes linear time, refuses everything else, and
 * knows no entities but the five of XML, so that nothing in a document can grow or refer to a file.
 */

export interface XmlElement {
  /** `root/child/grandchild`. */
  readonly path: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** Its text up to its first child, without blanks around it. */
  readonly text: string;
}

const limits = { characters: 4 * 1024 * 1024, elements: 200_000, depth: 16, text: 2000, tag: 500 } as const;

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

const plainText = (text: string): string =>
  text
    .slice(0, limits.text)
    .trim()
    .replace(/&(lt|gt|amp|quot|apos);/g, (_, name: string) => entities[name] ?? '');

const isName = (text: string): boolean => /^[A-Za-z_][\w.-]{0,79}$/.test(text);

/** `id="0000:5d:00.0"` and so on; undefined where the text after the name is anything else. */
function attributesOf(text: string): ReadonlyMap<string, string> | undefined {
  const found = new Map<string, string>();
  const parts = text.trim() === '' ? [] : text.trim().split('"');
  if (parts.length % 2 !== (parts.length === 0 ? 0 : 1) || (parts.at(-1) ?? '') !== '') return undefined;
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [name = '', rest] = (parts[at] ?? '').trim().split('=');
    if (rest !== '' || !isName(name)) return undefined;
    found.set(name, plainText(parts[at + 1] ?? ''));
  }
  return found;
}

interface Open {
  readonly name: string;
  readonly path: string;
}

/** Every element in the order of the document; a sentence where it is not well-formed, not whole or too large. */
export function xmlElements(text: string): readonly XmlElement[] | string {
  if (text.length > limits.characters) return `the document has more than ${limits.characters} characters`;
  const elements: XmlElement[] = [];
  const open: Open[] = [];
  let ended = false;
  let at = 0;
  for (;;) {
    const start = text.indexOf('<', at);
    if (start < 0) break;
    const end = text.indexOf('>', start);
    if (end < 0) return 'the document ends within a tag';
    const tag = text.slice(start + 1, end);
    at = end + 1;
    if (isProlog(tag)) continue;
    if (ended) return 'the document has something behind its root';
    if (tag.length > limits.tag) return 'the document has a tag that is too long';
    if (tag.startsWith('/')) {
      if (open.pop()?.name !== tag.slice(1).trim()) return 'the document has an end tag without its start';
      ended = open.length === 0;
      continue;
    }
    const element = elementOf(tag, open, text.slice(at, at + limits.text));
    if (element === undefined) return 'the document has a tag of an unknown form';
    elements.push(element);
    if (elements.length > limits.elements) return `the document has more than ${limits.elements} elements`;
    if (!tag.endsWith('/')) open.push({ name: nameOf(tag), path: element.path });
    else ended = open.length === 0;
    if (open.length > limits.depth) return 'the document is nested too deeply';
  }
  return ended ? elements : 'the document ends too early';
}

/** `<?xml ...?>`, `<!DOCTYPE ...>` without declarations of its own, and comments without a `>`. */
const isProlog = (tag: string): boolean =>
  (tag.startsWith('?') && tag.endsWith('?')) ||
  (tag.startsWith('!DOCTYPE') && !tag.includes('[')) ||
  (tag.startsWith('!--') && tag.endsWith('--'));

const nameOf = (tag: string): string => /^[^\s/]{1,80}/.exec(tag)?.[0] ?? '';

function elementOf(tag: string, open: readonly Open[], after: string): XmlElement | undefined {
  const name = nameOf(tag);
  if (!isName(name)) return undefined;
  const isEmpty = tag.endsWith('/');
  const attributes = attributesOf(tag.slice(name.length, isEmpty ? -1 : undefined));
  if (attributes === undefined) return undefined;
  const parent = open.at(-1)?.path;
  return {
    path: parent === undefined ? name : `${parent}/${name}`,
    attributes,
    text: isEmpty ? '' : plainText(after.slice(0, after.includes('<') ? after.indexOf('<') : 0)),
  };
}

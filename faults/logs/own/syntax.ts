/** Parses the regular expressions that users may write: the part of their syntax that needs no backtracking. */

export type Node =
  | { readonly kind: 'sign'; readonly matches: (code: number) => boolean; readonly literal?: string }
  | { readonly kind: 'all'; readonly nodes: readonly Node[] }
  | { readonly kind: 'any'; readonly nodes: readonly Node[] }
  | {
      readonly kind: 'repeat';
      readonly node: Node;
      readonly least: number;
      readonly most: number;
      readonly lazy: boolean;
    }
  | { readonly kind: 'group'; readonly node: Node; readonly name: string }
  | { readonly kind: 'at'; readonly place: 'begin' | 'end' };

/** Why an expression is refused, in one sentence. */
export class RefusedPattern extends Error {}

/** Longest expression. */
export const patternLength = 300;

type Matches = (code: number) => boolean;

const between =
  (low: string, high: string): Matches =>
  (code) =>
    code >= low.charCodeAt(0) && code <= high.charCodeAt(0);
const isDigit = between('0', '9');
const isWord: Matches = (code) => isDigit(code) || between('a', 'z')(code) || between('A', 'Z')(code) || code === 95;
const isSpace: Matches = (code) => /\s/.test(String.fromCharCode(code));
const not =
  (matches: Matches): Matches =>
  (code) =>
    !matches(code);

const classes: Readonly<Record<string, Matches>> = {
  d: isDigit,
  D: not(isDigit),
  w: isWord,
  W: not(isWord),
  s: isSpace,
  S: not(isSpace),
};

const controls: Readonly<Record<string, string>> = { t: '\t', r: '\r', n: '\n' };

/** Throws `RefusedPattern`. */
export function parsePattern(source: string): Node {
  if (source.length > patternLength) throw new RefusedPattern(`it is longer than ${patternLength} characters`);
  const parser = new Parser(source);
  const node = parser.alternatives();
  if (!parser.isAtEnd()) throw new RefusedPattern(`there is a ) without its ( at ${parser.position}`);
  return node;
}

class Parser {
  position = 0;
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  isAtEnd = (): boolean => this.position >= this.#source.length;

  alternatives(): Node {
    const nodes = [this.#sequence()];
    while (this.#takes('|')) nodes.push(this.#sequence());
    return nodes.length === 1 && nodes[0] ? nodes[0] : { kind: 'any', nodes };
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    while (!this.isAtEnd() && !this.#sees('|') && !this.#sees(')')) nodes.push(this.#repeated(this.#atom()));
    return { kind: 'all', nodes };
  }

  #repeated(node: Node): Node {
    const counts = this.#counts();
    if (counts === undefined) return node;
    if (node.kind === 'at') throw new RefusedPattern('^ and $ cannot be repeated');
    const lazy = this.#takes('?');
    if (this.#sees('*') || this.#sees('+') || this.#sees('?'))
      throw new RefusedPattern(`there is nothing to repeat at ${this.position}`);
    return { kind: 'repeat', node, ...counts, lazy };
  }

  #counts(): { least: number; most: number } | undefined {
    if (this.#takes('*')) return { least: 0, most: Infinity };
    if (this.#takes('+')) return { least: 1, most: Infinity };
    if (this.#takes('?')) return { least: 0, most: 1 };
    const [whole = '', low = '', comma, high] =
      /^\{(\d{1,3})(,)?(\d{1,3})?\}/.exec(this.#source.slice(this.position, this.position + 12)) ?? [];
    if (whole === '') return undefined;
    this.position += whole.length;
    const least = Number(low);
    const most = high !== undefined ? Number(high) : comma === undefined ? least : Infinity;
    if (most < least) throw new RefusedPattern(`${whole} counts down`);
    return { least, most };
  }

  #atom(): Node {
    const sign = this.#next();
    switch (sign) {
      case '^':
        return { kind: 'at', place: 'begin' };
      case '$':
        return { kind: 'at', place: 'end' };
      case '.':
        return { kind: 'sign', matches: (code) => code !== 10 && code !== 13 };
      case '(':
        return this.#group();
      case '[':
        return { kind: 'sign', matches: this.#set() };
      case '\\':
        return this.#escaped();
      case '*':
      case '+':
      case '?':
        throw new RefusedPattern(`there is nothing to repeat at ${this.position - 1}`);
      default:
        return literal(sign);
    }
  }

  #group(): Node {
    if (!this.#takes('?')) return this.#closed(this.alternatives());
    if (this.#takes(':')) return this.#closed(this.alternatives());
    const [whole = '', name] = /^<([a-z]{1,20})>/.exec(this.#source.slice(this.position, this.position + 24)) ?? [];
    if (name === undefined)
      throw new RefusedPattern('of groups with (? only (?: and named ones, such as (?<step>, are allowed');
    this.position += whole.length;
    return { kind: 'group', name, node: this.#closed(this.alternatives()) };
  }

  #closed(node: Node): Node {
    if (!this.#takes(')')) throw new RefusedPattern('there is a ( without its )');
    return node;
  }

  #set(): Matches {
    const inverted = this.#takes('^');
    const parts: Matches[] = [];
    while (!this.#takes(']')) {
      const low = this.#inSet();
      if (typeof low === 'string' && this.#sees('-') && this.#source[this.position + 1] !== ']') {
        this.position += 1;
        const high = this.#inSet();
        if (typeof high !== 'string' || high < low) throw new RefusedPattern('a range in [ ] has no order');
        parts.push(between(low, high));
      } else parts.push(typeof low === 'string' ? (code) => code === low.charCodeAt(0) : low);
    }
    const matches: Matches = (code) => parts.some((part) => part(code));
    return inverted ? not(matches) : matches;
  }

  #inSet(): string | Matches {
    if (this.isAtEnd()) throw new RefusedPattern('there is a [ without its ]');
    const sign = this.#next();
    if (sign !== '\\') return sign;
    const escaped = this.#next();
    return classes[escaped] ?? plain(escaped);
  }

  #escaped(): Node {
    const sign = this.#next();
    const matches = classes[sign];
    return matches ? { kind: 'sign', matches } : literal(plain(sign));
  }

  #next(): string {
    const sign = this.#source[this.position];
    if (sign === undefined) throw new RefusedPattern('it ends too early');
    this.position += 1;
    return sign;
  }

  #sees = (sign: string): boolean => this.#source[this.position] === sign;

  #takes(sign: string): boolean {
    const seen = this.#sees(sign);
    if (seen) this.position += 1;
    return seen;
  }
}

const literal = (sign: string): Node => {
  const wanted = sign.charCodeAt(0);
  return { kind: 'sign', matches: (code) => code === wanted, literal: sign };
};

/** Punctuation stands for itself after a backslash; letters and digits would mean something that is not allowed. */
function plain(sign: string): string {
  const control = controls[sign];
  if (control !== undefined) return control;
  if (/[A-Za-z0-9]/.test(sign)) throw new RefusedPattern(`\\${sign} is not allowed`);
  return sign;
}

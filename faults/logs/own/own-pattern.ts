/** A pattern of a user for lines of a log, from a setting or an annotation. */

import { compile, run } from './machine.ts';
import { type Node, parsePattern, RefusedPattern } from './syntax.ts';

/** Made by `readOwnPattern` only. Its time is at most in proportion to the length of the line. */
export interface OwnPattern {
  readonly source: string;
  /** Value of its named group at its first match in the line; undefined when it does not match. */
  find(line: string): string | undefined;
}

export type ReadOwnPattern =
  | { readonly kind: 'pattern'; readonly pattern: OwnPattern }
  | { readonly kind: 'refused'; readonly because: string };

/** So much of a line is read. */
export const ownLineLength = 500;

/** Never throws. `group`: the named group that it must have. */
export function readOwnPattern(source: string, group: 'step' | 'checkpoint'): ReadOwnPattern {
  try {
    const node = parsePattern(source);
    if (!hasGroup(node, group)) return { kind: 'refused', because: `it has no group (?<${group}>...)` };
    const program = compile(node, group);
    const wanted = literalOf(node);
    const find = (line: string): string | undefined => {
      const text = line.slice(0, ownLineLength);
      return text.includes(wanted) ? run(program, text).value : undefined;
    };
    return { kind: 'pattern', pattern: { source, find } };
  } catch (error) {
    if (error instanceof RefusedPattern) return { kind: 'refused', because: error.message };
    throw error;
  }
}

const hasGroup = (node: Node, name: string): boolean => {
  switch (node.kind) {
    case 'group':
      return node.name === name || hasGroup(node.node, name);
    case 'repeat':
      return hasGroup(node.node, name);
    case 'all':
    case 'any':
      return node.nodes.some((one) => hasGroup(one, name));
    default:
      return false;
  }
};

/** Longest text that every match contains: most lines are sorted out by it, because looking for it is cheap. */
function literalOf(node: Node): string {
  if (node.kind !== 'all') return '';
  const runs = node.nodes.reduce<readonly string[]>(
    (found, one) =>
      one.kind === 'sign' && one.literal !== undefined
        ? [...found.slice(0, -1), (found.at(-1) ?? '') + one.literal]
        : [...found, ''],
    [''],
  );
  return runs.reduce((longest, one) => (one.length > longest.length ? one : longest), '');
}

/** Regular expressions of the product: literals in its sources, and those that its modules build when they are loaded. */

import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';
import { folderOf, sources, textOf } from './sources.ts';

export interface Expression {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Folders that parse text of tenants, drivers or the API server. */
const folders = ['faults', 'contract', 'agent', 'controller', 'kube'];
/** The patterns of secrets use lookbehind and backreferences, for which little can be proven; their input is bounded to lines of 16 KiB. */
const bounded = 'faults/redaction/';
const ours = sources.filter((file) => folders.includes(folderOf(file)) && !file.startsWith(bounded));

/** The literals in the text of one file. */
export const literals = (file: string, text: string): readonly Expression[] => {
  const found: Expression[] = [];
  const visitor = new Visitor({
    Literal(node) {
      if ('regex' in node) found.push({ file, source: node.regex.pattern, flags: node.regex.flags });
    },
  });
  visitor.visit(parseSync(file, text).program);
  return found;
};

/** Files whose expressions are not all literals. */
const builders: readonly string[] = ours.filter(
  (file) => /\bRegExp\(/.test(textOf(file)) || file.endsWith('.schema.ts'),
);

/** The first of our files on the stack, whatever library is in between. */
function caller(): string | undefined {
  const frames = (new Error('who asks').stack ?? '')
    .split('\n')
    .flatMap((line) => line.split(root)[1]?.split(':')[0] ?? []);
  return frames.find((file) => ours.includes(file));
}

/** Loads modules, and collects the expressions that they build while loading, also through libraries. */
async function built(files: readonly string[]): Promise<readonly Expression[]> {
  const found: Expression[] = [];
  const Real = globalThis.RegExp;
  globalThis.RegExp = new Proxy(Real, {
    construct(target, given: ConstructorParameters<RegExpConstructor>) {
      const made = new target(...given);
      const file = caller();
      if (file !== undefined) found.push({ file, source: made.source, flags: made.flags });
      return made;
    },
  });
  try {
    for (const file of files) await import(pathToFileURL(`${root}/${file}`).href);
  } finally {
    globalThis.RegExp = Real;
  }
  return found;
}

/** All expressions, without duplicates. */
export async function expressions(): Promise<readonly Expression[]> {
  const all = [...ours.flatMap((file) => literals(file, textOf(file))), ...(await built(builders))];
  return [...new Map(all.map((one) => [`${one.source}/${one.flags}`, one])).values()];
}

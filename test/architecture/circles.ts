/** Finds circular imports, imports of types included. */

import { importsOf } from './sources.ts';

/** Each circle once, as the files in it, starting with the first by name. `texts`: text by file. */
export function circles(texts: ReadonlyMap<string, string>): readonly (readonly string[])[] {
  const imported = new Map(
    [...texts].map(([file, text]) => [file, ours(file, text).filter((each) => texts.has(each))]),
  );
  const found = [...texts.keys()].flatMap((file) => {
    const circle = shortestBack(file, imported);
    return circle ? [fromTheFirst(circle)] : [];
  });
  return [...new Map(found.map((circle) => [circle.join(' '), circle])).values()];
}

const ours = (file: string, text: string): readonly string[] =>
  importsOf(file, text).flatMap((one) => (one.ours ? [one.what] : []));

/** The shortest chain of imports from the file back to itself; undefined when there is none. */
function shortestBack(file: string, imported: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const seen = new Set<string>();
  for (let ways: readonly (readonly string[])[] = [[file]]; ways.length > 0;) {
    const back = ways.find((way) => imported.get(way.at(-1) ?? '')?.includes(file));
    if (back) return back;
    ways = ways.flatMap((way) => {
      const next = (imported.get(way.at(-1) ?? '') ?? []).filter((each) => !seen.has(each));
      for (const each of next) seen.add(each);
      return next.map((each) => [...way, each]);
    });
  }
  return undefined;
}

function fromTheFirst(circle: readonly string[]): readonly string[] {
  const first = circle.indexOf(circle.toSorted()[0] ?? '');
  return [...circle.slice(first), ...circle.slice(0, first)];
}

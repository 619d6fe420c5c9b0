/** CEL expressions that allow an object to change only in given fields. Pure. */

/** Fields that may change: `true` for the field with all below it, `*` for every key. */
export interface FieldTree {
  readonly [name: string]: true | FieldTree;
}

/** `['runPolicy.suspend', 'roles.*.replicas']` as a tree. */
export function fieldsOf(paths: readonly string[]): FieldTree {
  const names = [...new Set(paths.map((path) => path.split('.', 1)[0] ?? ''))];
  return Object.fromEntries(names.map((name) => [name, below(name, paths)]));
}

function below(name: string, paths: readonly string[]): true | FieldTree {
  if (paths.includes(name)) return true;
  return fieldsOf(paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1)));
}

/** CEL text: two maps are equal except for these fields. */
export function sameBut(fields: FieldTree, now: string, before: string, depth = 0): string {
  const key = `k${depth}`;
  const { '*': each, ...named } = fields;
  if (each !== undefined && each !== true) {
    const inside = called(`${now}[${key}]`, `${before}[${key}]`, each, depth + 1);
    return `${now}.all(${key}, ${key} in ${before} && ${inside}) && ${before}.all(${key}, ${key} in ${now})`;
  }
  const free = Object.keys(named);
  const isFree = free.length === 0 ? '' : `${key} in ${listOf(free)} || `;
  return [
    `${now}.all(${key}, ${isFree}(${key} in ${before} && ${now}[${key}] == ${before}[${key}]))`,
    `${before}.all(${key}, ${isFree}${key} in ${now})`,
    ...Object.entries(named).flatMap(([name, inside]) => {
      const below = `[?${textOf(name)}].orValue({})`;
      return inside === true ? [] : [called(now + below, before + below, inside, depth + 1)];
    }),
  ].join(depth === 0 ? ' &&\n' : ' && ');
}

/** CEL can name values only as elements of a list. */
const called = (now: string, before: string, fields: FieldTree, depth: number): string =>
  `[dyn(${now})].all(now${depth}, [dyn(${before})].all(was${depth}, ${sameBut(fields, `now${depth}`, `was${depth}`, depth)}))`;

/** A string and a list of strings as CEL literals. */
export const textOf = (text: string): string => JSON.stringify(text);
export const listOf = (texts: readonly string[]): string => `[${texts.map(textOf).join(', ')}]`;

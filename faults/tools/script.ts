/** Reads what a site's own check says: exit code 0 fine, 1 faulty, anything else unknown; JSON on its output says more about a fault. */

import { type Action, actions } from '../../contract/faults/faults.ts';
import type { Finding, Findings } from '../finding.ts';
import { foreignText } from '../foreign-text.ts';
import { deviceName, nothingRead, toolFinding } from './reading.ts';

export interface ScriptAnswer {
  /** Name of its file. */
  readonly name: string;
  readonly exitCode: number;
  readonly output: string;
}

/** Most faults of one run, and most characters of its output. */
const limits = { faults: 16, output: 65_536 } as const;

type Entry = Readonly<Record<string, unknown>>;
const isEntry = (value: unknown): value is Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `disk-latency.sh` -> `disk-latency`: the code of a fault whose script gives none. */
const codeOf = (name: string): string =>
  name
    .replace(/\.[A-Za-z0-9]{1,8}$/, '')
    .replace(/[^\w-]/g, '-')
    .slice(0, 40);

/** Whether the file may be a check: its name becomes a part of codes and messages. */
export const isScriptName = (name: string): boolean => /^[A-Za-z0-9][\w.-]{0,59}$/.test(name);

const isAction = (value: unknown): value is Action => actions.some((action) => action === value);

/** Undefined where a key is unknown or its value is of no use: a part of an answer is never guessed. */
function findingOf(name: string, entry: Entry): Finding | undefined {
  const { code = codeOf(name), device, message = '', action, ...others } = entry;
  if (Object.keys(others).length > 0 || typeof code !== 'string' || !/^[\w-]{1,40}$/.test(code)) return undefined;
  if (device !== undefined && (typeof device !== 'string' || deviceName(device) === undefined)) return undefined;
  if (typeof message !== 'string' || (action !== undefined && !isAction(action))) return undefined;
  return {
    ...faultOf(name, message),
    code: `script/${code}`,
    ...(device !== undefined && { device }),
    ...(action !== undefined && { action }),
  };
}

const faultOf = (name: string, message: string): Finding =>
  toolFinding({
    source: 'script',
    code: `script/${codeOf(name)}`,
    message: `${name}: ${foreignText(message, 400) || 'it says faulty'}`,
    because: `The check ${name} of this site ended with exit code 1, which means faulty.`,
  });

/** Undefined where the text is no JSON, or not of the form that a script may answer. */
function findingsIn(name: string, text: string): readonly Finding[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const entries: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (entries.length === 0 || entries.length > limits.faults) return undefined;
  const found = entries.map((entry) => (isEntry(entry) ? findingOf(name, entry) : undefined));
  return found.every((finding) => finding !== undefined) ? found : undefined;
}

/** Never throws. The exit code alone says whether it is a fault, so an output that cannot be used takes nothing away from it. */
export function readScript({ name, exitCode, output }: ScriptAnswer): Findings {
  if (exitCode === 0) return { faults: [], unobservable: [] };
  const text = output.slice(0, limits.output).trim();
  if (exitCode !== 1)
    return nothingRead('script', `the check ${name}`, `it ended with exit code ${exitCode}: ${foreignText(text, 200)}`);
  if (!/^[[{]/.test(text)) return { faults: [faultOf(name, text)], unobservable: [] };
  const found = findingsIn(name, text);
  return { faults: found ?? [faultOf(name, `its output cannot be used: ${text}`)], unobservable: [] };
}

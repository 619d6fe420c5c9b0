/** Reads what a hook says of itself. All of it is untrusted. */

import { hookAnswer } from '../../contract/remedy/answer.schema.ts';
import type { HookRequest, HookResult } from '../../contract/remedy/remedy.ts';
import { foreignText } from '../../faults/foreign-text.ts';

/** Most bytes of a termination message, and of the output of a command that are read. */
export const messageBytes = 4096;

/** Most characters of a sentence of a hook. */
export const becauseLength = 500;

type Answer = HookResult | { readonly unreadable: string };
type About = Pick<HookRequest, 'node' | 'operation'>;

export const failed = (because: string): HookResult => ({ verdict: 'failed', because });
export const unknown = (because: string): HookResult => ({ verdict: 'unknown', because });

/** A JSON object with a verdict; without one, it says `otherwise`. An answer about another node or operation is a failure. */
export function readAnswer(text: string, about: About, otherwise: HookResult['verdict']): Answer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { unreadable: 'it is no JSON' };
  }
  const checked = hookAnswer.safeParse(value);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    return { unreadable: foreignText(`${issue?.path.join('.')}: ${issue?.message}`, 200) };
  }
  const { verdict = otherwise, because, reference, node = about.node, operation = about.operation } = checked.data;
  if (node !== about.node) return failed(`it answers for node ${foreignText(node, 253)}, not for ${about.node}`);
  if (operation !== about.operation)
    return failed(`it answers for operation ${foreignText(operation, 100)}, not for ${about.operation}`);
  const refers = reference === undefined ? '' : foreignText(reference, 200);
  return {
    verdict,
    because: because === undefined ? `it says ${verdict}` : foreignText(because, becauseLength),
    ...(refers !== '' && { reference: refers }),
  };
}

const byExitCode: Readonly<Record<number, HookResult['verdict']>> = { 0: 'passed', 1: 'failed', 2: 'unknown' };

/**
 * What a program says by its exit code and its text. The text cannot improve on the exit code: a program that says `passed` and ends with an error
 * contradicts itself.
 */
export function resultOfExit(exitCode: number, text: string, about: About): HookResult {
  const byCode = byExitCode[exitCode] ?? 'unknown';
  const ended = `it ended with exit code ${exitCode}`;
  const answer = readAnswer(text, about, byCode);
  if ('unreadable' in answer) {
    const said = foreignText(text.trim().split('\n').at(-1) ?? '', becauseLength);
    return { verdict: byCode, because: said === '' ? ended : `${ended}: ${said}` };
  }
  if (answer.verdict === 'passed' && byCode !== 'passed') return unknown(`it says passed, but ${ended}`);
  return answer;
}

/**
 * Matches without backtracking: all states that the text read so far can lead to are followed at the same time (Thompson's construction, with one
 * captured group as in Pike's machine), so each character costs at most one visit of each instruction.
 */

import { type Node, RefusedPattern } from './syntax.ts';

type Instruction =
  | { readonly kind: 'sign'; readonly matches: (code: number) => boolean }
  /** Both ways, the first one preferred. */
  | { readonly kind: 'fork'; first: number; second: number }
  | { readonly kind: 'jump'; to: number }
  | { readonly kind: 'mark'; readonly what: 'from' | 'to' }
  | { readonly kind: 'at'; readonly place: 'begin' | 'end' }
  | { readonly kind: 'done' };

export type Program = readonly Instruction[];

/** Most instructions, so that a line of 2,000 characters costs at most 500,000 visits. */
export const programLength = 100;

/** Most parts of an expression, repeated ones as often as they are. */
const mostParts = 5000;

/** Throws `RefusedPattern` where it would be too long. */
export function compile(node: Node, group: string): Program {
  const program: Instruction[] = [];
  const add = <T extends Instruction>(one: T): T => {
    if (program.length >= programLength - 1) throw new RefusedPattern('it is too large; write fewer or smaller {n,m}');
    program.push(one);
    return one;
  };

  let emitted = 0;

  /** Repeating nothing adds no instruction, so the work is bounded by itself. */
  function emit(one: Node): void {
    emitted += 1;
    if (emitted > mostParts) throw new RefusedPattern('it repeats too much; write fewer or smaller {n,m}');
    switch (one.kind) {
      case 'sign':
        add({ kind: 'sign', matches: one.matches });
        return;
      case 'at':
        add({ kind: 'at', place: one.place });
        return;
      case 'all':
        one.nodes.forEach(emit);
        return;
      case 'any':
        emitAny(one.nodes);
        return;
      case 'group':
        if (one.name === group) add({ kind: 'mark', what: 'from' });
        emit(one.node);
        if (one.name === group) add({ kind: 'mark', what: 'to' });
        return;
      case 'repeat':
        emitRepeat(one);
    }
  }

  function emitAny([first, ...others]: readonly Node[]): void {
    if (first === undefined) return;
    if (others.length === 0) return emit(first);
    const fork = add({ kind: 'fork', first: program.length + 1, second: 0 });
    emit(first);
    const jump = add({ kind: 'jump', to: 0 });
    fork.second = program.length;
    emitAny(others);
    jump.to = program.length;
  }

  function emitRepeat({ node: inner, least, most, lazy }: Extract<Node, { kind: 'repeat' }>): void {
    for (let count = 0; count < least; count += 1) emit(inner);
    const forks: Extract<Instruction, { kind: 'fork' }>[] = [];
    const begin = program.length;
    const times = most === Infinity ? 1 : most - least;
    for (let count = 0; count < times; count += 1) {
      forks.push(add({ kind: 'fork', first: program.length + 1, second: 0 }));
      emit(inner);
    }
    if (most === Infinity) add({ kind: 'jump', to: begin });
    for (const fork of forks) {
      fork.second = program.length;
      if (lazy) [fork.first, fork.second] = [fork.second, fork.first];
    }
  }

  emit(node);
  program.push({ kind: 'done' });
  return program;
}

/** Where the group began and ended so far. */
interface Thread {
  readonly at: number;
  readonly from: number;
  readonly to: number;
}

export interface Run {
  /** Text of the group in the first match; undefined when nothing matches. */
  readonly value?: string;
  /** Visits of instructions. */
  readonly steps: number;
}

export function run(program: Program, text: string): Run {
  const visited = new Int32Array(program.length).fill(-1);
  let threads: Thread[] = [];
  let best: Thread | undefined;
  let steps = 0;

  /** Follows what needs no character, each instruction once for a position. */
  function follow(into: Thread[], thread: Thread, position: number): void {
    const pending = [thread];
    for (let one = pending.pop(); one !== undefined; one = pending.pop()) {
      if (visited[one.at] === position) continue;
      visited[one.at] = position;
      steps += 1;
      const instruction = program[one.at];
      switch (instruction?.kind) {
        case 'jump':
          pending.push({ ...one, at: instruction.to });
          break;
        case 'fork':
          pending.push({ ...one, at: instruction.second }, { ...one, at: instruction.first });
          break;
        case 'mark':
          pending.push({ ...one, at: one.at + 1, [instruction.what]: position });
          break;
        case 'at':
          if (position === (instruction.place === 'begin' ? 0 : text.length)) pending.push({ ...one, at: one.at + 1 });
          break;
        default:
          into.push(one);
      }
    }
  }

  for (let position = 0; position <= text.length; position += 1) {
    if (best === undefined) follow(threads, { at: 0, from: -1, to: -1 }, position);
    if (threads.length === 0 && best !== undefined) break;
    const next: Thread[] = [];
    for (const thread of threads) {
      const instruction = program[thread.at];
      if (instruction?.kind === 'done') {
        // Later ones are less preferred.
        best = thread;
        break;
      }
      if (position < text.length && instruction?.kind === 'sign' && instruction.matches(text.charCodeAt(position)))
        follow(next, { ...thread, at: thread.at + 1 }, position + 1);
    }
    threads = next;
  }
  return best === undefined || best.to === -1 ? { steps } : { value: text.slice(best.from, best.to), steps };
}

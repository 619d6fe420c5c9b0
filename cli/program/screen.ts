/** The view of `--watch` on a terminal: drawn in place on the alternate screen, so that nothing of what was there before is lost. */

import { formatDuration } from '../../contract/settings/duration.ts';
import { printable } from '../../contract/text.ts';
import { clockTime } from './clock.ts';
import type { Terminal } from './environment.ts';
import { pauseMs, reasonOf, type Show } from './watch.ts';

interface Screen {
  readonly show: Show;
  /** Gives the terminal back, and leaves the last view on it. */
  close(): void;
}

// Alternate screen, no cursor, and no wrapping by the terminal: the rows are cut here.
const begin = '\u001B[?1049h\u001B[?25l\u001B[?7l';
const end = '\u001B[?7h\u001B[?25h\u001B[?1049l';
const [home, clearLine, clearBelow] = ['\u001B[H', '\u001B[K', '\u001B[J'];

/** `asCalled`: the text with commands under the name that the program was called by. */
export function openScreen(terminal: Terminal, asCalled: (text: string) => string): Screen {
  let view = { heading: 'waiting for the first answer', text: '', at: '' };
  const draw = (): void => {
    const { columns, rows } = terminal.size();
    const lines = fitted(`${view.heading}\n\n${view.text}`, columns, rows);
    // One write, without clearing first: a terminal shows no empty screen in between.
    terminal.write(`${home}${lines.map((line) => `${line}${clearLine}`).join('\r\n')}${clearBelow}`);
  };
  terminal.write(begin);
  const forget = terminal.onResize(draw);
  draw();
  return {
    show(look, now) {
      const at = clockTime(now, now);
      view =
        'failure' in look
          ? { ...view, heading: failedAt(at, asCalled(reasonOf(look.failure)), view.at) }
          : {
              heading: `${at}   looks again every ${formatDuration(pauseMs)}; Ctrl-C ends it`,
              text: asCalled(look.output.text),
              at,
            };
      draw();
    },
    close() {
      forget();
      terminal.write(`${end}${view.text === '' ? '' : `${printable(view.text)}\n`}`);
    },
  };
}

const failedAt = (at: string, why: string, seen: string): string =>
  `${at}   ${why}${seen === '' ? '' : `\n           what follows was seen at ${seen}`}`;

/** Lines for a terminal of this size, without what it could take for an order. */
export function fitted(text: string, columns: number, rows: number): readonly string[] {
  // In the last column of a terminal that does not wrap, clearing the rest of the line clears the character too.
  const width = Math.max(1, columns - 1);
  const lines = printable(text)
    .replaceAll('\t', ' ')
    .split('\n')
    .flatMap((line) => cut([...line], width));
  if (lines.length <= rows) return lines;
  const kept = Math.max(0, rows - 1);
  return [...lines.slice(0, kept), `... ${lines.length - kept} more lines`.slice(0, width)];
}

const cut = (signs: readonly string[], width: number): readonly string[] =>
  Array.from({ length: Math.max(1, Math.ceil(signs.length / width)) }, (_, row) =>
    signs.slice(row * width, (row + 1) * width).join(''),
  );

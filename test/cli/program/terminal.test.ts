import { execFile, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { nowhere, program } from '../kcover.ts';

/** Runs the program on a terminal of its own, presses Ctrl-C once the first answer is shown, and prints all that the terminal got. */
const onTerminal = `
import json, os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b''
pressed = False
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    if not pressed and b'error[temporal.unreachable]' in shown:
        os.write(terminal, b'\\x03')
        pressed = True
print(json.dumps({'code': os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 'shown': shown.decode()}))
`;

const env = { PATH: process.env['PATH'], HOME: '/nonexistent', USER: 'ada', TERM: 'xterm', ...nowhere };
const args = [program, 'incidents', '--watch'];

describe('kcover incidents --watch, while Temporal does not answer', () => {
  it('shows that on a terminal, and Ctrl-C ends it and gives the terminal back', async () => {
    const { stdout } = await promisify(execFile)('python3', ['-c', onTerminal, process.execPath, ...args], { env });
    const { code, shown } = JSON.parse(stdout) as { readonly code: number; readonly shown: string };
    expect(code).toBe(0);
    expect(shown.startsWith('\u001B[?1049h\u001B[?25l\u001B[?7l\u001B[H')).toBe(true);
    expect(shown.endsWith('\u001B[?7h\u001B[?25h\u001B[?1049l')).toBe(true);
  }, 60_000);

  it('prints that in a pipe as one document, and a signal ends it with 0', async () => {
    const child = spawn(process.execPath, [...args, '--output', 'json'], { env });
    const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      stdout += piece;
      child.kill('SIGINT');
    });
    const [stderr, code] = await Promise.all([text(child.stderr), closed]);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(JSON.parse(stdout)).toMatchObject({ change: 'failed', data: { code: 'temporal.unreachable' } });
  }, 60_000);
});

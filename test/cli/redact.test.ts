import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { linesOf } from '../../cli/redact/lines.ts';
import { kcover } from './kcover.ts';

const directory = mkdtempSync(join(tmpdir(), 'kcover-redact-'));
function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}
const fence = (side: string) => `-----${side} PRIVATE KEY-----`;
const log = [
  'step 1 loss 2.3',
  'api_key=abc token=abc1234567 password=x',
  fence('BEGIN'),
  'MIIE'.repeat(16),
  'Qw==',
  fence('END'),
  'step 2',
  'employee emp-123456',
].join('\n');
const kept = ['step 1 loss 2.3', 'api_key=[redacted: password] token=[redacted: token] password=[redacted: password]'];

describe('kcover redact', () => {
  it('prints a log as the evidence store keeps it, and a summary on stderr', async () => {
    const { stdout, stderr, code } = await kcover(['redact', file('train.log', log)]);
    const key = Array.from({ length: 4 }, () => '[redacted: private-key]');
    expect(stdout.split('\n')).toEqual([...kept, ...key, 'step 2', 'employee emp-123456', '']);
    expect(stderr).toBe('7 places in 5 of 8 lines hidden: private-key 4, password 2, token 1\n');
    expect(code).toBe(0);
  });

  it('reads stdin, and reports what it hid by pattern and line as JSON', async () => {
    const { stdout, stderr } = await kcover(['redact', '-', '--output', 'json'], log);
    expect(JSON.parse(stdout)).toMatchObject({
      lines: 8,
      redacted: 5,
      cut: 0,
      places: { 'private-key': 4, password: 2, token: 1 },
      hidden: [{ line: 2, places: { password: 2, token: 1 } }, { line: 3 }, { line: 4 }, { line: 5 }, { line: 6 }],
    });
    expect(stderr).toBe('');
  });

  it("hides what the worker's settings name", async () => {
    const config = file('worker.yaml', "recovery:\n  evidence:\n    redact: ['emp-\\d{6}']\n");
    const { stdout, stderr } = await kcover(['redact', '--config', config], 'employee emp-123456\n');
    expect(stdout).toBe('employee [redacted: setting-1]\n');
    expect(stderr).toBe('1 place in 1 of 1 line hidden: setting-1 1\n');
  });

  it.each([
    ['a file that is not there', ['redact', '/nonexistent.log'], 'file.unreadable'],
    ['settings that cannot be used', ['redact', '--config', '/nonexistent.yaml'], 'settings.invalid'],
  ])('names %s', async (_, args, error) => {
    const { stderr, code } = await kcover(args, 'x');
    expect(stderr).toContain(`error[${error}]`);
    expect(code).not.toBe(0);
  });

  it('reports when nothing was hidden, and prints an empty log as such', async () => {
    expect(await kcover(['redact'], '')).toEqual({ code: 0, stdout: '', stderr: 'nothing was hidden in 0 lines\n' });
  });
});

describe('lines of a stream', () => {
  const pieces = async function* (...texts: string[]): AsyncGenerator<string> {
    yield* texts;
  };
  async function all(texts: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    for await (const line of linesOf(pieces(...texts), 10)) found.push(line);
    return found;
  }

  it.each([
    ['cut anywhere', ['ab', 'c\nd', '\n', '', 'e'], ['abc', 'd', 'e']],
    ['with an end', ['a\n'], ['a']],
    ['that are empty', ['\n', '\na\n'], ['', '', 'a']],
    ['that are far too long', ['0123456789', '0123456789', 'x\ny'], ['01234567890', 'y']],
  ])('%s', async (_, texts, lines) => {
    expect(await all(texts)).toEqual(lines);
  });

  it('are held one at a time, however long the log is', async () => {
    let read = 0;
    const endless = async function* (): AsyncGenerator<string> {
      for (;;) {
        read += 1;
        yield `${'x'.repeat(1000)}\n`;
      }
    };
    for await (const line of linesOf(endless(), 10)) {
      expect(line).toHaveLength(11);
      if (read > 1000) break;
    }
    expect(read).toBe(1001);
  });
});

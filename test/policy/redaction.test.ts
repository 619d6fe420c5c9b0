import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { builtInPatterns, redactionPatterns } from '../../faults/redaction/built-in.ts';
import { redactLines } from '../../faults/redaction/log.ts';
import { redact } from '../../faults/redaction/redact.ts';
import { workerSettings } from '../../contract/settings/settings.schema.ts';

// The secrets are assembled at run time, so that no scanner reports this file as a leak.
const word = (prefix: string, length: number, messages = 'Abc123xyZ9'): string =>
  prefix + messages.repeat(Math.ceil(length / messages.length)).slice(0, length);
const fence = (side: string) => `-----${side} RSA PRIVATE KEY-----`;
const [begin, end] = [fence('BEGIN'), fence('END')];
const keyLines = [word('MIIE', 60), word('kq/+', 60), word('zz', 20).concat('==')];

describe('a line is redacted', () => {
  it.each([
    ['a bearer token', `Authorization: Bearer ${word('', 30)}`, 'Authorization: [redacted: authorization]'],
    [
      'basic credentials in a header of JSON',
      `{"authorization": "Basic ${word('', 24)}"}`,
      '{"authorization": [redacted: authorization]}',
    ],
    [
      'a bearer token without its header',
      `sent bearer ${word('', 30)} to it`,
      'sent bearer [redacted: bearer-token] to it',
    ],
    ['a JSON web token', `got ${word('eyJ', 20)}.${word('eyJ', 30)}.${word('', 43)} back`, 'got [redacted: jwt] back'],
    ['an AWS key id', `using ${word('AKIA', 16, 'ABCD1234')} of the role`, 'using [redacted: aws-key] of the role'],
    ['an AWS secret', `AWS_SECRET_ACCESS_KEY=${word('', 40)}`, 'AWS_SECRET_ACCESS_KEY=[redacted: password]'],
    ['a GitHub token', `clone with ${word('ghp_', 36)}`, 'clone with [redacted: provider-token]'],
    ['a token of a model hub', `login ${word('hf_', 34)}`, 'login [redacted: provider-token]'],
    ['an API key of a model', `key ${word('sk-proj-', 40)}`, 'key [redacted: provider-token]'],
    ['a password', "password = 'hunter2 and more'", 'password = [redacted: password]'],
    [
      'a password in a printed dictionary',
      "{'db_password': 'x', 'lr': 0.1}",
      "{'db_password': [redacted: password], 'lr': 0.1}",
    ],
    [
      'a password in JSON within JSON',
      String.raw`{\"password\":\"abc\",\"lr\":1}`,
      String.raw`{\"password\":[redacted: password],\"lr\":1}`,
    ],
    [
      'an API key in the environment',
      `WANDB_API_KEY: ${word('', 40, '0123456789abcdef')}`,
      'WANDB_API_KEY: [redacted: password]',
    ],
    ['a flag', '+ train --hub-token abc --lr 0.1', '+ train --hub-token [redacted: flag] --lr 0.1'],
    ['a session token', `token=${word('', 20)} ok`, 'token=[redacted: token] ok'],
    [
      'credentials in a URL',
      'pull https://ada:pw@registry.example/x',
      'pull https://[redacted: url-credentials]@registry.example/x',
    ],
    [
      'a signed URL',
      `GET https://s3.example/a?X-Amz-Signature=${word('', 64)}&x=1`,
      'GET https://s3.example/a?X-Amz-Signature=[redacted: token]&x=1',
    ],
    ['a password with spaces', 'password="a b c" lr=1', 'password=[redacted: password] lr=1'],
    [
      'a password with a quote',
      String.raw`{"password": "a\"b c", "lr": 1}`,
      '{"password": [redacted: password], "lr": 1}',
    ],
    ['a password with the other quote', `secret='a "b" c' lr=1`, 'secret=[redacted: password] lr=1'],
    [
      'a password with a quote in JSON within JSON',
      String.raw`{\"password\":\"a\\\"b c\",\"lr\":1}`,
      String.raw`{\"password\":[redacted: password],\"lr\":1}`,
    ],
    ['a password whose quote is never closed', 'password="a b c', 'password=[redacted: password]'],
    ['a password with commas', 'f(password=a,b;c, lr=1)', 'f(password=[redacted: password], lr=1)'],
    ['a password before another value', 'f(password=ab,lr=1)', 'f(password=[redacted: password],lr=1)'],
    [
      'a password in the quotes of its argument',
      `["--db-password=a b c", "--lr=1"]`,
      `["--db-password=[redacted: password]", "--lr=1"]`,
    ],
    ['a password that is a URL', 'password=https://ada:pw@host/x', 'password=[redacted: password]'],
    ['a token with spaces', 'token="a b c d e 1" ok', 'token=[redacted: token] ok'],
    ['a token that begins with a number', 'token=123456-abc-def ok', 'token=[redacted: token] ok'],
    ['a flag with spaces', '--token "a b c" --lr 1', '--token [redacted: flag] --lr 1'],
    ['a flag in a list', '["--hub-token", "a b", "--lr"]', '["--hub-token", [redacted: flag], "--lr"]'],
    ['a bearer token of two words', 'Authorization: Bearer ab cd', 'Authorization: [redacted: authorization]'],
    [
      'a header in quotes',
      `curl -H "Authorization: Bearer ab cd" host`,
      `curl -H "Authorization: [redacted: authorization]" host`,
    ],
    [
      'a bearer token of two words without its header',
      `bearer ${word('', 20)} ${word('', 20)} ok`,
      'bearer [redacted: bearer-token] ok',
    ],
    ['a password with @ in a URL', 'pull https://ada:p@ss@host/x', 'pull https://[redacted: url-credentials]@host/x'],
    [
      'a password with a slash in a URL',
      'pull https://ada:p/w@host/x',
      'pull https://[redacted: url-credentials]@host/x',
    ],
    ['a password in code', 'password := "s3cret" // go', 'password := [redacted: password] // go'],
    ['a password in a hash', "password => 's3cret', lr => 1", 'password => [redacted: password], lr => 1'],
    ['a password that is compared', 'password == s3cret ok', 'password == [redacted: password] ok'],
    [
      'a password with a bracket',
      'f(password=abc)rest) and f(secret=a]b}c)',
      'f(password=[redacted: password]) and f(secret=[redacted: password])',
    ],
    [
      'a password in brackets',
      'f({password=x}) and [secret: y]',
      'f({password=[redacted: password]}) and [secret: [redacted: password]]',
    ],
    [
      'a password of an aligned dump',
      `db_password:${' '.repeat(12)}x`,
      `db_password:${' '.repeat(12)}[redacted: password]`,
    ],
    ['a list of passwords', `{"passwords": ["x", "y z"], "lr": 1}`, '{"passwords": [redacted: password], "lr": 1}'],
    [
      'a key of a storage account',
      'AccountName=a;AccountKey=Zm9v/w==;Suffix=b',
      'AccountName=a;AccountKey=[redacted: password];Suffix=b',
    ],
    ['cookies', '> Cookie: sid="a b"; lang=en', '> Cookie: [redacted: cookie]'],
    [
      'cookies in JSON',
      `{"Set-Cookie": "sid=a; Path=/", "status": 500}`,
      '{"Set-Cookie": [redacted: cookie], "status": 500}',
    ],
    ['a user of a server', '+ curl -u ada:pw https://host', '+ curl -u [redacted: user] https://host'],
    [
      'a user of a server in a list',
      `["curl", "--user", "ada:p w", "host"]`,
      '["curl", "--user", [redacted: user], "host"]',
    ],
    [
      'a password behind an escaped sign',
      String.raw`client_secret\u003d"x" ok`,
      String.raw`client_secret\u003d[redacted: password] ok`,
    ],
    ['a password in an encoded URL', 'q=password%3Dx%26lr%3D1 ok', 'q=password%3D[redacted: password] ok'],
    [
      'a password with slash and @ in a URL',
      'pull https://ada:p#s/w@rd@host',
      'pull https://[redacted: url-credentials]@host',
    ],
    [
      'a web token behind another word',
      `got x-${word('eyJ', 20)}.${word('eyJ', 30)}.${word('', 43)}`,
      'got x-[redacted: jwt]',
    ],
    ['a key in one line', `key: ${begin}\\n${word('', 60)}\\n${end}`, 'key: [redacted: private-key]'],
  ])('that holds %s', (_, line, expected) => {
    expect(redact(line, builtInPatterns)).toBe(expected);
  });
});

describe('a line of a trainer is left alone', () => {
  it.each([
    'step 1200 loss 2.31 tokens: 1048576 tokens_per_second=123456.7 num_tokens = 4096',
    'pad_token: <pad> eos_token="<|endoftext|>" bos_token_id=1 token=12345678',
    'tokenizer: meta/llama --tokenizer meta/llama --token-count 5',
    'commit 9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c',
    'NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out',
    'checkpoint at https://storage.example/run/12:30/step-100',
    'risk-adjusted disk-based task-0123456789abcdefghijkl',
    'Using bearer authentication',
    'python -u train.py --tokens:8 && docker run -u 1000:1000 --user 0:0 image',
    'pad_token == 12345678 num_token==12345678',
    'pip -u https://host/simple',
    'time_per_token=12.345ms/step num_token=4096.5k',
    'npm http://localhost:4873/@scope/pkg and https://registry.example/@scope/pkg',
    '{"url":"https://host/a","mail":"ada@example.org"}',
  ])('%s', (line) => {
    expect(redact(line, builtInPatterns)).toBe(line);
  });
});

describe('a log', () => {
  it('of ends of keys alone is searched in a time that grows with its length only', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) =>
      index % 2 === 0 ? `${end} ${word('', 30)}` : (keyLines[0] ?? ''),
    );
    expect(redactLines(lines, builtInPatterns).redacted).toBeGreaterThanOrEqual(19_999);
    await setImmediate();
  });

  it('loses a private key of many lines, and nothing around it', () => {
    const { lines, redacted } = redactLines(['before', begin, ...keyLines, end, 'after'], builtInPatterns);
    expect(lines.filter((line) => !line.startsWith('[redacted'))).toEqual(['before', 'after']);
    expect(redacted).toBe(5);
  });

  it.each([
    [
      'its beginning',
      ['before the key, which is odd', ...keyLines, end, 'after'],
      ['before the key, which is odd', 'after'],
    ],
    ['its end', ['before', begin, ...keyLines], ['before']],
    [
      'its end, with other lines behind it',
      ['before', begin, ...keyLines, 'loss 2.3 at step 4'],
      ['before', 'loss 2.3 at step 4'],
    ],
  ])('loses a key that lacks %s', (_, log, left) => {
    expect(redactLines(log, builtInPatterns).lines.filter((line) => !line.startsWith('[redacted'))).toEqual(left);
  });

  it('keeps what follows a mention of a key', () => {
    const log = [`expected ${begin} in the file`, 'and found nothing there', 'good bye'];
    expect(redactLines(log, builtInPatterns).lines.slice(1)).toEqual(log.slice(1));
  });

  it('counts lines, not matches', () => {
    expect(redactLines(['password=a password=b', 'fine', 'secret: c'], builtInPatterns).redacted).toBe(2);
  });

  it('cuts lines that are too long to be searched, and says so', () => {
    const found = redactLines(['x'.repeat(100_000)], builtInPatterns);
    expect(found.cut).toBe(true);
    expect(found.lines[0]?.length).toBeLessThan(20_000);
  });

  it('is searched in a time that grows with its length only, also for what begins again and again', async () => {
    const line = '-eyJ'.repeat(4096);
    const base64 = `${'A'.repeat(16_000)}!${'A'.repeat(30)}`;
    const log = [...Array.from({ length: 200 }, () => line), ...Array.from({ length: 500 }, () => base64), end];
    // The longest key that is recognised has this many lines.
    expect(redactLines(log, builtInPatterns).redacted).toBe(150);
    // Yields, so that Jest can enforce the timeout of the test.
    await setImmediate();
  });

  it.each([
    ['quotes behind its mark', 200, Array.from({ length: 200 }, () => `${begin}${"'".repeat(16_000)}<`)],
    // The last of them may continue for as many lines as a key has.
    [
      'lines that each begin one',
      20_150,
      [...Array.from({ length: 20_000 }, () => begin), ...Array.from({ length: 300 }, () => 'x'.repeat(350))],
    ],
  ])('is searched in a time that grows with its length only, also where a key has many %s', async (_, hidden, log) => {
    expect(redactLines(log, builtInPatterns).redacted).toBe(hidden);
    // Yields, so that Jest can enforce the timeout of the test.
    await setImmediate();
  });

  it('is searched in a time that grows with its length only', () => {
    const starts = [
      '-----BEGIN ',
      'https://',
      'a://b:c',
      'a'.repeat(50),
      '--',
      '--token "',
      'eyJ',
      'password"   ',
      'password=\\"',
      'token=',
      'bearer ',
      '\\\\"',
      'a,',
      'password=(',
      'password=)',
      'password :=',
      'cookie ',
      ' -u a',
      'eyJaaaaaaaa.',
      'login x password ',
      '"name":"x_token",',
      '"a_token",',
      '"username":"a",',
      '"auth":"',
      'pass=',
      '<password>',
      'a(',
      'password=a(',
      'token: Some(',
      'signature=',
      'api_key ',
      '?key=',
      'hooks.slack.com/services/',
      'docker login -u a ',
      '\u001b]8;;',
      '\u001b[1;',
      'Secret(',
      'curl -u a ',
      'storage key=',
      'api key: a',
      'Basic a/',
    ];
    const hostile = starts.flatMap((piece) =>
      ['', 'password="', '"password='].map((before) => before + piece.repeat(5000)),
    );
    expect(redactLines(hostile, builtInPatterns).lines).toHaveLength(hostile.length);
  });
});

describe('patterns of an operator', () => {
  it('come on top, by number, and keep what their group says', () => {
    const patterns = redactionPatterns(['emp-\\d{6}', '(?<kept>customer )\\w+']);
    expect(redact('emp-123456 for customer acme', patterns)).toBe(
      '[redacted: setting-1] for customer [redacted: setting-2]',
    );
  });

  it.each(['(', 'x*', ''])('are an error of the settings when they cannot be used: "%s"', (pattern) => {
    const read = workerSettings.safeParse({ recovery: { evidence: { redact: ['fine', pattern] } } });
    expect(read.error?.issues).toMatchObject([{ path: ['recovery', 'evidence', 'redact', 1] }]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { faultLimits } from '../../contract/faults/faults.ts';
import { plainLine } from '../../contract/plain-line.schema.ts';
import { reportBatch, reportedFault } from '../../contract/wire/reports.schema.ts';
import { oneLine } from '../../contract/text.ts';

const fault = (more: object = {}) => ({
  id: 'kernel/6f9d2c1e/7',
  source: 'kernel',
  code: 'xid/79',
  message: 'GPU has fallen off the bus.',
  seenAt: '2026-11-21T07:00:00.000Z',
  device: '0000:5d:00',
  kernel: { bootId: '6f9d2c1e', sequence: 7 },
  ...more,
});
const long = `2026-11-21T07:00:00.${'1'.repeat(900_000)}Z`;

describe('a fault that an agent reports', () => {
  it.each(['xid/79', 'sxid/20034', 'kernel/gpu-off-bus'])('may have the code %s', (code) => {
    expect(reportedFault.safeParse(fault({ code })).success).toBe(true);
  });

  it.each([
    'node/not-ready',
    'operator/recover',
    'progress/hang',
    'preflight/gpu-check',
    'pod/evicted',
    'xid/',
    'xid/7 9',
    `xid/${'7'.repeat(41)}`,
    'xid/79\n',
  ])('may not have the code %j', (code) => {
    expect(reportedFault.safeParse(fault({ code })).success).toBe(false);
  });

  it.each<[string, object]>([
    ['a time of 900,000 digits', { seenAt: long }],
    ['another source', { source: 'node', code: 'node/not-ready' }],
    ['a device that is a text', { device: 'a b' }],
    ['a boot that moves the cursor', { kernel: { bootId: '\u001b[2J', sequence: 1 } }],
    ['a node that is no name', { node: 'gpu-1/../gpu-2' }],
    ['a pod', { pod: { name: 'llm-0', uid: 'u', createdAt: '2026-11-21T07:00:00Z' } }],
    ['a hold', { quarantine: { state: 'released', because: 'so' } }],
  ])('may not have %s', (_what, more) => {
    expect(reportedFault.safeParse(fault(more)).success).toBe(false);
  });

  it('is at most some kilobytes, whatever it says', () => {
    const text = '\u20AC'.repeat(600);
    const cut = {
      message: text.slice(0, 500),
      evidence: Array.from({ length: faultLimits.evidenceLines }, () => text.slice(0, 500)),
    };
    expect(reportedFault.safeParse(fault(cut)).success).toBe(true);
    expect(reportedFault.safeParse(fault({ ...cut, message: text })).success).toBe(false);
    expect(Buffer.byteLength(JSON.stringify(fault(cut)))).toBeLessThan(10_000);
  });
});

describe('a batch of reports', () => {
  const batch = (more: object) => ({
    schema: 1,
    node: 'gpu-1',
    bootId: 'boot',
    stream: 's',
    reports: [],
    gaps: [],
    ...more,
  });

  it.each<[string, object]>([
    ['the time of a gap', { gaps: [{ seenAt: long, what: 'spool-full', lost: 1 }] }],
    ['its boot', { bootId: 'a\nb' }],
    ['its stream', { stream: '\u202Ex' }],
    ['its node', { node: 'GPU 1' }],
  ])('is bounded in %s', (_what, more) => {
    expect(reportBatch.safeParse(batch({})).success).toBe(true);
    expect(reportBatch.safeParse(batch(more)).success).toBe(false);
  });
});

describe('a plain line', () => {
  it('is what an agent makes of any text, so that nothing honest is refused', () => {
    const line = plainLine(100);
    for (let code = 0; code <= 0xffff; code++) {
      const said = oneLine(`a${String.fromCharCode(code)}b`, 100);
      if (!line.safeParse(said).success) throw new Error(`U+${code.toString(16)} comes through`);
    }
  });
});

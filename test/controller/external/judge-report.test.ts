import { describe, expect, it } from '@jest/globals';
import type { ExternalReport } from '../../../contract/wire/external.ts';
import { faultLimits } from '../../../contract/faults/faults.ts';
import { traitsOf } from '../../../contract/faults/sources.ts';
import { judgeReport, type ReportFacts, type SenderRules } from '../../../controller/external/judge-report.ts';
import { bounded } from '../../../controller/outbox/messages.ts';
import { decideNode } from '../../../policy/node/node.ts';
import { settings } from '../../support/builders.ts';
import { takeFaults } from '../../../workflows/faults.ts';

const now = Date.parse('2026-11-22T10:00:00Z');
const facts: ReportFacts = { now, freshMs: 600_000, hasNode: true };
const rules: SenderRules = { name: 'prometheus', codes: ['*'], actions: ['contact-support'], actionOf: {} };
const report: ExternalReport = {
  source: 'alertmanager',
  node: 'gpu-1',
  code: 'GpuLost',
  device: '0000:5d:00',
  action: 'contact-support',
  state: 'occur',
  at: '2026-11-22T09:59:00Z',
  text: 'GPU 3 is gone',
};

const judged = (more: Partial<ExternalReport> = {}, by: Partial<SenderRules> = {}, when: Partial<ReportFacts> = {}) =>
  judgeReport({ ...report, ...more }, { ...rules, ...by }, { ...facts, ...when });
function faultOf(...args: Parameters<typeof judged>) {
  const verdict = judged(...args);
  if (!('fault' in verdict)) throw new Error(verdict.because);
  return verdict.fault;
}

describe('a report of another program', () => {
  it('is a fault of its node that names who said it', () => {
    expect(faultOf()).toEqual({
      id: expect.stringMatching(/^external\/gpu-1\/[0-9a-f]{24}$/),
      source: 'external',
      code: 'external/GpuLost',
      message: 'prometheus (alertmanager): GPU 3 is gone',
      seenAt: '2026-11-22T09:59:00.000Z',
      node: 'gpu-1',
      device: '0000:5d:00',
      action: 'contact-support',
    });
  });

  it('is a fault that the workflow of a node takes, whatever its text and the length of its names', () => {
    const long = { node: 'n'.repeat(250), code: 'c'.repeat(48), device: 'd'.repeat(64) };
    const fault = bounded(faultOf({ ...long, text: `\u001B[2J\u202E${'x'.repeat(10_000)}` }));
    expect(takeFaults({ faults: [fault] })).toMatchObject({ faults: [{ id: fault.id }], dropped: 0 });
    expect(fault.message).toMatch(/^prometheus \(alertmanager\): x+$/);
    expect(fault.message.length).toBeLessThanOrEqual(faultLimits.message);
    expect(traitsOf('external').codes.test(fault.code)).toBe(true);
  });

  it('keeps its id when it is repeated, and has another for another node, device, code or sender', () => {
    const ids = [
      faultOf(),
      faultOf({ text: 'in other words', source: 'another-exporter' }),
      faultOf({}, {}, { now: now + 300_000 }),
    ].map(({ id }) => id);
    const others = [
      faultOf({ node: 'gpu-2' }),
      faultOf({ device: '0000:5e:00' }),
      faultOf({ code: 'GpuSlow' }),
      faultOf({}, { name: 'another' }),
      faultOf({ at: '2026-11-22T09:49:59Z' }, {}, { freshMs: 3_600_000 }),
    ].map(({ id }) => id);
    expect(new Set(ids).size).toBe(1);
    expect(new Set([...ids, ...others]).size).toBe(1 + others.length);
  });

  it('is history when it began more than ten minutes ago', () => {
    expect(judged({ at: '2026-11-22T09:49:59Z' })).toEqual({
      kind: 'history',
      because: 'it began at 2026-11-22T09:49:59Z',
    });
    expect(judged({ at: '2026-11-22T09:50:00Z' }).kind).toBe('fault');
  });

  it('that is dated into the future counts from now', () => {
    expect(faultOf({ at: '2026-11-23T10:00:00Z' }).seenAt).toBe('2026-11-22T10:00:00.000Z');
  });

  it('without an end is known by its own time', () => {
    const first = faultOf({ state: 'once' });
    const second = faultOf({ state: 'once', at: '2026-11-22T09:59:01Z' });
    expect(first.id).not.toBe(second.id);
    expect(faultOf({ state: 'once' }).id).toBe(first.id);
  });
});

describe('a sender', () => {
  it.each([
    [['GpuLost'], 'fault'],
    [['Gpu*'], 'fault'],
    [['Gpu'], 'unusable'],
    [['Disk*', 'gpulost'], 'unusable'],
    [[], 'unusable'],
  ])('that may report %j has its report taken as %s', (codes, kind) => {
    expect(judged({}, { codes }).kind).toBe(kind);
  });

  it('that may not ask for an action only warns, and the message says so', () => {
    const fault = faultOf({ action: 'reboot' });
    expect(fault).not.toHaveProperty('action');
    expect(fault.message).toBe('prometheus (alertmanager): GPU 3 is gone (asks for reboot, which it may not)');
    const decision = decideNode({ faults: [fault] }, settings({ mode: 'act' }));
    expect(decision).toMatchObject({
      kind: 'warn',
      remedy: 'kcover node quarantine gpu-1 --reason "external/GpuLost"',
    });
  });

  it('has the action of its settings for a code, whatever it asks for', () => {
    expect(faultOf({ action: 'ignore' }, { actions: [], actionOf: { GpuLost: 'reset-gpu' } }).action).toBe('reset-gpu');
    expect(faultOf({ code: 'constructor', action: 'reboot' }, { actions: [] })).not.toHaveProperty('action');
  });

  it('cannot name a node that does not exist', () => {
    expect(judged({}, {}, { hasNode: false })).toEqual({ kind: 'unusable', because: 'there is no node gpu-1' });
  });
});

describe('a report that a fault is over', () => {
  it('is a record that no setting for the code of the fault acts on, however old it is', () => {
    const fault = faultOf({ state: 'recover', at: '2025-01-01T00:00:00Z' });
    expect(fault).toMatchObject({
      code: 'external/recovered',
      action: 'ignore',
      message: 'prometheus (alertmanager): external/GpuLost (0000:5d:00) is over: GPU 3 is gone',
    });
    const codes = { 'external/GpuLost': 'quarantine' } as const;
    const all = settings({ mode: 'act', faults: { codes } });
    expect(decideNode({ faults: [fault] }, all).kind).toBe('record');
    expect(decideNode({ faults: [faultOf()] }, all).kind).toBe('quarantine');
  });
});

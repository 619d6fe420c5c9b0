import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { faultSources } from '../../../contract/faults/sources.ts';
import { isScriptName, readScript } from '../../../faults/tools/script.ts';

const faulty = (output: string, name = 'fan-speed.sh') => readScript({ name, exitCode: 1, output });
const because = expect.stringContaining('fan-speed.sh');

describe("a site's own check", () => {
  it('finds nothing with exit code 0, whatever it prints', () => {
    expect(readScript({ name: 'fan', exitCode: 0, output: '{"code":"fan"}' })).toEqual({
      faults: [],
      unobservable: [],
    });
  });

  it('finds a fault with exit code 1, which only warns without an action', () => {
    expect(faulty('fan 3 stands still\n').faults).toEqual([
      { source: 'script', code: 'script/fan-speed', message: 'fan-speed.sh: fan 3 stands still', because },
    ]);
    expect(faulty('').faults).toMatchObject([{ message: 'fan-speed.sh: it says faulty' }]);
  });

  it('says more about it by JSON, also about several faults', () => {
    const text = '{"code":"fan","device":"0000:5d:00","message":"fan 3","action":"contact-support"}';
    expect(faulty(text).faults).toMatchObject([
      { code: 'script/fan', device: '0000:5d:00', action: 'contact-support', message: 'fan-speed.sh: fan 3' },
    ]);
    expect(faulty(`[${text},{"device":"sda"}]`).faults.map(({ code, device }) => [code, device])).toEqual([
      ['script/fan', '0000:5d:00'],
      ['script/fan-speed', 'sda'],
    ]);
  });

  it.each([
    '{"code":"xid/79"}',
    '{"code":""}',
    '{"action":"format-disk"}',
    '{"device":"a b"}',
    '{"device":7}',
    '{"message":[]}',
    '{"unknown":1}',
    '[]',
    '[1]',
    '{',
    `[${Array(17).fill('{}').join()}]`,
    '{"__proto__":{"action":"reboot"}}',
  ])('is faulty without a device and an action where its answer %s cannot be used', (text) => {
    expect(faulty(text)).toEqual({
      faults: [
        { source: 'script', code: 'script/fan-speed', message: expect.stringContaining('cannot be used'), because },
      ],
      unobservable: [],
    });
  });

  it.each([2, 3, 127, 255])('is unknown with exit code %d', (exitCode) => {
    expect(readScript({ name: 'fan', exitCode, output: 'no sensor' })).toMatchObject({
      faults: [],
      unobservable: [{ what: 'the check fan', because: `it ended with exit code ${exitCode}: no sensor` }],
    });
  });

  it('prints no secret and no control character into a message', () => {
    const [fault] = faulty(
      'curl -H "Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789" \u001B[31mfailed\u202E',
    ).faults;
    expect(fault?.message).not.toMatch(/abcdefghijkl|\p{Cc}|\u202E/u);
  });

  it('has a code of its source and a short message, whatever its name and its output', () => {
    fc.assert(
      fc.property(fc.string(), fc.oneof(fc.string(), fc.json()), fc.integer(), (name, output, exitCode) => {
        fc.pre(isScriptName(name));
        for (const { code, message } of readScript({ name, exitCode, output }).faults) {
          expect(code).toMatch(faultSources.script.codes);
          expect(message.length).toBeLessThanOrEqual(500);
        }
      }),
    );
  });
});

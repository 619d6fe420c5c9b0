import { describe, expect, it } from '@jest/globals';
import { Findings } from '../../../cli/program/exit.ts';
import { parseSettings } from '../../../cli/settings/file.ts';

const settingsOf = (text: string) => parseSettings('agent', 'config.yaml', text).settings;

describe("the settings file of the reference project's agent", () => {
  it('is read as settings of ours', () => {
    const { metax, clock, links } = settingsOf(
      `vendor: 1
interval: 9
metaX: { hcaIDs: [mlx5_0, mlx5_4], day2CheckHour: 0, gpuNum: 16, temperature: 70, eccMaxCount: 0, ntpMaxOffsetMillis: 5 }
`,
    );
    expect(metax).toMatchObject({ gpus: 16, temperature: 70, eccErrors: 0 });
    expect(clock.maxOffset).toBe(5);
    expect(links.devices).toEqual(['mlx5_0', 'mlx5_4']);
  });

  it('has the defaults of that agent where it says nothing, or a number out of its range', () => {
    const defaults = { gpus: 8, temperature: 85, eccErrors: 64 };
    expect(settingsOf('metaX: {}\n').metax).toMatchObject(defaults);
    const broken = settingsOf(
      'vendor: 0\nmetaX: { gpuNum: -1, temperature: 0, eccMaxCount: -1, ntpMaxOffsetMillis: 0 }\n',
    );
    expect(broken.metax).toMatchObject(defaults);
    expect(broken.clock.maxOffset).toBe(10);
    expect(settingsOf('metaX: { gpuNum: 0 }\n').metax.gpus).toBe(0);
  });

  it.each(['vendor: 2\n', 'vendor: nvidia\nmetaX: { gpuNum: 16 }\n'])(
    'of an NVIDIA node gives our defaults, because that agent checked nothing there: %j',
    (text) => {
      expect(settingsOf(text)).toEqual(settingsOf(''));
    },
  );

  it.each([
    ['vendor: 3\n', 'vendor must be 1 or metax, 2 or nvidia'],
    ['vendor: []\n', 'vendor must be 1 or metax, 2 or nvidia'],
    ['vendor: 1\nmetaX: { gpuNum: many }\n', 'metaX.gpuNum must be a whole number'],
    ['vendor: 1\nmetaX: { gpus: 8 }\n', 'metaX.gpus is not a setting'],
    ['vendor: 1\nheartbeat: 10s\n', 'heartbeat is not a setting'],
  ])('is refused with the line where it cannot be read: %j', (text, report) => {
    expect(() => settingsOf(text)).toThrow(Findings);
    try {
      settingsOf(text);
    } catch (error) {
      expect(error).toMatchObject({ report: expect.stringContaining(report) });
      expect(error).toMatchObject({ report: expect.stringMatching(/config\.yaml:\d:\d/) });
    }
  });

  it('is no file of a controller or a worker', () => {
    expect(() => parseSettings('worker', 'config.yaml', 'vendor: 1\n')).toThrow(Findings);
  });
});

/** What a person reports about a node, from the command line. */

import { KcoverError } from '../../contract/errors.ts';
import { type Action, actions } from '../../contract/faults/faults.ts';
import { type ExternalReport, externalLimits } from '../../contract/wire/external.ts';
import type { Option, Typed } from '../program/command.ts';

export const faultOptions = {
  code: {
    flags: '--code <code>',
    describe: 'What is wrong, in letters, digits, dots, underscores and dashes, such as fan-loud',
    required: true,
  },
  device: { flags: '--device <device>', describe: 'The device: a PCI address such as 0000:5d:00, or its name' },
} as const satisfies Record<string, Option>;

export interface PersonsReport {
  readonly typed: Typed;
  readonly user: string;
  readonly state: ExternalReport['state'];
  /** UTC, ms. */
  readonly now: number;
}

export function personsReport({ typed, user, state, now }: PersonsReport): ExternalReport {
  const code = typed.value('code').replace(/^external\//, '');
  if (!/^[\w.-]+$/.test(code) || code.length > externalLimits.code)
    throw new KcoverError('usage', '--code has letters, digits, dots, underscores and dashes, at most 48', {
      remedy: '--code fan-loud',
    });
  const device = typed.option('device');
  if (device !== undefined && (!/^[\w.:-]+$/.test(device) || device.length > externalLimits.device))
    throw new KcoverError('usage', '--device has letters, digits, dots, colons, underscores and dashes, at most 64', {
      remedy: '--device 0000:5d:00',
    });
  const action = actions.find((each): each is Action => each === typed.option('action'));
  return {
    source: user,
    node: typed.argument('node'),
    code,
    ...(device !== undefined && { device }),
    ...(action !== undefined && { action }),
    state,
    at: new Date(now).toISOString(),
    text: typed.value('reason'),
  };
}

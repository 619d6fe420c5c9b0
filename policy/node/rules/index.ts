/** The rules that apply everywhere, and those of a site, which replace them by name. */

import type { WorkerSettings } from '../../../contract/settings/settings.schema.ts';
import type { Rule } from './rule.ts';

const [second, minute, hour] = [1000, 60_000, 3_600_000] as const;
const day = 24 * hour;

const sentinel = 'NVSentinel, health events analyzer';
const catalogue = "NVIDIA's Xid catalogue";

/** Actions that take a GPU or its node out of service. */
const fatal = ['reset-gpu', 'reboot', 'contact-support'] as const;

export const builtInRules: readonly Rule[] = [
  {
    name: 'xid-13-same-place',
    kind: 'repeat',
    of: { codes: ['xid/13'] },
    by: 'place',
    count: 2,
    within: day,
    gap: 15 * second,
    alone: true,
    // A program can cause it at will, so it may not take a node out of service.
    effects: ['warn'],
    because: 'Xid 13 returned at the same GPC and TPC and nowhere else: run the extended diagnostics',
    source: `${catalogue}; ${sentinel}`,
  },
  {
    name: 'xid-31-same-gpu',
    kind: 'repeat',
    of: { codes: ['xid/31'] },
    by: 'device',
    count: 2,
    within: day,
    gap: 3 * minute,
    alone: true,
    // A program can cause it at will, so it may not take a node out of service.
    effects: ['warn'],
    because: 'Xid 31 returned on the same GPU and on no other: run the extended diagnostics',
    source: `${catalogue}; ${sentinel}`,
  },
  {
    name: 'fatal-same-gpu',
    kind: 'repeat',
    of: { codes: ['xid/*', 'kernel/gpu-off-bus', 'kernel/nvlink'], actions: fatal },
    by: 'device',
    count: 5,
    within: day,
    gap: 3 * minute,
    effects: ['quarantine'],
    because: 'the same GPU has failed five times in a day: contact support',
    source: sentinel,
  },
  {
    name: 'xid-94-same-gpu',
    kind: 'repeat',
    of: { codes: ['xid/94'] },
    by: 'device',
    count: 3,
    within: day,
    gap: 3 * minute,
    effects: ['ask'],
    because: 'contained memory errors return on the same GPU: reset it, so that its rows are remapped',
    source: `${catalogue}, which leaves the number open`,
  },
  {
    name: 'xid-74-same-link',
    kind: 'repeat',
    of: { codes: ['xid/74'] },
    by: 'place',
    count: 3,
    within: day,
    gap: 15 * second,
    effects: ['quarantine'],
    because: 'the same NVLink has failed more than twice in a day: contact support',
    source: catalogue,
  },
  {
    name: 'xid-92-lasts',
    kind: 'lasting',
    of: { codes: ['xid/92'] },
    by: 'device',
    atLeast: hour,
    gap: 10 * minute,
    effects: ['ask'],
    because: 'the rate of corrected memory errors has been high for an hour: run diagnostics',
    source: `${catalogue}, which leaves the duration open`,
  },
  {
    name: 'link-flaps',
    kind: 'repeat',
    of: { codes: ['link/flapping'] },
    by: 'device',
    count: 3,
    within: day,
    gap: minute,
    effects: ['ask'],
    because: 'the link keeps failing for moments: check its cable and transceiver',
    source: 'kcover',
  },
  {
    name: 'imex-domain',
    kind: 'repeat',
    of: { codes: ['xid/154'], actions: ['restart-app'] },
    by: 'device',
    count: 1,
    within: minute,
    gap: 15 * second,
    effects: ['restart-job'],
    because: 'its IMEX domain must be set up again, which starts with its jobs; no GPU is broken',
    source: 'the open kernel modules, Xid 154 number 5',
  },
  {
    name: 'xid-154-supersedes',
    kind: 'cancel',
    of: { codes: ['xid/154'], actions: ['ignore', 'restart-app'] },
    cancels: ['xid/*', 'kernel/gpu-off-bus', 'kernel/nvlink'],
    because: 'the driver has since announced that this GPU needs no recovery of its own',
    source: `${sentinel}; ${catalogue}`,
  },
  {
    name: 'xid-162-cancels-163',
    kind: 'cancel',
    of: { codes: ['xid/162'] },
    cancels: ['xid/163'],
    because: 'power smoothing works again',
    source: sentinel,
  },
  {
    name: 'xid-45-follows',
    kind: 'consequence',
    of: { codes: ['xid/45'] },
    causes: { codes: ['xid/*', 'sxid/*'] },
    on: 'device',
    within: minute,
    because: 'channels are torn down after another error',
    source: catalogue,
  },
  {
    name: 'xid-48-details',
    kind: 'consequence',
    of: { codes: ['xid/171', 'xid/172', 'xid/63', 'xid/64'] },
    causes: { codes: ['xid/48'] },
    on: 'device',
    within: minute,
    because: 'it belongs to the uncorrectable memory error of Xid 48: drain the node, then reset the GPU',
    source: catalogue,
  },
  {
    name: 'xid-74-of-peers',
    kind: 'consequence',
    of: { codes: ['xid/74'] },
    causes: { codes: ['xid/79', 'kernel/gpu-off-bus', 'xid/48', 'xid/95', 'xid/119', 'xid/120'] },
    on: 'other-device',
    within: minute,
    because: 'the GPU at the other end of its NVLink failed',
    source: 'kcover; the catalogue sends Xid 74 to both ends',
  },
  {
    name: 'xid-74-of-switch',
    kind: 'consequence',
    of: { codes: ['xid/74'] },
    causes: { codes: ['sxid/*'], actions: fatal },
    on: 'node',
    within: minute,
    because: 'the switch at the other end of its NVLink failed',
    source: 'NVIDIA Fabric Manager guide',
  },
];

/** Rules in force: a rule of the settings replaces the built-in one of its name; without effects it switches that off. */
export function rulesOf({ rules }: Pick<WorkerSettings['faults'], 'rules'>): readonly Rule[] {
  if (rules.length === 0) return builtInRules;
  const own = rules.map(({ codes, actions, kind, ...rule }): Rule => {
    const named = { ...rule, of: { codes, ...(actions && { actions }) }, source: 'the settings of this site' };
    if (kind === 'lasting')
      return { ...named, kind, by: rule.by, atLeast: rule.within, gap: rule.gap, effects: rule.effects };
    const { alone, ...counted } = named;
    return { ...counted, kind, ...(alone && { alone }) };
  });
  const replaced = new Set(own.map(({ name }) => name));
  return [...builtInRules.filter(({ name }) => !replaced.has(name)), ...own];
}

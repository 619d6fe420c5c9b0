/** Faults of chips in the DeviceInfo of Ascend's device plugin. */

import { faultLimits } from '../../contract/faults/faults.ts';
import { oneLine } from '../../contract/text.ts';
import type { AscendFault } from './fault.ts';
import { codesIn, type Fields, fieldsOf, parsedJson, textOf } from './fields.ts';
import { decideLevel } from './levels.ts';

/** Bounds: a node has up to 16 chips, of one or two kinds. */
const most = { lists: 16, entries: 64, codes: 64 } as const;

/** One for each code of each chip. A chip that is only listed as unhealthy, by an early plugin, has a fault without a code. */
export function chipFaults(node: string, { DeviceList }: Fields): readonly AscendFault[] {
  const lists = Object.entries(fieldsOf(DeviceList));
  const faults = lists
    .filter(([name]) => name.endsWith('-Fault'))
    .slice(0, most.lists)
    .flatMap(([, text]) => entriesOf(text))
    .slice(0, most.entries)
    .flatMap((entry) => faultsOf(node, entry));
  const known = new Set(faults.map(({ finding }) => finding.device));
  const unexplained = lists
    .filter(([name]) => /-(?:Network)?Unhealthy$/.test(name.slice(-20)))
    .slice(0, most.lists)
    .flatMap(([name, text]) => chipsIn(text).map((chip) => ({ chip, isNetwork: name.endsWith('-NetworkUnhealthy') })))
    .filter(({ chip }) => !known.has(chip))
    .map(({ chip, isNetwork }) => unexplainedFault(node, chip, isNetwork));
  return [...faults, ...unexplained];
}

const entriesOf = (text: unknown): readonly Fields[] => {
  const list = typeof text === 'string' ? parsedJson(text) : undefined;
  return Array.isArray(list) ? list.slice(0, most.entries).map(fieldsOf) : [];
};

const chipsIn = (text: unknown): readonly string[] =>
  textOf(text, 4000)
    .split(',')
    .slice(0, most.entries)
    .flatMap((chip) => (/^[\w-]{1,40}$/.test(chip.trim()) ? [chip.trim()] : []));

function faultsOf(node: string, entry: Fields): readonly AscendFault[] {
  const levels = levelsOf(entry);
  const type = textOf(entry['fault_type'], 40);
  const chip = oneLine(textOf(entry['npu_name']), 64);
  // The twins `fault_level` and `large_model_fault_level` say the same. It is that of the worst code.
  const handling = textOf(entry['fault_handling'], 40);
  return codesIn(textOf(entry['fault_code'], 2000)).map((code): AscendFault => {
    const own = fieldsOf(levels.get(code));
    const level = oneLine(textOf(own['fault_level'], 40) || handling, 40);
    const { because, ...verdict } = decideLevel(level);
    // Volcano does not move work for the network of a chip alone.
    const isNetwork = type === 'CardNetworkUnhealthy';
    const { action: _action, ...noAction } = verdict;
    const since = sinceOf(own);
    const finding = {
      source: 'device-plugin',
      code: `ascend/${code}`,
      node,
      ...(chip !== '' && { device: chip }),
      ...(isNetwork ? noAction : verdict),
      message: oneLine(
        `${type} ${code} of ${chip || 'the node'}, level ${level}${since === undefined ? '' : ` since ${since}`}`,
        faultLimits.message,
      ),
      because: isNetwork ? 'the network of a chip alone moves no work; nothing is done by default' : because,
    } as const;
    return { finding, ...(since !== undefined && { since }) };
  });
}

/** The keys are the codes as they are written. */
const levelsOf = (entry: Fields): ReadonlyMap<string, unknown> =>
  new Map(
    Object.entries(fieldsOf(entry['fault_time_and_level_map']))
      .slice(0, most.codes)
      .map(([code, level]) => [code.trim().replace(/^0x/i, ''), level]),
  );

/** End of the year 9999, ms: later times have no four digits for their year. */
const mostTime = 253_402_300_799_999;

/** Milliseconds for chips, seconds for public faults. */
function sinceOf({ fault_time: at }: Fields): string | undefined {
  if (typeof at !== 'number' || !(at > 0) || at > mostTime) return undefined;
  return new Date(at < 1e11 ? at * 1000 : at).toISOString();
}

const unexplainedFault = (node: string, chip: string, isNetwork: boolean): AscendFault => ({
  finding: {
    source: 'device-plugin',
    code: isNetwork ? 'ascend/card-network-unhealthy' : 'ascend/card-unhealthy',
    node,
    device: chip,
    ...(!isNetwork && { action: 'reset-gpu' as const }),
    message: `the device plugin lists ${chip} as ${isNetwork ? 'network unhealthy' : 'unhealthy'}, without a code`,
    because: isNetwork
      ? 'the network of a chip alone moves no work; nothing is done by default'
      : 'the plugin withdraws a chip that it takes for broken; kcover says reset-gpu',
  },
});

/** Reads `hccn_tool -i N -link -g` and `-link_stat -g`, the links of Ascend NPUs. Source: the reader of Ascend's device plugin. */

import type { Findings } from '../finding.ts';
import { linesOf, nothingRead, together, toolFinding, type ToolReading } from './reading.ts';

/** `[device 0]` or `[devid 0]` before a line; outputs of one card have no such mark. */
const cardOf = (line: string): string => /^\[(?:device|devid) (\d{1,3})\]/.exec(line)?.[1] ?? '';

/** Never throws. */
export function readHccn(text: string): ToolReading {
  const cards = new Map<string, string>();
  let counted = 0;
  for (const line of linesOf(text).map((one) => one.trim())) {
    const [, state] = /^(?:\[[^\]]{1,20}\] ?)?link status ?: ?([A-Za-z]{1,20})$/i.exec(line) ?? [];
    if (state !== undefined) cards.set(cardOf(line) || String(cards.size), state.toUpperCase());
    // The counts say nothing without an earlier look.
    if (/^(?:\[[^\]]{1,20}\] ?)?link (?:up|down) count ?: {0,8}\d{1,10}$/i.test(line)) counted += 1;
  }
  if (cards.size === 0 && counted === 0) return nothingRead('link', 'hccn_tool', 'the output has no link status');
  return { devices: cards.size, ...together([...cards].map(judgeCard)) };
}

function judgeCard([card, state]: readonly [string, string]): Findings {
  const device = `npu-${card}`;
  if (state === 'UP') return { faults: [], unobservable: [] };
  if (state !== 'DOWN') {
    const because = `hccn_tool prints the link status ${state}`;
    return { faults: [], unobservable: [{ source: 'link', what: `link of ${device}`, because }] };
  }
  const fault = toolFinding({
    source: 'link',
    code: 'link/down',
    device,
    oneLook: true,
    message: `hccn_tool: the link of ${device} is DOWN`,
    because: 'The network port of the NPU has no link. One look cannot say whether it has a cable.',
  });
  return { faults: [fault], unobservable: [] };
}

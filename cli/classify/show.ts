/** Prints findings: what each means, and the response that the settings give. */

import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { type Finding, type Findings, levelOf, type Unobserved } from '../../faults/finding.ts';
import { responseTo } from '../../policy/node/node.ts';
import type { CommandOutput } from '../program/command.ts';
import { table } from '../program/output.ts';

export function showFindings({ faults, unobservable }: Findings, settings: WorkerSettings): CommandOutput {
  const rows = faults.map((finding) => shown(finding, settings));
  return {
    data: { faults: rows, unobservable },
    text: [
      rows.length === 0
        ? 'no fault'
        : table(
            ['code', 'node', 'device', 'level', 'response', 'because'],
            rows.map(({ code, node = '', device = '', level, response, because }) => [
              code,
              node,
              device,
              level,
              response,
              because,
            ]),
          ),
      ...unobservable.map(sentenceOf),
    ].join('\n'),
  };
}

const shown = (finding: Finding, settings: WorkerSettings) => {
  const { source, code, node, device, message, because } = finding;
  return {
    source,
    code,
    ...(node !== undefined && { node }),
    ...(device !== undefined && { device }),
    level: levelOf(finding),
    response: responseTo(finding, settings),
    message,
    because,
  };
};

const sentenceOf = ({ what, node, because }: Unobserved): string =>
  `cannot observe ${what}${node === undefined ? '' : ` of ${node}`}: ${because}`;

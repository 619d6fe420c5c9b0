/** The state diagrams of the workflows, drawn from their tables of transitions into a page that people write. */

import { clusterTransitions } from '../../workflows/cluster/transitions.ts';
import { preflightTransitions } from '../../workflows/preflight/transitions.ts';
import { jobTransitions } from '../../workflows/job/transitions.ts';
import { nodeTransitions } from '../../workflows/node/transitions.ts';
import { maintenanceTransitions } from '../../workflows/maintenance/transitions.ts';
import { remedyTransitions } from '../../workflows/remedy/transitions.ts';
import { recoveryTransitions } from '../../workflows/recovery/transitions.ts';
import { type Edge, edgesOf } from '../../workflows/state-machine.ts';

interface Machine {
  readonly first: string;
  readonly edges: readonly Edge[];
}

/** One line for each workflow, by name. */
const machines: Readonly<Record<string, Machine>> = {
  cluster: { first: 'counting', edges: edgesOf(clusterTransitions) },
  preflight: { first: 'waiting', edges: edgesOf(preflightTransitions) },
  trainingJob: { first: 'starting', edges: edgesOf(jobTransitions) },
  nodeQuarantine: { first: 'observing', edges: edgesOf(nodeTransitions) },
  remedy: { first: 'remembering', edges: edgesOf(remedyTransitions) },
  maintenance: { first: 'planned', edges: edgesOf(maintenanceTransitions) },
  recovery: { first: 'deciding', edges: edgesOf(recoveryTransitions) },
};

const begin = '<!-- The diagrams from here on are generated from the tables of transitions: npm run generate -->';
const end = '<!-- end of the diagrams -->';

/** The page with its diagrams drawn anew. Throws when it has no place for them. */
export function withStateDiagrams(page: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no lines "${begin}" and "${end}"`);
  const diagrams = Object.entries(machines).map(([name, machine]) => `### \`${name}\`\n\n${diagramOf(machine)}`);
  return `${page.slice(0, from)}${begin}\n\n${diagrams.join('\n\n')}\n\n${page.slice(to)}`;
}

function diagramOf({ first, edges }: Machine): string {
  const lines = edges.map(({ from, to, by }) => `  ${idOf(from)} --> ${idOf(to)}: ${by.join(', ')}`);
  const names = [...new Set([first, ...edges.flatMap(({ from, to }) => [from, to])])];
  const named = names.filter((name) => idOf(name) !== name).map((name) => `  state "${name}" as ${idOf(name)}`);
  const ends = names.filter((name) => name === 'ended').map((name) => `  ${name} --> [*]`);
  return ['```mermaid', 'stateDiagram-v2', ...named, `  [*] --> ${idOf(first)}`, ...lines, ...ends, '```'].join('\n');
}

/** Mermaid takes no hyphen in an id. */
const idOf = (phase: string): string => phase.replaceAll('-', '_');

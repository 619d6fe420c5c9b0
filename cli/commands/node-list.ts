import type { Client } from '@temporalio/client';
import type { V1Node } from '@kubernetes/client-node';
import type { Reservation } from '../../contract/cluster.ts';
import { annotations, clusterWorkflowId } from '../../contract/ids.ts';
import type { MaintenanceStatus } from '../../contract/node/maintenance.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import type { RemedyProgress } from '../../contract/remedy/remedy.ts';
import { sinceOf } from '../incidents/index.ts';
import { ago } from '../program/clock.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { table } from '../program/output.ts';
import { readSettings, type Settings } from '../settings/file.ts';

type Taint = Settings<'worker'>['quarantine']['taint'];

interface Row {
  readonly node: string;
  readonly phase: string;
  readonly reason: string | null;
  readonly because: string | null;
  readonly since: string | null;
  readonly by: string | null;
  readonly incident: string | null;
  readonly until: string | null;
  readonly remedy: RemedyProgress | null;
  readonly maintenance: MaintenanceStatus | null;
}

export const nodeList: CommandEntry = {
  summary:
    'List the nodes that are quarantined, watched or to be maintained, or the machines that were quarantined most often.',
  arguments: [],
  options: [
    sharedOptions.watch,
    { flags: '--offenders', describe: 'Instead, list machines by how often kcover quarantined them' },
    { flags: '--since <duration>', describe: 'With --offenders, count quarantines from then on', byDefault: '28d' },
    sharedOptions.records,
    sharedOptions.workerConfig,
    sharedOptions.kubeconfig,
    sharedOptions.output,
  ],
  examples: ['kcover node list --watch', 'kcover node list --offenders --records /var/lib/kcover/records'],
  exits: ['unreachable'],
  async run(typed, { session, now }) {
    if (typed.flag('offenders')) {
      const { listOffenders } = await import('../offenders/list.ts');
      return listOffenders(await session.temporal(), {
        since: sinceOf(typed.value('since'), now),
        records: typed.option('records'),
        now,
      });
    }
    const { settings } = await readSettings('worker', typed.option('config'));
    const { listObjects } = await import('../../kube/client/requests.ts');
    const { nodeStatuses } = await import('../clients/node-statuses.ts');
    const [kube, client] = await Promise.all([session.kube(), session.temporal()]);
    const { runningMaintenances } = await import('../clients/maintenances.ts');
    const [nodes, statuses, reserved, maintained] = await Promise.all([
      listObjects<V1Node>(kube, '/api/v1/nodes', {}, 'list nodes'),
      nodeStatuses(client),
      reservations(client),
      runningMaintenances(client),
    ]);
    const marked = new Map(nodes.filter(isOurs).map((node) => [node.metadata?.name ?? '', node]));
    const names = [
      ...new Set([...marked.keys(), ...statuses.keys(), ...reserved.keys(), ...maintained.keys()]),
    ].toSorted();
    const rows = names.map((name) =>
      rowOf(
        name,
        {
          marked: marked.get(name),
          status: statuses.get(name),
          reserved: reserved.get(name),
          maintenance: maintained.get(name),
        },
        settings.quarantine.taint,
      ),
    );
    const lines = rows.map(({ node, phase, reason, since, by, incident, because, remedy, maintenance }) => [
      node,
      phase,
      reason ?? '',
      since === null ? '' : ago(since, now),
      by ?? '',
      incident ?? '',
      reasonOf({ because, remedy, maintenance }),
    ]);
    return {
      data: rows,
      items: rows.map((row) => ({
        about: row.node,
        line: [row.node, row.phase, row.reason ?? '-', reasonOf(row)].join('   '),
        data: row,
      })),
      text:
        rows.length === 0
          ? 'no node is quarantined, watched or to be maintained'
          : table(['node', 'phase', 'reason', 'since', 'by', 'incident', 'because'], lines),
    };
  },
};

/** Why it is quarantined, and what its repair and its maintenance do. */
const reasonOf = ({ because, remedy, maintenance }: Pick<Row, 'because' | 'remedy' | 'maintenance'>): string =>
  [
    because,
    remedy && `${remedy.outcome ?? remedy.phase}: ${remedy.because}`,
    maintenance &&
      `maintenance ${maintenance.phase} (${maintenance.from} to ${maintenance.until}): ${maintenance.because}`,
  ]
    .filter(Boolean)
    .join('; ');

const isOurs = (node: V1Node): boolean => node.metadata?.annotations?.[annotations.quarantineIncident] !== undefined;

/** What Node object, node workflow and reservations have about one node. */
interface KnownNode {
  readonly marked: V1Node | undefined;
  readonly status: NodeStatus | undefined;
  readonly reserved: Reservation | undefined;
  readonly maintenance?: MaintenanceStatus | undefined;
}

/** Reason and annotations come from the Node object, because they are what is in force; the rest comes from the workflow. */
export function rowOf(node: string, { marked, status, reserved, maintenance }: KnownNode, taint: Taint): Row {
  const notes = marked?.metadata?.annotations ?? {};
  const incident = status?.incident ?? notes[annotations.quarantineIncident] ?? reserved?.incident;
  return {
    node,
    phase: status?.phase ?? phaseWithout({ marked, reserved }),
    reason: reasonOn(marked, taint) ?? status?.faults.at(-1)?.code ?? null,
    because: status?.because ?? notes[annotations.quarantineReason] ?? null,
    since: status?.since ?? timeIn(incident),
    by: status?.by ?? null,
    incident: incident ?? null,
    until: status?.until ?? null,
    remedy: status?.remedy ?? null,
    maintenance: maintenance ?? null,
  };
}

/** Of a node that no workflow of its own looks after. */
function phaseWithout({ marked, reserved }: Pick<KnownNode, 'marked' | 'reserved'>): string {
  if (marked) return 'quarantined, no workflow';
  return reserved ? 'reserved, no workflow' : 'in service';
}

/** Value of our taint; undefined when the settings give all nodes the same value. */
const reasonOn = (node: V1Node | undefined, { key, effect, value }: Taint): string | undefined =>
  value === undefined
    ? node?.spec?.taints?.find((each) => each.key === key && each.effect === effect)?.value
    : undefined;

/** `node/<name>/<time>` */
const timeIn = (incident: string | undefined): string | null => incident?.split('/').at(-1) ?? null;

/** Reservations by node. Without the workflow `cluster` there are none. */
async function reservations(client: Client): Promise<ReadonlyMap<string, Reservation>> {
  const { statusOf } = await import('../clients/workflows.ts');
  const status = await statusOf(client, 'cluster', clusterWorkflowId).catch(() => undefined);
  return new Map(status?.reservations.map((each) => [each.node, each]));
}
